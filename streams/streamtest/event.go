package streamtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/streams"
)

// event is guarded by the lock of its device.
type event struct {
	device *Device
	done   bool
	err    error
	at     time.Duration
	clock  clock
	then   []func(error)
}

// complete completes the event, once, at a place of the stream.
func (e *event) complete(s *stream, err error) { e.finish(err, s.now, s.clock.copy()) }

// finish is called with the lock, which callbacks run without.
func (e *event) finish(err error, at time.Duration, c clock) {
	if e.done {
		return
	}
	d := e.device
	e.done, e.err, e.at, e.clock = true, err, at, c
	if len(e.then) == 0 {
		return
	}
	// What a callback issues comes after the event.
	d.host = d.host.join(e.clock)
	d.mu.Unlock()
	for _, fn := range e.then {
		fn(err)
	}
	d.mu.Lock()
}

// learn tells the host, with the lock held, that e has completed.
func (e *event) learn() {
	e.device.host = e.device.host.join(e.clock)
}

// tell completes an event that no stream of the device does.
func (e *event) tell(err error) {
	d := e.device
	d.mu.Lock()
	defer d.mu.Unlock()
	e.finish(err, 0, nil)
	d.changed.Broadcast()
}

func (e *event) Query() bool {
	e.device.mu.Lock()
	defer e.device.mu.Unlock()
	e.device.start()
	if e.done {
		e.learn()
	}
	return e.done
}

func (e *event) Wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, e.device.wake)
	defer stop()
	e.device.mu.Lock()
	defer e.device.mu.Unlock()
	e.device.start()
	for !e.done && ctx.Err() == nil {
		e.device.changed.Wait()
	}
	if !e.done {
		return context.Cause(ctx)
	}
	e.learn()
	return e.err
}

func (e *event) Then(fn func(error)) {
	e.device.mu.Lock()
	e.device.start()
	if !e.done {
		e.then = append(e.then, fn)
		e.device.mu.Unlock()
		return
	}
	e.learn()
	e.device.mu.Unlock()
	fn(e.err)
}

func (e *event) Elapsed(since streams.Event) (time.Duration, error) {
	from, ok := since.(*event)
	if !ok || from.device != e.device {
		return 0, fmt.Errorf("streamtest: Elapsed needs two events of one device: %w", errors.ErrUnsupported)
	}
	e.device.mu.Lock()
	defer e.device.mu.Unlock()
	if !e.done || !from.done {
		return 0, streams.ErrNotReady
	}
	return e.at - from.at, nil
}

// hold is guarded by the lock of its device.
type hold struct {
	event
	stream   *stream
	passed   event
	released bool
	err      error
	clock    clock
}

func (h *hold) Ready() streams.Event { return &h.event }

func (h *hold) Passed() streams.Event { return &h.passed }

func (h *hold) Release(err error) {
	d := h.event.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.released {
		return
	}
	d.host[0]++
	h.released, h.err, h.clock = true, err, d.host.copy()
	if err != nil {
		h.passed.finish(err, h.stream.now, d.host.copy())
	}
	d.changed.Broadcast()
}
