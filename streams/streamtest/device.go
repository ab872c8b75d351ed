// Package streamtest provides a device for tests of code that issues work on
// streams. It runs one thing at a time, in an interleaving that a seed decides,
// records what it did, and finds accesses to the same buffer that streams, events
// and holds leave without order.
package streamtest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/planktonml/plankton/streams"
)

// Device is a streams.Device. Its streams begin to run with Start, or with the
// first call that asks for a result: Query, Event.Wait, Then, Synchronize, Close. If
// everything is issued before, what happens is a function of the seed and of what
// was issued. Kernels run one at a time and must not wait for other streams.
//
// Time is virtual: every kernel takes up to a millisecond, as the seed decides.
type Device struct {
	mu      sync.Mutex
	changed *sync.Cond
	rng     *rand.Rand
	streams []*stream
	started bool
	closing bool
	ended   chan struct{}
	host    clock // what the host has issued and waited for
	buffers map[any]*buffer
	races   []Race
	trace   []Step
}

// Step is one thing that a stream did.
type Step struct {
	Stream     int    // in the order of NewStream
	Index      int    // in the order of issue on the stream
	Op         string // do, skip (after an error), record, wait, hold or synchronize
	Start, End time.Duration
}

// New returns a device whose interleavings follow from the seed.
func New(seed uint64) *Device {
	d := &Device{
		rng:     rand.New(rand.NewPCG(seed, 0)),
		ended:   make(chan struct{}),
		host:    clock{0},
		buffers: map[any]*buffer{},
	}
	d.changed = sync.NewCond(&d.mu)
	go d.drive()
	return d
}

// Name returns "test".
func (d *Device) Name() string { return "test" }

// NewStream makes a stream.
func (d *Device) NewStream() (streams.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return nil, streams.ErrClosed
	}
	s := &stream{device: d, number: len(d.streams)}
	s.context.Native = s
	d.streams = append(d.streams, s)
	return s, nil
}

// Start lets the streams run.
func (d *Device) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start()
}

func (d *Device) start() {
	d.started = true
	d.changed.Broadcast()
}

// Close runs what has been issued and ends the goroutine of the device.
func (d *Device) Close() error {
	d.mu.Lock()
	d.start()
	d.closing = true
	open := d.streams
	d.mu.Unlock()
	var first error
	for _, s := range open {
		if err := s.Close(); first == nil {
			first = err
		}
	}
	<-d.ended
	return first
}

// Trace returns what the streams did, in the order in which they did it.
func (d *Device) Trace() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Step(nil), d.trace...)
}

// drive performs one step after the other of streams that can go on.
func (d *Device) drive() {
	defer close(d.ended)
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		var ready []*stream
		pending := false
		for _, s := range d.streams {
			pending = pending || len(s.queue) > 0
			if d.started && s.ready() {
				ready = append(ready, s)
			}
		}
		switch {
		case len(ready) > 0:
			ready[d.rng.IntN(len(ready))].step()
			d.changed.Broadcast()
		case d.closing && !pending:
			return
		default:
			d.changed.Wait()
		}
	}
}

func (d *Device) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed.Broadcast()
}
