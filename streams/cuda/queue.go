package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
)

// Queue is the driver's side of a stream: what the work of a stream launches
// on. Everything is asynchronous and runs in order. Like the streams.Context that
// it comes from, it must not be used after the work has returned.
type Queue struct {
	device *Device
	handle uintptr
	stream *stream
	slots  []uint64         // of the arguments of a launch
	params []uintptr        // their addresses
	spare  [][]byte         // blocks of Free, where the driver has no pools
	kept   map[*Taps][]byte // weights of Resize on the device
	kind   uint32           // where pageable has the driver write what it does not need
}

var (
	_ accel.Queue  = (*Queue)(nil)
	_ accel.Memory = (*Device)(nil)
)

// QueueOf returns the queue of the stream that c belongs to. The error matches
// ErrNotCUDA where c is of another device, or nil.
func QueueOf(c *streams.Context) (*Queue, error) {
	if c != nil {
		if q, ok := c.Native.(*Queue); ok {
			return q, nil
		}
	}
	return nil, ErrNotCUDA
}

// Device returns the device of the stream.
func (q *Queue) Device() *Device { return q.device }

// Handle returns the driver's stream, a CUstream, for libraries of CUDA.
func (q *Queue) Handle() uintptr { return q.handle }

// Record returns an event behind everything that was issued on the queue so far, for
// work that has to know when what it launched is done. Streams that come after
// wait for the event of their stream instead, which carries its errors, too.
func (q *Queue) Record() streams.Event {
	e := &event{device: q.device}
	q.stream.record(e)
	return e
}

// Copy copies src to dst, which have one length. Each may be device memory or
// page-locked memory, and has to stay as it is until the copy is done. Other
// host memory works, too, but then the call waits for all work on the queue: the
// driver may read or write such memory later, and the collector does not know.
func (q *Queue) Copy(dst, src []byte) error {
	if len(dst) != len(src) {
		return fmt.Errorf("cuda: a copy of %d bytes to %d bytes; the lengths must be equal", len(src), len(dst))
	}
	if len(dst) == 0 {
		return nil
	}
	d := q.device.driver
	// The conversions stand in the calls, where they move what is on a stack.
	err := d.check("cuMemcpyAsync", q.device.ask(d.memcpyAsync, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(dst)), q.handle))
	if err == nil && (q.pageable(dst) || q.pageable(src)) {
		err = d.check("cuStreamSynchronize", q.device.ask(d.streamSynchronize, q.handle))
	}
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
	return err
}

// pageable reports whether memory is the host's and not page-locked. Of such memory
// the driver knows nothing.
func (q *Queue) pageable(mem []byte) bool {
	const memoryType = 2 // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
	return q.device.ask(q.device.driver.pointerGetAttribute, uintptr(unsafe.Pointer(&q.kind)), memoryType, address(mem)) != codeSuccess
}

// Fill sets all bytes of device memory.
func (q *Queue) Fill(dst []byte, value byte) error {
	if len(dst) == 0 {
		return nil
	}
	d := q.device.driver
	return d.check("cuMemsetD8Async", q.device.ask(d.memsetD8Async, address(dst), uintptr(value), uintptr(len(dst)), q.handle))
}

// Dim is the extent of a grid or of a block of threads.
type Dim struct{ X, Y, Z int }

// Arg is an argument of a kernel.
type Arg uint64

// Int32 returns an argument of type int.
func Int32(v int) Arg { return Arg(uint32(v)) }

// Int64 returns an argument of type long long.
func Int64(v int64) Arg { return Arg(v) }

// Float32 returns an argument of type float.
func Float32(v float32) Arg { return Arg(*(*uint32)(unsafe.Pointer(&v))) }

// Address returns an argument of a pointer type: device memory, or page-locked
// memory, which the kernel reads over the bus. Memory of length 0 is a null
// pointer.
func Address(mem []byte) Arg {
	if len(mem) == 0 {
		return 0
	}
	return Arg(address(mem))
}

// Launch runs a kernel on grid blocks of block threads each, with shared bytes
// of dynamic shared memory. Args must be what the kernel's source declares: the
// driver cannot tell.
func (q *Queue) Launch(k *Kernel, grid, block Dim, shared int, args ...Arg) error {
	if k.module.device != q.device {
		return fmt.Errorf("cuda: kernel %s was loaded for %s and launched on %s", k.name, k.module.device.Name(), q.device.Name())
	}
	q.arguments(args)
	d := q.device.driver
	code := q.device.ask(d.launchKernel, k.handle,
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shared), q.handle, uintptr(unsafe.Pointer(unsafe.SliceData(q.params))), 0)
	if err := d.check("cuLaunchKernel", code); err != nil {
		return fmt.Errorf("cuda: kernel %s on %v blocks of %v threads: %w", k.name, grid, block, err)
	}
	return nil
}

// arguments lays out arguments as the driver wants them, which copies them
// during the launch.
func (q *Queue) arguments(args []Arg) {
	if len(args) > len(q.slots) {
		q.slots = make([]uint64, len(args))
		q.params = make([]uintptr, len(args))
		for i := range q.slots {
			q.params[i] = uintptr(unsafe.Pointer(&q.slots[i]))
		}
	}
	for i, a := range args {
		q.slots[i] = uint64(a)
	}
}

// Alloc returns n bytes of device memory that everything issued later on this
// queue may use; other streams wait for an event recorded after. No GPU waits.
// Free gives it back. Errors match ErrMemory.
func (q *Queue) Alloc(n int) ([]byte, error) {
	d := q.device
	if !d.info.Pools {
		return q.reuse(n)
	}
	if n <= 0 {
		return nil, nil
	}
	var p *byte
	code := d.ask(d.driver.memAllocFromPoolAsync, uintptr(unsafe.Pointer(&p)), uintptr(n), d.pool, q.handle)
	if err := d.driver.check("cuMemAllocFromPoolAsync", code); err != nil {
		return nil, d.memoryError(memstats.Device, n, err)
	}
	d.held.Add(int64(n))
	return unsafe.Slice(p, n), nil
}

// Free gives memory of Alloc back when everything issued on this queue so far
// has run. Other streams must be done with it by then: this queue has waited
// for their events.
func (q *Queue) Free(mem []byte) error {
	d := q.device
	switch {
	case len(mem) == 0:
		return nil
	case !d.info.Pools:
		q.spare = append(q.spare, mem)
		return nil
	}
	d.held.Add(-int64(len(mem)))
	return d.driver.check("cuMemFreeAsync", d.ask(d.driver.memFreeAsync, address(mem), q.handle))
}

// reuse is Alloc for drivers without pools. What was freed on this queue can be
// used again on it at once, since work runs in order.
func (q *Queue) reuse(n int) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	best := -1
	for i, mem := range q.spare {
		if cap(mem) >= n && (best < 0 || cap(mem) < cap(q.spare[best])) {
			best = i
		}
	}
	if best < 0 {
		return q.device.Memory().Alloc(n)
	}
	mem := q.spare[best]
	last := len(q.spare) - 1
	q.spare[best], q.spare[last] = q.spare[last], nil
	q.spare = q.spare[:last]
	return mem[:n], nil
}

// free ends a queue on which nothing is running.
func (q *Queue) free() {
	for _, mem := range q.kept {
		q.device.Memory().Free(mem[:cap(mem)])
	}
	q.kept = nil
	for _, mem := range q.spare {
		q.device.Memory().Free(mem[:cap(mem)])
	}
	q.spare = nil
}
