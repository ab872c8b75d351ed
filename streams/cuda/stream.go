package cuda

import (
	"context"

	"github.com/planktonml/plankton/internal/serial"
	"github.com/planktonml/plankton/streams"
)

// stream is a queue whose goroutine issues on a stream of the driver. It enters
// the context when it has something to issue, and leaves before it blocks.
type stream struct {
	device *Device
	raw    uintptr
	own    bool // whether the driver's stream is destroyed at the end
	items  *serial.Queue[item]

	// The goroutine's own.
	context streams.Context
	queue   Queue
	inside  bool // the context is current
	err     error
	pending []*event // recorded and not known to be done, oldest first
}

// item is one thing that was issued; exactly one field is set.
type item struct {
	do     func(*streams.Context) error
	record *event
	wait   streams.Event
	hold   *hold
	sync   *serial.Outcome
}

func newStream(d *Device, raw uintptr, own bool) *stream {
	s := &stream{device: d, raw: raw, own: own}
	s.queue.device, s.queue.handle, s.queue.stream = d, raw, s
	s.context.Native = &s.queue
	s.items = serial.Start(serial.Worker[item]{Do: s.step, Idle: s.leave, End: s.end})
	return s
}

func (s *stream) Do(fn func(*streams.Context) error) { s.items.Put(item{do: fn}) }

func (s *stream) Wait(e streams.Event) {
	if e == nil {
		none := &event{device: s.device}
		none.fail(streams.ErrNoEvent)
		e = none
	}
	s.items.Put(item{wait: e})
}

func (s *stream) Record() streams.Event {
	e := &event{device: s.device}
	if !s.items.Put(item{record: e}) {
		e.fail(streams.ErrClosed)
	}
	return e
}

func (s *stream) Hold() streams.Hold {
	h := &hold{ready: event{device: s.device}, passed: event{device: s.device}, released: serial.MakeOutcome()}
	if !s.items.Put(item{hold: h}) {
		h.ready.fail(streams.ErrClosed)
		h.passed.fail(streams.ErrClosed)
	}
	return h
}

func (s *stream) Synchronize(ctx context.Context) error {
	y := serial.MakeOutcome()
	if !s.items.Put(item{sync: &y}) {
		return streams.ErrClosed
	}
	return y.Wait(ctx)
}

func (s *stream) Close() error {
	if !s.items.Close() {
		return nil
	}
	s.device.forget(s)
	return s.err
}

func (s *stream) step(it item) {
	switch {
	case it.do != nil:
		if s.err == nil && s.enter() {
			s.run(it.do)
		}
	case it.record != nil:
		s.record(it.record)
	case it.wait != nil:
		s.wait(it.wait)
	case it.hold != nil:
		s.record(&it.hold.ready)
		s.leave()
		s.fail(it.hold.released.Wait(context.Background()))
		s.record(&it.hold.passed)
	case it.sync != nil:
		s.drain()
		if it.sync.Settle(s.err) {
			s.err = nil
		}
	}
}

// enter makes the context current, unless it is, and reports whether it is.
func (s *stream) enter() bool {
	if s.inside && s.device.gone.Load() {
		s.leave() // the thread must not keep a context that is none any more
	}
	if !s.inside {
		err := s.device.enter()
		s.fail(err)
		s.inside = err == nil
	}
	return s.inside
}

// leave is called before the goroutine blocks.
func (s *stream) leave() {
	if s.inside {
		s.inside = false
		s.device.leave()
	}
}

// fail keeps the first error.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// run calls fn and turns a panic into a *streams.PanicError. After
// runtime.Goexit there is no way back to the caller: the deferred function
// notes the error, and the queue goes on with another goroutine.
func (s *stream) run(fn func(*streams.Context) error) {
	returned := false
	defer func() {
		if !returned {
			s.fail(streams.NewPanicError(recover()))
		}
	}()
	err := fn(&s.context)
	returned = true
	s.fail(err)
}

// record gives the event to the driver. It is recorded on a failed stream too,
// since work from before the failure may still be running.
func (s *stream) record(e *event) {
	if !s.enter() {
		e.fail(s.err)
		return
	}
	d := s.device
	raw, err := d.events.get()
	if err == nil {
		if err = d.driver.check("cuEventRecord", d.ask(d.driver.eventRecord, raw, s.raw)); err != nil {
			d.events.put(raw)
		}
	}
	if err != nil {
		s.fail(err)
		e.fail(s.err)
		return
	}
	e.record(raw, s.err)
	s.pending = append(s.pending, e)
	s.retire()
}

// retire lets go of events that have completed, so that the driver's ones are
// used again although nobody asked about them.
func (s *stream) retire() {
	n := 0
	for n < len(s.pending) && s.pending[n].poll() {
		n++
	}
	m := copy(s.pending, s.pending[n:])
	clear(s.pending[m:])
	s.pending = s.pending[:m]
}

// wait lets what follows wait for the event and takes over its error. The
// goroutine itself waits until the event is recorded, or, if the driver does not
// know it, completed.
func (s *stream) wait(other streams.Event) {
	e, ok := other.(*event)
	if !ok || e.device.driver != s.device.driver {
		s.leave()
		s.fail(other.Wait(context.Background()))
		return
	}
	if recorded := e.whenRecorded(); recorded != nil {
		s.leave()
		<-recorded
	}
	if s.enter() {
		s.fail(e.waitOn(s))
	}
}

// drain waits until everything that was issued has completed.
func (s *stream) drain() {
	e := &event{device: s.device}
	s.record(e)
	s.leave()
	s.fail(e.Wait(context.Background()))
}

// end waits for what was issued and frees what the stream has of the driver. Where
// the context is lost, events that nobody has waited for fail: later there is nobody
// to ask.
func (s *stream) end() {
	s.drain()
	inside := s.enter()
	if inside {
		s.retire()
	}
	for _, e := range s.pending {
		e.fail(s.err)
	}
	s.queue.free()
	if inside && s.own {
		s.fail(s.device.driver.check("cuStreamDestroy_v2", s.device.ask(s.device.driver.streamDestroy, s.raw)))
	}
}

// hold is a hold of a stream, which blocks the goroutine that issues.
type hold struct {
	ready    event
	passed   event
	released serial.Outcome
}

func (h *hold) Ready() streams.Event { return &h.ready }

func (h *hold) Passed() streams.Event { return &h.passed }

func (h *hold) Release(err error) {
	if h.released.Settle(err) && err != nil {
		h.passed.fail(err)
	}
}
