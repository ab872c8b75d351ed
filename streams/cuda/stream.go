package cuda

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/planktonml/plankton/streams"
)

// stream is a queue and the goroutine that issues what is in it on a stream of
// the driver. The goroutine takes whole batches, so that a busy stream is locked
// rarely, and enters the context once for each.
type stream struct {
	device *Device
	raw    uintptr
	own    bool          // whether the driver's stream is destroyed at the end
	ended  chan struct{} // closed when the goroutine has left

	mu     sync.Mutex
	wake   *sync.Cond
	items  []item
	closed bool

	// The goroutine's own.
	context streams.Context
	queue   Queue
	inside  bool // the context is current
	batch   []item
	next    int // the next item of batch
	err     error
	pending []*event // recorded and not known to be done, oldest first
}

// item is one thing that was issued; exactly one field is set.
type item struct {
	do     func(*streams.Context) error
	record *event
	wait   streams.Event
	hold   *hold
	sync   *synchronize
}

func newStream(d *Device, raw uintptr, own bool) *stream {
	s := &stream{device: d, raw: raw, own: own, ended: make(chan struct{})}
	s.wake = sync.NewCond(&s.mu)
	s.queue.device, s.queue.handle = d, raw
	s.context.Native = &s.queue
	go s.loop()
	return s
}

// issue queues the item and reports false on a closed stream.
func (s *stream) issue(it item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.items = append(s.items, it)
	if len(s.items) == 1 {
		s.wake.Signal()
	}
	return true
}

func (s *stream) Do(fn func(*streams.Context) error) { s.issue(item{do: fn}) }

func (s *stream) Wait(e streams.Event) { s.issue(item{wait: e}) }

func (s *stream) Record() streams.Event {
	e := &event{device: s.device}
	if !s.issue(item{record: e}) {
		e.fail(streams.ErrClosed)
	}
	return e
}

func (s *stream) Hold() streams.Hold {
	h := &hold{ready: event{device: s.device}, released: make(chan struct{})}
	if !s.issue(item{hold: h}) {
		h.ready.fail(streams.ErrClosed)
	}
	return h
}

func (s *stream) Synchronize(ctx context.Context) error {
	y := &synchronize{reached: make(chan struct{})}
	if !s.issue(item{sync: y}) {
		return streams.ErrClosed
	}
	select {
	case <-y.reached:
	case <-ctx.Done():
		if y.abandon() {
			return context.Cause(ctx)
		}
	}
	return y.err
}

func (s *stream) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.wake.Signal()
	s.mu.Unlock()
	<-s.ended
	if !first {
		return nil
	}
	s.device.forget(s)
	return s.err
}

// loop issues until the stream is closed and empty. Work that calls
// runtime.Goexit takes the goroutine with it; another one then goes on.
func (s *stream) loop() {
	left := false
	defer func() {
		s.leave()
		if left {
			close(s.ended)
		} else {
			go s.loop()
		}
	}()
	for s.refill() {
		for s.next < len(s.batch) {
			it := s.batch[s.next]
			s.batch[s.next] = item{}
			s.next++
			s.step(it)
		}
	}
	s.drain()
	s.destroy()
	left = true
}

// refill swaps the queue in once the batch is done. It blocks while there is
// nothing to do and reports false when there never will be.
func (s *stream) refill() bool {
	if s.next < len(s.batch) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.items) == 0 && !s.closed {
		s.leave()
		s.wake.Wait()
	}
	s.batch, s.items, s.next = s.items, s.batch[:0], 0
	return len(s.batch) > 0
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
		<-it.hold.released
		s.fail(it.hold.err)
	case it.sync != nil:
		s.drain()
		if it.sync.take(s.err) {
			s.err = nil
		}
	}
}

// enter makes the context current, unless it is, and reports whether it is.
func (s *stream) enter() bool {
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
// notes the error, and loop starts again.
func (s *stream) run(fn func(*streams.Context) error) {
	returned := false
	defer func() {
		if !returned {
			s.fail(&streams.PanicError{Value: recover(), Stack: debug.Stack()})
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
		if err = d.driver.check("cuEventRecord", invoke(d.driver.eventRecord, raw, s.raw)); err != nil {
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

// destroy ends a stream on which nothing is left to do.
func (s *stream) destroy() {
	if !s.enter() {
		return
	}
	s.retire()
	s.queue.free()
	if s.own {
		s.fail(s.device.driver.check("cuStreamDestroy_v2", invoke(s.device.driver.streamDestroy, s.raw)))
	}
}

// hold is a hold of a stream, which blocks the goroutine that issues.
type hold struct {
	ready    event
	once     sync.Once
	released chan struct{}
	err      error
}

func (h *hold) Ready() streams.Event { return &h.ready }

func (h *hold) Release(err error) {
	h.once.Do(func() {
		h.err = err
		close(h.released)
	})
}

// synchronize is one call of Synchronize. The stream hands its error over unless
// the caller has gone: one of the two comes first.
type synchronize struct {
	mu      sync.Mutex
	settled bool
	reached chan struct{}
	err     error
}

func (y *synchronize) take(err error) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.settled {
		return false
	}
	y.settled, y.err = true, err
	close(y.reached)
	return true
}

func (y *synchronize) abandon() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.settled {
		return false
	}
	y.settled = true
	return true
}
