// Package streamtest provides a device for tests of code that issues work on
// streams, or several. It runs one thing at a time, in an interleaving that a seed decides,
// records what it did, and finds accesses to the same buffer that streams, events
// and holds leave without order.
package streamtest

import (
	"fmt"
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
	*machine
	name   string
	closed bool // Close has been called
}

// machine is what devices made together share.
type machine struct {
	mu      sync.Mutex
	changed *sync.Cond
	rng     *rand.Rand
	streams []*stream
	started bool
	open    int // devices that are not closed
	ended   chan struct{}
	host    clock // what the host has issued and waited for
	buffers map[any]*buffer
	races   []Race
	trace   []Step
}

// Step is one thing that a stream did.
type Step struct {
	Stream     int    // in the order of NewStream, on all devices made together
	Index      int    // in the order of issue on the stream
	Op         string // do, skip (after an error), record, wait, hold or synchronize
	Start, End time.Duration
}

// New returns a device whose interleavings follow from the seed.
func New(seed uint64) *Device { return NewDevices(seed, 1)[0] }

// NewDevices returns n devices that run one thing at a time between them, in
// interleavings that follow from the seed. An access on one of them is compared with
// those on all of them, and Races and Trace are those of all. Each has to be closed.
func NewDevices(seed uint64, n int) []*Device {
	m := &machine{
		rng:     rand.New(rand.NewPCG(seed, 0)),
		open:    n,
		ended:   make(chan struct{}),
		host:    clock{0},
		buffers: map[any]*buffer{},
	}
	m.changed = sync.NewCond(&m.mu)
	devices := make([]*Device, n)
	for i := range devices {
		devices[i] = &Device{machine: m, name: "test"}
		if n > 1 {
			devices[i].name = fmt.Sprintf("test %d", i)
		}
	}
	go m.drive()
	return devices
}

// Name returns "test", or "test 0", "test 1" and so on of devices made together.
func (d *Device) Name() string { return d.name }

// NewStream makes a stream.
func (d *Device) NewStream() (streams.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, streams.ErrClosed
	}
	s := &stream{device: d, number: len(d.streams)}
	s.context.Native = s
	d.streams = append(d.streams, s)
	return s, nil
}

// Start lets the streams run, on all devices made together.
func (d *Device) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start()
}

func (m *machine) start() {
	m.started = true
	m.changed.Broadcast()
}

// Close runs what has been issued. That of the last device ends the goroutine of all.
func (d *Device) Close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		d.open--
	}
	d.start()
	var own []*stream
	for _, s := range d.streams {
		if s.device == d {
			own = append(own, s)
		}
	}
	last := d.open == 0
	d.mu.Unlock()
	var first error
	for _, s := range own {
		if err := s.Close(); first == nil {
			first = err
		}
	}
	if last {
		<-d.ended
	}
	return first
}

// Trace returns what the streams did, in the order in which they did it.
func (d *Device) Trace() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Step(nil), d.trace...)
}

// drive performs one step after the other of streams that can go on.
func (m *machine) drive() {
	defer close(m.ended)
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		var ready []*stream
		pending := false
		for _, s := range m.streams {
			pending = pending || len(s.queue) > 0
			if m.started && s.ready() {
				ready = append(ready, s)
			}
		}
		switch {
		case len(ready) > 0:
			ready[m.rng.IntN(len(ready))].step()
			m.changed.Broadcast()
		case m.open == 0 && !pending:
			return
		default:
			m.changed.Wait()
		}
	}
}

func (m *machine) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed.Broadcast()
}
