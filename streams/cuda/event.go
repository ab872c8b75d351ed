package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/planktonml/plankton/internal/serial"
	"github.com/planktonml/plankton/streams"
)

// event is an event of a stream. It goes from queued to recorded, when the
// stream's goroutine has given it to the driver, to done.
type event struct {
	device *Device

	mu       sync.Mutex
	raw      uintptr       // the driver's event, while it is recorded and not done
	recorded chan struct{} // closed when it is recorded or done; made when somebody waits for that
	done     bool
	timed    bool
	at       time.Duration // on the timeline of the device
	err      error
	then     []func(error)
}

// record says that the driver has the event, and the error of the stream there. An
// event that has failed meanwhile has no use for it.
func (e *event) record(raw uintptr, err error) {
	e.mu.Lock()
	if e.done {
		e.mu.Unlock()
		e.device.events.put(raw)
		return
	}
	e.raw, e.err = raw, err
	e.announce()
	watched := len(e.then) > 0
	e.mu.Unlock()
	if watched {
		e.device.poller.watch(e)
	}
}

// announce wakes up, with the lock held, who waits for the event to be recorded.
func (e *event) announce() {
	if e.recorded != nil {
		close(e.recorded)
		e.recorded = nil
	}
}

// fail completes an event that the driver cannot be asked about, or need not be.
func (e *event) fail(err error) {
	e.mu.Lock()
	if e.done {
		e.mu.Unlock()
		return
	}
	e.finish(err)
}

// finish completes the event. It is called with the lock, and returns without.
func (e *event) finish(err error) {
	if e.err == nil {
		e.err = err
	}
	e.done = true
	e.device.events.put(e.raw)
	e.raw = 0
	e.announce()
	then := e.then
	e.then = nil
	e.mu.Unlock()
	for _, fn := range then {
		fn(e.err)
	}
}

// poll asks the driver whether the event has completed. The context must be
// current.
func (e *event) poll() bool {
	e.mu.Lock()
	if e.done || e.raw == 0 {
		defer e.mu.Unlock()
		return e.done
	}
	d := e.device
	code := d.ask(d.driver.eventQuery, e.raw)
	if code == codeNotReady {
		e.mu.Unlock()
		return false
	}
	free := e.raw
	if code == codeSuccess {
		e.at, free, e.timed = d.timeline.place(e.raw)
	}
	e.raw = 0
	d.events.put(free)
	e.finish(d.driver.check("cuEventQuery", code))
	return true
}

// waitOn lets the driver's stream s wait for the event, once it is recorded,
// and returns the error of the event. The lock keeps the driver's event
// from being used for another record meanwhile.
func (e *event) waitOn(s *stream) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.done {
		if err := s.device.driver.check("cuStreamWaitEvent", s.device.ask(s.device.driver.streamWaitEvent, s.raw, e.raw, 0)); err != nil {
			return err
		}
	}
	return e.err
}

// whenRecorded returns a channel that is closed when the event is recorded, nil
// if it is.
func (e *event) whenRecorded() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || e.raw != 0 {
		return nil
	}
	if e.recorded == nil {
		e.recorded = make(chan struct{})
	}
	return e.recorded
}

func (e *event) Query() bool {
	e.mu.Lock()
	done, raw := e.done, e.raw
	e.mu.Unlock()
	if done || raw == 0 {
		return done
	}
	if err := e.device.enter(); err != nil { // the context is gone, and what ran in it with it
		e.fail(err)
		return true
	}
	defer e.device.leave()
	return e.poll()
}

func (e *event) Then(fn func(error)) {
	e.mu.Lock()
	if e.done {
		e.mu.Unlock()
		fn(e.err)
		return
	}
	e.then = append(e.then, fn)
	watch := len(e.then) == 1 && e.raw != 0
	e.mu.Unlock()
	if watch {
		e.device.poller.watch(e)
	}
}

func (e *event) Wait(ctx context.Context) error {
	if e.Query() { // what has completed counts even when ctx has ended, too
		return e.err
	}
	done := serial.MakeOutcome()
	e.Then(func(err error) { done.Settle(err) })
	return done.Wait(ctx)
}

func (e *event) Elapsed(since streams.Event) (time.Duration, error) {
	from, ok := since.(*event)
	if !ok || from.device != e.device {
		return 0, fmt.Errorf("cuda: Elapsed needs two events of one device, got a %T and a %T: %w", since, e, errors.ErrUnsupported)
	}
	if !from.Query() || !e.Query() {
		return 0, streams.ErrNotReady
	}
	for _, x := range []*event{from, e} {
		if !x.timed {
			return 0, fmt.Errorf("cuda: the driver has no time of an event that failed: %w", x.err)
		}
	}
	return e.at - from.at, nil
}

// eventPool keeps events of the driver for the next record.
type eventPool struct {
	context *driverContext
	mu      sync.Mutex
	free    []uintptr
}

// get returns an event of the driver. The context must be current.
func (p *eventPool) get() (uintptr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		raw := p.free[n-1]
		p.free = p.free[:n-1]
		return raw, nil
	}
	var raw uintptr
	const timed = 0
	err := p.context.driver.check("cuEventCreate", p.context.ask(p.context.driver.eventCreate, uintptr(unsafe.Pointer(&raw)), timed))
	return raw, err
}

func (p *eventPool) put(raw uintptr) {
	if raw == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, raw)
}

// close destroys the events. The context must be current.
func (p *eventPool) close() {
	for _, raw := range p.free {
		p.context.ask(p.context.driver.eventDestroy, raw)
	}
}

// timeline gives completed events their time. The driver knows the time between
// two events, as a float32 of milliseconds, which is too coarse after a
// while: so there is an anchor, which moves along.
type timeline struct {
	context *driverContext
	mu      sync.Mutex
	anchor  uintptr
	at      time.Duration // of the anchor
	elapsed float32
}

// reach is how far from the anchor a float32 of milliseconds still tells
// microseconds apart.
const reach = 8 * time.Second

// place returns the time of a completed event and an event that is not needed
// any more, if any. The context must be current.
func (t *timeline) place(raw uintptr) (at time.Duration, free uintptr, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.anchor == 0 {
		t.anchor = raw
		return 0, 0, true
	}
	if t.context.ask(t.context.driver.eventElapsedTime, uintptr(unsafe.Pointer(&t.elapsed)), t.anchor, raw) != codeSuccess {
		return 0, raw, false
	}
	at = t.at + time.Duration(float64(t.elapsed)*float64(time.Millisecond))
	if at-t.at < reach {
		return at, raw, true
	}
	free, t.anchor, t.at = t.anchor, raw, at
	return at, free, true
}

// close destroys the anchor. The context must be current.
func (t *timeline) close() {
	if t.anchor != 0 {
		t.context.ask(t.context.driver.eventDestroy, t.anchor)
	}
}
