package streamtest

import (
	"context"
	"time"

	"github.com/planktonml/plankton/streams"
)

// stream is guarded by the lock of its device.
type stream struct {
	device  *Device
	number  int
	queue   []*item
	done    int // items that have left the queue
	closed  bool
	context streams.Context
	err     error
	clock   clock
	now     time.Duration
}

// item is one thing that was issued.
type item struct {
	op     string
	host   clock // what the host knew
	do     func(*streams.Context) error
	event  *event // of record, hold (when reached) and synchronize
	wait   *event // of wait
	hold   *hold
	result error // of synchronize
	left   bool  // the caller of Synchronize has gone
}

// issue queues the item and reports false on a closed stream.
func (s *stream) issue(it *item) bool {
	d := s.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.closed {
		return false
	}
	d.host[0]++
	it.host = d.host.copy()
	s.queue = append(s.queue, it)
	d.changed.Broadcast()
	return true
}

func (s *stream) Do(fn func(*streams.Context) error) { s.issue(&item{op: "do", do: fn}) }

func (s *stream) Wait(e streams.Event) {
	if own, ok := e.(*event); ok && own.device.machine == s.device.machine {
		s.issue(&item{op: "wait", wait: own})
		return
	}
	// Of a device made apart, whose locks must not be taken inside of this one's:
	// what is waited for here is told by that event.
	told := &event{device: s.device}
	s.issue(&item{op: "wait", wait: told})
	if e == nil {
		told.tell(streams.ErrNoEvent)
		return
	}
	e.Then(told.tell)
}

func (s *stream) Record() streams.Event {
	e := &event{device: s.device}
	if !s.issue(&item{op: "record", event: e}) {
		e.done, e.err = true, streams.ErrClosed
	}
	return e
}

func (s *stream) Hold() streams.Hold {
	h := &hold{event: event{device: s.device}, stream: s, passed: event{device: s.device}}
	if !s.issue(&item{op: "hold", hold: h, event: &h.event}) {
		for _, e := range []*event{&h.event, &h.passed} {
			e.done, e.err = true, streams.ErrClosed
		}
	}
	return h
}

func (s *stream) Synchronize(ctx context.Context) error {
	it := &item{op: "synchronize", event: &event{device: s.device}}
	if !s.issue(it) {
		return streams.ErrClosed
	}
	err := it.event.Wait(ctx)
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if it.event.done {
		return it.result
	}
	it.left = true
	return err
}

func (s *stream) Close() error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.device.start()
	for len(s.queue) > 0 {
		s.device.changed.Wait()
	}
	return s.err
}

// ready reports whether the first item can be done now.
func (s *stream) ready() bool {
	if len(s.queue) == 0 {
		return false
	}
	switch it := s.queue[0]; {
	case it.hold != nil:
		return !it.event.done || it.hold.released
	default:
		return it.wait == nil || it.wait.done
	}
}

// step does the first item. A hold takes two steps: when it is reached, and
// when it has been released.
func (s *stream) step() {
	it := s.queue[0]
	s.clock = s.clock.join(it.host)
	op, start := it.op, s.now
	switch {
	case it.do != nil && s.err != nil:
		op = "skip"
	case it.do != nil:
		s.run(it.do)
	case it.wait != nil:
		s.clock = s.clock.join(it.wait.clock)
		s.now = max(s.now, it.wait.at)
		s.fail(it.wait.err)
	case it.hold != nil && !it.event.done:
		it.event.complete(s, s.err)
		return
	case it.hold != nil:
		s.clock = s.clock.join(it.hold.clock)
		s.fail(it.hold.err)
		it.hold.passed.complete(s, s.err)
	case op == "synchronize":
		if !it.left {
			it.result, s.err = s.err, nil
		}
		it.event.complete(s, nil)
	default:
		it.event.complete(s, s.err)
	}
	s.device.trace = append(s.device.trace, Step{s.number, s.done, op, start, s.now})
	s.queue = s.queue[1:]
	s.done++
}

func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// run calls a kernel without the lock, so that it may issue work.
func (s *stream) run(fn func(*streams.Context) error) {
	own := s.number + 1 // 0 is the host
	s.clock = s.clock.join(make(clock, own+1))
	s.clock[own]++
	s.now += time.Duration(s.device.rng.Int64N(int64(time.Millisecond)))
	s.device.mu.Unlock()
	result := make(chan error, 1)
	go func() { // the device survives a kernel that ends its goroutine
		var err error
		returned := false
		defer func() {
			if !returned {
				err = streams.NewPanicError(recover())
			}
			result <- err
		}()
		err = fn(&s.context)
		returned = true
	}()
	err := <-result
	s.device.mu.Lock()
	s.fail(err)
}
