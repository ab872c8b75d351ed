package streams

import (
	"context"
	"errors"
	"time"
)

// ErrClosed is the error of work that was issued on a closed stream or device.
var ErrClosed = errors.New("streams: closed")

// ErrNoEvent is the error of a stream that was to wait for nil.
var ErrNoEvent = errors.New("streams: Wait was given nil in place of an event: pass what Record returned, or do not call Wait")

// ErrOwnStream is the error of work that was scheduled on a stream whose place
// the scheduling work itself keeps: it could start only when that has ended.
var ErrOwnStream = errors.New("streams: work was scheduled on the stream that its own caller holds, and would wait for ever: use another stream, or schedule it when the caller has ended")

// Device makes streams. Its methods may be called from any goroutine.
type Device interface {
	// Name says what the device is, for messages and traces.
	Name() string
	// NewStream makes a stream, which belongs to the device. The error is
	// ErrClosed once the device is closed.
	NewStream() (Stream, error)
	// Close closes every stream that is still open, waits until their work has
	// run, and returns the first error that no Synchronize has returned.
	Close() error
}

// Stream runs what is issued on it one after the other, in the order of issue.
// All methods but Synchronize and Close return at once. They may be called from
// any goroutine; calls made one after the other are issued in that order.
//
// The first error of a stream sticks: work issued later is skipped, while its
// events still complete and carry the error. A stream that waits for such an
// event takes the error over, since what it would read was never written.
// Synchronize returns the error and clears it, so that a stream serves the next
// run after a failed one.
type Stream interface {
	// Do issues fn. On the host fn is the work itself; on a GPU it launches
	// kernels on the stream of the Context. A panic in fn becomes a
	// *PanicError of the stream.
	Do(fn func(*Context) error)
	// Record returns an event that completes when everything issued so far has.
	Record() Event
	// Wait lets everything issued later start only after the event has
	// completed. The event may come from another device. Nil is no event, and
	// makes ErrNoEvent the error of the stream: what should have been waited
	// for is not known to be written.
	Wait(Event)
	// Hold takes the next place in the order and keeps it: everything issued
	// later starts only after the hold is released. Schedule is built on it.
	Hold() Hold
	// Synchronize waits until everything issued so far has completed and
	// returns the first error since the last Synchronize. When ctx ends first,
	// it returns the cause and the stream keeps its error.
	Synchronize(ctx context.Context) error
	// Close waits until everything issued has completed and frees the stream.
	// It returns the first error that no Synchronize has returned. Work issued
	// afterwards is dropped, its events complete with ErrClosed, and further
	// calls of Close return nil.
	Close() error
}

// Event is a place in the order of a stream.
type Event interface {
	// Query reports, without blocking, whether the event has completed.
	Query() bool
	// Wait blocks until the event has completed and returns the error that the
	// stream had there, or the cause of ctx if that ends first.
	Wait(ctx context.Context) error
	// Then calls fn once with the error that the stream had there, when the
	// event has completed or at once if it has already. fn runs on a goroutine
	// of the device or of the caller and must not block: hand on and return.
	Then(fn func(error))
	// Elapsed returns how long after the event `since`, of the same device, this
	// one completed. The error is ErrNotReady while one of them has not.
	Elapsed(since Event) (time.Duration, error)
}

// ErrNotReady is the error of asking an event for what only a completed one has.
var ErrNotReady = errors.New("streams: event has not completed")

// Hold is a place in the order of a stream that is kept free for work which
// runs elsewhere, such as on other streams. Whoever took it releases it;
// Close and Synchronize of its stream wait for that.
type Hold interface {
	// Ready completes when everything issued before the hold has.
	Ready() Event
	// Passed completes when the stream has passed the hold: it is reached and
	// released. A release with an error completes it at once, with that error,
	// since there is nothing left to wait for; the stream itself still goes on
	// only when it has got there.
	Passed() Event
	// Release lets the stream go on. An error becomes the error of the stream.
	// It may be called before Ready has completed; only the first call counts.
	Release(error)
}
