package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/planktonml/plankton/streams"
)

// Options says how a device is opened. The zero value is ready.
type Options struct {
	Library string      // the driver library; default "libcuda.so.1"
	Context ContextKind // default Primary

	// Handle is a context that somebody else made, a CUcontext of a driver that
	// this process has loaded from Library. The device works in it and never
	// destroys it, and must be closed before its maker does (see Abandon). Context
	// is ignored.
	Handle uintptr
}

const defaultLibrary = "libcuda.so.1"

// Info describes a GPU.
type Info struct {
	Ordinal      int
	Name         string // such as "NVIDIA H200"
	Major, Minor int    // compute capability
	Memory       int64  // bytes
	PCI          string // address on the PCI bus, such as 0000:3b:00.0; "" where the driver does not say
	Driver       int    // version of CUDA that the driver implements: 1000·major + 10·minor
	Pools        bool   // whether memory can be allocated in the order of a stream
}

// Device is a GPU as a device of package streams. Its methods may be called
// from any goroutine.
type Device struct {
	*driverContext
	info     Info
	events   eventPool
	timeline timeline
	poller   *poller
	kernels  kernelSet
	held     atomic.Int64 // bytes that were allocated and not freed
	pool     uintptr      // of the driver, for memory in the order of a stream; 0 where Info.Pools is false

	closing sync.Mutex // held by Close, from its first wait to its end
	mu      sync.Mutex
	streams []*stream
	modules []*Module
	atClose []func()
	closed  bool
	ended   bool
}

// Open opens GPU number ordinal, from 0, with the default options. The error
// matches ErrNoDriver or ErrNoDevice, or is an *Error of the driver.
func Open(ordinal int) (*Device, error) { return OpenWith(ordinal, Options{}) }

// OpenWith opens GPU number ordinal, from 0.
func OpenWith(ordinal int, o Options) (*Device, error) {
	if o.Library == "" {
		o.Library = defaultLibrary
	}
	drv, err := openDriver(o.Library)
	if err != nil {
		return nil, err
	}
	gpu, err := drv.find(ordinal)
	if err != nil {
		return nil, err
	}
	info, err := drv.describe(ordinal, gpu)
	if err != nil {
		return nil, err
	}
	c, err := openContext(drv, gpu, o)
	if err != nil {
		return nil, err
	}
	d := &Device{driverContext: c, info: info}
	d.events.context, d.timeline.context = c, c
	if err := d.openPool(gpu); err != nil {
		return nil, errors.Join(err, c.close())
	}
	d.poller = newPoller(c)
	return d, nil
}

// find returns the driver's handle of a GPU.
func (d *driver) find(ordinal int) (gpu int32, err error) {
	var count int32
	if err := d.check("cuDeviceGetCount", invoke(d.deviceGetCount, uintptr(unsafe.Pointer(&count)))); err != nil {
		return 0, err
	}
	if ordinal < 0 || ordinal >= int(count) {
		return 0, fmt.Errorf("%w: device %d was asked for, the driver has %d, numbered from 0 (CUDA_VISIBLE_DEVICES hides others)", ErrNoDevice, ordinal, count)
	}
	err = d.check("cuDeviceGet", invoke(d.deviceGet, uintptr(unsafe.Pointer(&gpu)), uintptr(ordinal)))
	return gpu, err
}

// Attributes of a device, CUdevice_attribute.
const (
	attributeMajor = 75
	attributeMinor = 76
	attributePools = 115
)

func (d *driver) describe(ordinal int, gpu int32) (Info, error) {
	info := Info{Ordinal: ordinal, PCI: d.pci(gpu)}
	var version int32
	if err := d.check("cuDriverGetVersion", invoke(d.driverGetVersion, uintptr(unsafe.Pointer(&version)))); err != nil {
		return info, err
	}
	info.Driver = int(version)
	name := make([]byte, 128)
	if err := d.check("cuDeviceGetName", invoke(d.deviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(gpu))); err != nil {
		return info, err
	}
	info.Name, _, _ = strings.Cut(string(name), "\x00")
	if err := d.check("cuDeviceTotalMem_v2", invoke(d.deviceTotalMem, uintptr(unsafe.Pointer(&info.Memory)), uintptr(gpu))); err != nil {
		return info, err
	}
	attribute := func(number int) (int, error) {
		var v int32
		err := d.check("cuDeviceGetAttribute", invoke(d.deviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(number), uintptr(gpu)))
		return int(v), err
	}
	var err error
	if info.Major, err = attribute(attributeMajor); err != nil {
		return info, err
	}
	if info.Minor, err = attribute(attributeMinor); err != nil {
		return info, err
	}
	if d.memAllocFromPoolAsync != 0 && d.memFreeAsync != 0 && d.memPoolCreate != 0 && d.memPoolDestroy != 0 && d.memPoolSetAttribute != 0 {
		pools, err := attribute(attributePools)
		info.Pools = err == nil && pools != 0 // drivers from before the attribute refuse it
	}
	return info, nil
}

