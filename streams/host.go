package streams

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
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
	s := &hostStream{device: h, ended: make(chan struct{})}
	s.wake = sync.NewCond(&s.mu)
	h.streams = append(h.streams, s)
	go s.loop()
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

// hostStream is an unbounded queue and the goroutine that works it off. The
// goroutine takes whole batches, so that a busy stream is locked rarely.
type hostStream struct {
	device *host
	ended  chan struct{} // closed when the goroutine has left

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []hostItem
	closed bool

	// The goroutine's own.
	context Context
	batch   []hostItem
	next    int // the next item of batch
	err     error
}

// hostItem is one thing that was issued; exactly one field is set.
type hostItem struct {
	do     func(*Context) error
	record *hostEvent
	wait   Event
	hold   *hostHold
	sync   *hostSync
}

// issue queues the item and reports false on a closed stream.
func (s *hostStream) issue(it hostItem) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.queue = append(s.queue, it)
	if len(s.queue) == 1 {
		s.wake.Signal()
	}
	return true
}

func (s *hostStream) Do(fn func(*Context) error) { s.issue(hostItem{do: fn}) }

func (s *hostStream) Wait(e Event) { s.issue(hostItem{wait: e}) }

func (s *hostStream) Record() Event {
	e := &hostEvent{}
	if !s.issue(hostItem{record: e}) {
		e.complete(ErrClosed)
	}
	return e
}

func (s *hostStream) Hold() Hold {
	h := &hostHold{released: make(chan struct{})}
	if !s.issue(hostItem{hold: h}) {
		h.ready.complete(ErrClosed)
	}
	return h
}

func (s *hostStream) Synchronize(ctx context.Context) error {
	y := &hostSync{reached: make(chan struct{})}
	if !s.issue(hostItem{sync: y}) {
		return ErrClosed
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

func (s *hostStream) Close() error {
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

// loop works the queue off until the stream is closed and empty. Work that
// calls runtime.Goexit takes the goroutine with it; another one then goes on,
// or everything that waits for this stream would wait for ever.
func (s *hostStream) loop() {
	left := false
	defer func() {
		if left {
			close(s.ended)
		} else {
			go s.loop()
		}
	}()
	for s.refill() {
		for s.next < len(s.batch) {
			it := s.batch[s.next]
			s.batch[s.next] = hostItem{}
			s.next++
			s.step(it)
		}
	}
	left = true
}

// refill swaps the queue in once the batch is done. It blocks while there is
// nothing to do and reports false when there never will be.
func (s *hostStream) refill() bool {
	if s.next < len(s.batch) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.wake.Wait()
	}
	s.batch, s.queue, s.next = s.queue, s.batch[:0], 0
	return len(s.batch) > 0
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
		<-it.hold.released
		s.fail(it.hold.err)
	case it.sync != nil:
		if it.sync.take(s.err) {
			s.err = nil
		}
	}
}

func (s *hostStream) run(fn func(*Context) error) {
	s.fail(guard(func() error { return fn(&s.context) }, s.fail))
}

// fail keeps the first error.
func (s *hostStream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// guard calls fn and turns a panic into a *PanicError. If fn ends the goroutine
// with runtime.Goexit, guard cannot return; goexit is then called with the error.
func guard(fn func() error, goexit func(error)) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		} else {
			goexit(&PanicError{Stack: debug.Stack()})
		}
	}()
	err = fn()
	returned = true
	return err
}

// hostHold is a hold of a host stream, which blocks the goroutine of the stream.
type hostHold struct {
	ready    hostEvent
	once     sync.Once
	released chan struct{}
	err      error
}

func (h *hostHold) Ready() Event { return &h.ready }

func (h *hostHold) Release(err error) {
	h.once.Do(func() {
		h.err = err
		close(h.released)
	})
}

// hostSync is one call of Synchronize. The stream hands its error over unless
// the caller has gone: one of the two comes first.
type hostSync struct {
	mu      sync.Mutex
	settled bool
	reached chan struct{}
	err     error
}

func (y *hostSync) take(err error) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.settled {
		return false
	}
	y.settled, y.err = true, err
	close(y.reached)
	return true
}

func (y *hostSync) abandon() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.settled {
		return false
	}
	y.settled = true
	return true
}
