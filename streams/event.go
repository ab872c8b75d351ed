package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/planktonml/plankton/internal/serial"
)

// hostEvent is an event of a host stream.
type hostEvent struct {
	mu   sync.Mutex
	done bool
	at   time.Time
	err  error
	then []func(error)
}

// complete completes the event, once.
func (e *hostEvent) complete(err error) {
	e.mu.Lock()
	if e.done {
		e.mu.Unlock()
		return
	}
	e.done, e.at, e.err = true, time.Now(), err
	then := e.then
	e.then = nil
	e.mu.Unlock()
	for _, fn := range then {
		fn(err)
	}
}

var (
	noEvent = completed(ErrNoEvent) // what a stream waits for that is given nil
	noMark  = completed(ErrMark)    // what a lane waits for that is given a mark of others
	reached = completed(nil)        // the event of what the host has done
)

func completed(err error) *hostEvent {
	e := &hostEvent{}
	e.complete(err)
	return e
}

func (e *hostEvent) Query() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}

func (e *hostEvent) Then(fn func(error)) {
	e.mu.Lock()
	if !e.done {
		e.then = append(e.then, fn)
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	fn(e.err)
}

func (e *hostEvent) Wait(ctx context.Context) error {
	if e.Query() { // what has completed counts even when ctx has ended, too
		return e.err
	}
	done := serial.MakeOutcome()
	e.Then(func(err error) { done.Settle(err) })
	return done.Wait(ctx)
}

func (e *hostEvent) Elapsed(since Event) (time.Duration, error) {
	from, ok := since.(*hostEvent)
	if !ok {
		return 0, fmt.Errorf("streams: Elapsed needs two events of one device, got a %T and a %T: %w", since, e, errors.ErrUnsupported)
	}
	if !from.Query() || !e.Query() {
		return 0, ErrNotReady
	}
	return e.at.Sub(from.at), nil
}