// Info describes the GPU.
func (d *Device) Info() Info { return d.info }

// Name returns the number and the name of the GPU, such as "cuda:0 NVIDIA H200".
func (d *Device) Name() string { return fmt.Sprintf("cuda:%d %s", d.info.Ordinal, d.info.Name) }

// Do calls fn with the device's context current, on a thread that nobody else
// uses meanwhile.
func (d *Device) Do(fn func() error) error { return d.do(fn) }

// Context returns the driver's handle of the context, a CUcontext.
func (d *Device) Context() uintptr { return d.handle }

// NewStream makes a stream of the lowest priority, which does not wait for the
// driver's default stream.
func (d *Device) NewStream() (streams.Stream, error) { return d.NewStreamWithPriority(0) }

// Priorities returns the range of stream priorities: greater ones are smaller
// numbers, so greatest ≤ least.
func (d *Device) Priorities() (least, greatest int, err error) {
	var lo, hi int32
	err = d.call("cuCtxGetStreamPriorityRange", func() Code {
		return d.ask(d.driver.ctxGetStreamPriorityRange, uintptr(unsafe.Pointer(&lo)), uintptr(unsafe.Pointer(&hi)))
	})
	return int(lo), int(hi), err
}

// streamNonBlocking is CU_STREAM_NON_BLOCKING.
const streamNonBlocking = 1

// NewStreamWithPriority is NewStream with a priority, which the driver brings
// into the range of Priorities.
func (d *Device) NewStreamWithPriority(priority int) (streams.Stream, error) {
	var raw uintptr
	return d.addStream(func() error {
		return d.call("cuStreamCreateWithPriority", func() Code {
			return d.ask(d.driver.streamCreateWithPriority, uintptr(unsafe.Pointer(&raw)), streamNonBlocking, uintptr(priority))
		})
	}, &raw, true)
}

// Adopt returns a stream that issues on a stream of the driver which somebody
// else made in the same context, a CUstream; 0 is the driver's default stream.
// Close leaves the driver's stream to its maker.
func (d *Device) Adopt(handle uintptr) (streams.Stream, error) {
	return d.addStream(func() error { return nil }, &handle, false)
}

func (d *Device) addStream(create func() error, raw *uintptr, own bool) (streams.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, streams.ErrClosed
	}
	if err := create(); err != nil {
		return nil, err
	}
	s := newStream(d, *raw, own)
	d.streams = append(d.streams, s)
	return s, nil
}

func (d *Device) forget(s *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = slices.DeleteFunc(d.streams, func(o *stream) bool { return o == s })
}

// Abandon says that the context of Options.Handle was destroyed although the device
// is open. To use it in any way is undefined in the driver, so nothing is asked of
// that any more, also by work that is running: streams fail with ErrContext, and so
// does Close, which must still be called; memory counts as freed, as most of it is.
func (d *Device) Abandon() { d.gone.Store(true) }

// AtClose has Close call fn once, when the streams are closed and the context is still there,
// for what a library keeps in the context: fn may call Do, which fails with ErrContext where the
// context is gone (see Abandon). On a device that is closed, fn is called at once.
func (d *Device) AtClose(fn func()) {
	d.mu.Lock()
	ended := d.ended
	if !ended {
		d.atClose = append(d.atClose, fn)
	}
	d.mu.Unlock()
	if ended {
		fn()
	}
}

// Close closes the streams, calls what AtClose was given, unloads the modules and gives the context back. It
// returns the first error of a stream that no Synchronize has returned. While
// memory of the device is held the context has to stay: the error then matches
// ErrHeld, and Close may be called again.
func (d *Device) Close() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	d.mu.Lock()
	d.closed = true
	open := slices.Clone(d.streams)
	d.mu.Unlock()
	var first error
	for _, s := range open {
		if err := s.Close(); err != nil && first == nil {
			first = err
		}
	}
	for _, fn := range d.leaving() {
		fn()
	}
	ended, err := d.finish()
	switch {
	case err != nil:
		return errors.Join(first, err)
	case ended:
		return first
	}
	d.poller.close() // which may be calling what Event.Then was given
	err = d.do(func() error {
		d.timeline.close()
		d.events.close()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, m := range d.modules {
			d.ask(d.driver.moduleUnload, m.handle)
		}
		return nil
	})
	if err = errors.Join(err, d.closePool(), d.driverContext.close()); first == nil {
		first = err
	}
	return first
}

// leaving returns what AtClose was given, once.
func (d *Device) leaving() []func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	fns := d.atClose
	d.atClose = nil
	return fns
}

// finish takes the device out of use, unless memory of it is held. It reports
// whether that has been done before.
func (d *Device) finish() (ended bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return true, nil
	}
	if held := d.held.Load(); held > 0 {
		return false, fmt.Errorf("%w: %d bytes; free them and close again", ErrHeld, held)
	}
	d.ended = true
	return false, nil
}
