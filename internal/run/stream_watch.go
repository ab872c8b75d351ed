package run

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// streamWatch measures what the streams of devices do, for the statistics and
// for stats.Events. It stands between the executor and the device: in front of
// each piece of work, and for the listener in front of the waits before it, it
// records an event more than the executor needs.
type streamWatch struct {
	hook func(stats.StreamEvent) // nil where nobody listens

	mu      sync.Mutex
	streams int // made in this run so far, on all devices
	running map[*streams.Context]*streamWork
}

// streamWork is one piece of work on a stream.
type streamWork struct {
	device     *watchedDevice
	stream     int
	issued     int64
	waits      streams.Event // in front of the waits for other streams; nil where there are none, or nobody listens
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

// took returns how long the work took, by the events of the device or else by the
// clock of the host.
func (w *streamWork) took() (d time.Duration, measured bool) {
	if d, err := w.end.Elapsed(w.begin); err == nil {
		return d, true
	}
	return time.Duration(w.learned() - w.called), false
}

// watchStreams returns the watch of a pipeline, nil where nothing works on a stream.
func watchStreams(p *compiled.Pipeline) *streamWatch {
	if p.Options().Device == nil || !slices.ContainsFunc(p.BatchOps(), func(op compiled.BatchOp) bool { return op.OnStream() }) {
		return nil
	}
	return &streamWatch{hook: p.Options().Events.Stream, running: map[*streams.Context]*streamWork{}}
}

// devices returns what the executor issues on, for the devices that are not nil.
func (t *streamWatch) devices(given ...streams.Device) (watched []streams.Device) {
	for _, d := range given {
		switch {
		case d == nil:
		case t == nil:
			watched = append(watched, d)
		default:
			watched = append(watched, &watchedDevice{Device: d, watch: t})
		}
	}
	return watched
}

// begin readies the watch for a run, which makes streams of its own.
func (t *streamWatch) begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams = 0
}

// called notes on the stream of c that an operator begins its work on a batch.
func (t *streamWatch) called(c *streams.Context, on *opWork) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	on.stream = t.running[c]
	on.stream.called = now()
}

// tell counts all work on a batch, which has completed, and tells of it.
func (t *streamWatch) tell(f *Flight, counts []batchCounts) {
	if t == nil {
		return
	}
	for i := range counts {
		w := t.take(&f.ops[i])
		if w == nil {
			continue
		}
		d, measured := w.took()
		counts[i].streamed(w.stream, d)
		if t.hook != nil {
			e := t.event(w, d, measured)
			e.Operator, e.Epoch, e.Step, e.Slot = counts[i].operator, f.epoch, f.step, f.slot
			t.hook(e)
		}
	}
}

// take returns an operator's work on a batch, nil if there was none, and forgets it.
func (t *streamWatch) take(of *opWork) *streamWork {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := of.stream
	of.stream = nil
	return w
}

// event returns what is known of w, which took so long: by the events of the device
// where those have measured that, else by the clock of the host.
func (t *streamWatch) event(w *streamWork, took time.Duration, measured bool) stats.StreamEvent {
	e := stats.StreamEvent{Stream: w.stream, Issued: clock(w.issued), Start: clock(w.called), Duration: took}
	if !measured {
		return e
	}
	after, err := w.begin.Elapsed(w.device.anchor)
	if err == nil && w.waits != nil {
		e.Waited, err = w.begin.Elapsed(w.waits)
	}
	if err == nil {
		e.Start, e.Measured = clock(t.onHost(w, int64(after), int64(took))), true
	}
	return e
}

// onHost returns when work began by the clock of the host, which began so long
// after the anchor of its device and took so long. No work begins before it is issued, and none
// ends after the host has learned of it: by that the clocks are kept together.
func (t *streamWatch) onHost(w *streamWork, after, took int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := w.device
	early := w.issued - (d.anchored + after)
	late := d.anchored + after + took - w.learned()
	switch {
	case early > 0:
		d.anchored += early
	case late > 0:
		d.anchored -= min(late, -early)
	}
	return d.anchored + after
}

// clock returns the time of what now returned.
func clock(now int64) time.Time { return origin.Add(time.Duration(now)) }

// watchedDevice is a device whose streams are watched. Each has a clock of its own.
type watchedDevice struct {
	streams.Device
	watch *streamWatch

	// Guarded by the lock of the watch:
	anchor   streams.Event // ties the time of the device to that of the host
	anchored int64         // when it completed, by the clock of the host
}

func (d *watchedDevice) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil {
		return nil, err
	}
	t := d.watch
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hook != nil && d.anchor == nil {
		// A new stream has nothing to do, so the event completes at once.
		d.anchored, d.anchor = now(), s.Record()
	}
	t.streams++
	return &watchedStream{Stream: s, device: d, number: t.streams - 1}, nil
}

// watchedStream is a stream under watch. As it is used by an executor, one call
// comes after the other, and a Record behind each Do.
type watchedStream struct {
	streams.Stream
	device *watchedDevice
	number int
	waits  streams.Event // in front of the waits issued since the last work
	last   *streamWork   // the work that no Record has followed yet
}

func (s *watchedStream) Wait(e streams.Event) {
	if s.device.watch.hook != nil && s.waits == nil {
		s.waits = s.Stream.Record()
	}
	s.Stream.Wait(e)
}

func (s *watchedStream) Do(fn func(*streams.Context) error) {
	w := &streamWork{device: s.device, stream: s.number, issued: now(), waits: s.waits, begin: s.Stream.Record()}
	s.waits, s.last = nil, w
	s.Stream.Do(func(c *streams.Context) error {
		t := s.device.watch
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
