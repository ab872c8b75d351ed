package streams

import (
	"context"
	"slices"
	"sync"

	"github.com/planktonml/plankton/internal/serial"
)

// host is the device whose streams are goroutines.
type host struct {
	mu      sync.Mutex
	streams []*hostStream
	closed  bool
}

// NewHost returns a device that runs the work of each stream on a goroutine of
// its own. Close ends the goroutines.
func NewHost() Device { return &host{} }

func (h *host) Name() string { return "host" }

func (h *host) NewStream() (Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	s := &hostStream{device: h}
	s.queue = serial.Start(serial.Worker[hostItem]{Do: s.step})
	h.streams = append(h.streams, s)
	return s, nil
}

func (h *host) Close() error {
	h.mu.Lock()
	h.closed = true
	open := slices.Clone(h.streams)
	h.mu.Unlock()
	var first error
	for _, s := range open {
		if err := s.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (h *host) forget(s *hostStream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams = slices.DeleteFunc(h.streams, func(o *hostStream) bool { return o == s })
}

// hostStream is a queue whose goroutine does the work itself.
type hostStream struct {
	device *host
	queue  *serial.Queue[hostItem]

	// The goroutine's own.
	context Context
	err     error
}

// hostItem is one thing that was issued; exactly one field is set.
type hostItem struct {
	do     func(*Context) error
	record *hostEvent
	wait   Event
	hold   *hostHold
	sync   *serial.Outcome
}

func (s *hostStream) Do(fn func(*Context) error) { s.queue.Put(hostItem{do: fn}) }

func (s *hostStream) Wait(e Event) {
	if e == nil {
		e = noEvent
	}
	s.queue.Put(hostItem{wait: e})
}

func (s *hostStream) Record() Event {
	e := &hostEvent{}
	if !s.queue.Put(hostItem{record: e}) {
		e.complete(ErrClosed)
	}
	return e
}

func (s *hostStream) Hold() Hold {
	h := &hostHold{released: serial.MakeOutcome()}
	if !s.queue.Put(hostItem{hold: h}) {
		h.ready.complete(ErrClosed)
		h.passed.complete(ErrClosed)
	}
	return h
}

func (s *hostStream) Synchronize(ctx context.Context) error {
	y := serial.MakeOutcome()
	if !s.queue.Put(hostItem{sync: &y}) {
		return ErrClosed
	}
	return y.Wait(ctx)
}

func (s *hostStream) Close() error {
	if !s.queue.Close() {
		return nil
	}
	s.device.forget(s)
	return s.err
}

func (s *hostStream) step(it hostItem) {
	switch {
	case it.do != nil:
		if s.err == nil {
			s.run(it.do)
		}
	case it.record != nil:
		it.record.complete(s.err)
	case it.wait != nil:
		s.fail(it.wait.Wait(context.Background()))
	case it.hold != nil:
		it.hold.ready.complete(s.err)
		s.fail(it.hold.released.Wait(context.Background()))
		it.hold.passed.complete(s.err)
	case it.sync != nil:
		if it.sync.Settle(s.err) {
			s.err = nil
		}
	}
}

func (s *hostStream) run(fn func(*Context) error) {
	guard(func() error { return fn(&s.context) }, s.fail)
}

// fail keeps the first error.
func (s *hostStream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// guard calls fn and hands its error to then, as a *PanicError when fn panics or
// ends the goroutine with runtime.Goexit, after which guard does not return.
func guard(fn func() error, then func(error)) {
	var err error
	returned := false
	defer func() {
		if !returned {
			err = NewPanicError(recover())
		}
		then(err)
	}()
	err = fn()
	returned = true
}

// hostHold is a hold of a host stream, which blocks the goroutine of the stream.
type hostHold struct {
	ready    hostEvent
	passed   hostEvent
	released serial.Outcome
}

func (h *hostHold) Ready() Event { return &h.ready }

func (h *hostHold) Passed() Event { return &h.passed }

func (h *hostHold) Release(err error) {
	if h.released.Settle(err) && err != nil {
		h.passed.complete(err)
	}
}
