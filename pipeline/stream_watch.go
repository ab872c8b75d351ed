package pipeline

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/streams"
)

// streamWatch tells an EventListener what the streams of Options.Device do. It
// stands between the executor and the device: around each piece of work, and in
// front of the waits before it, it records an event more than the executor needs.
type streamWatch struct {
	hook      func(StreamEvent)
	operators int // the place in Stats.Operators of the first operator for whole batches

	mu       sync.Mutex
	streams  int           // made so far
	anchor   streams.Event // ties the time of the device to that of the host
	anchored int64         // when it completed, by the clock of the host
	running  map[*streams.Context]*streamWork
	works    [][]*streamWork // by slot and operator for whole batches
}

// streamWork is one piece of work on a stream.
type streamWork struct {
	stream     int
	issued     int64
	waits      streams.Event // in front of the waits for other streams; nil where there are none
	begin, end streams.Event
	called     int64        // when its function was called
	completed  atomic.Int64 // when the host learned of its end
}

// learned returns when the host learned that the work had completed: by now, if
// another callback of the same event came first.
func (w *streamWork) learned() int64 {
	if at := w.completed.Load(); at != 0 {
		return at
	}
	return now()
}

// watchStreams returns the watch of a pipeline, nil where nobody wants to know or
// there is no device.
func (p *Pipeline) watchStreams() *streamWatch {
	if p.opt.Events.Stream == nil || p.opt.Device == nil || len(p.batchOps) == 0 {
		return nil
	}
	t := &streamWatch{
		hook: p.opt.Events.Stream, operators: len(p.Operators()) - len(p.batchOps), running: map[*streams.Context]*streamWork{},
		works: make([][]*streamWork, p.slots()),
	}
	for i := range t.works {
		t.works[i] = make([]*streamWork, len(p.batchOps))
	}
	return t
}

// device returns what the executor issues on.
func (t *streamWatch) device(d streams.Device) streams.Device {
	if t == nil {
		return d
	}
	return &watchedDevice{d, t}
}

// called notes on the stream of c that an operator begins its work on a batch.
func (t *streamWatch) called(c *streams.Context, slot, operator int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.running[c]
	w.called = now()
	t.works[slot][operator] = w
}

// tell tells of all work on a batch, which has completed.
func (t *streamWatch) tell(b *Batch) {
	if t == nil {
		return
	}
	t.mu.Lock()
	works := slices.Clone(t.works[b.slot])
	clear(t.works[b.slot])
	t.mu.Unlock()
	for i, w := range works {
		if w != nil {
			e := t.event(w)
			e.Operator, e.Epoch, e.Step, e.Slot = t.operators+i, b.epoch, b.step, b.slot
			t.hook(e)
		}
	}
}

// event returns what is known of w: by the events of the device, or where it
// cannot tell, by the clock of the host.
func (t *streamWatch) event(w *streamWork) StreamEvent {
	e := StreamEvent{Stream: w.stream, Issued: clock(w.issued)}
	after, err := w.begin.Elapsed(t.anchor)
	if err == nil {
		e.Duration, err = w.end.Elapsed(w.begin)
	}
	if err == nil && w.waits != nil {
		e.Waited, err = w.begin.Elapsed(w.waits)
	}
	if err != nil {
		e.Waited, e.Start, e.Duration = 0, clock(w.called), time.Duration(w.learned()-w.called)
		return e
	}
	e.Start, e.Measured = clock(t.onHost(w, int64(after), int64(e.Duration))), true
	return e
}

// onHost returns when work began by the clock of the host, which began so long
// after the anchor and took so long. No work begins before it is issued, and none
// ends after the host has learned of it: by that the clocks are kept together.
func (t *streamWatch) onHost(w *streamWork, after, took int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	early := w.issued - (t.anchored + after)
	late := t.anchored + after + took - w.learned()
	switch {
	case early > 0:
		t.anchored += early
	case late > 0:
		t.anchored -= min(late, -early)
	}
	return t.anchored + after
}

// clock returns the time of what now returned.
func clock(now int64) time.Time { return origin.Add(time.Duration(now)) }

// watchedDevice is a device whose streams are watched.
type watchedDevice struct {
	streams.Device
	watch *streamWatch
}

func (d *watchedDevice) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil {
		return nil, err
	}
	t := d.watch
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.anchor == nil {
		// A new stream has nothing to do, so the event completes at once.
		t.anchored, t.anchor = now(), s.Record()
	}
	t.streams++
	return &watchedStream{Stream: s, watch: t, number: t.streams - 1}, nil
}

// watchedStream is a stream under watch. As it is used by an executor, one call
// comes after the other, and a Record behind each Do.
type watchedStream struct {
	streams.Stream
	watch  *streamWatch
	number int
	waits  streams.Event // in front of the waits issued since the last work
	last   *streamWork   // the work that no Record has followed yet
}

func (s *watchedStream) Wait(e streams.Event) {
	if s.waits == nil {
		s.waits = s.Stream.Record()
	}
	s.Stream.Wait(e)
}

func (s *watchedStream) Do(fn func(*streams.Context) error) {
	w := &streamWork{stream: s.number, issued: now(), waits: s.waits, begin: s.Stream.Record()}
	s.waits, s.last = nil, w
	s.Stream.Do(func(c *streams.Context) error {
		t := s.watch
		t.mu.Lock()
		t.running[c] = w
		t.mu.Unlock()
		err := fn(c)
		t.mu.Lock()
		delete(t.running, c) // streams come and go with runs
		t.mu.Unlock()
		return err
	})
}

func (s *watchedStream) Record() streams.Event {
	e := s.Stream.Record()
	if w := s.last; w != nil {
		s.last, w.end = nil, e
		e.Then(func(error) { w.completed.Store(now()) })
	}
	return e
}
