package cuda

import (
	"errors"
	"unsafe"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
)

// allocator is the driver's memory of one kind.
type allocator struct {
	device *Device
	kind   memstats.Kind
}

// Memory returns the allocator of device memory, aligned to 256 bytes and
// holding anything. Allocating and freeing make the whole GPU wait, so memory is
// taken before work starts and kept: give it to a memstats.Pool. Errors match
// ErrMemory and are a *MemoryError; once Close has given the context back they match
// streams.ErrClosed.
func (d *Device) Memory() memstats.Allocator { return allocator{d, memstats.Device} }

// HostMemory returns the allocator of page-locked host memory, which every GPU
// of the process copies from and to by itself.
func (d *Device) HostMemory() memstats.Allocator { return allocator{d, memstats.PageLocked} }

// hostPortable is CU_MEMHOSTALLOC_PORTABLE: page-locked for all contexts.
const hostPortable = 1

// Alloc implements memstats.Allocator.
func (a allocator) Alloc(n int) ([]byte, error) {
	d := a.device
	if err := d.reserve(n); err != nil {
		return nil, err
	}
	var p *byte
	err := d.do(func() error {
		name, code := "cuMemAlloc_v2", codeSuccess
		if a.kind == memstats.Device {
			code = d.ask(d.driver.memAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n))
		} else {
			name = "cuMemHostAlloc"
			code = d.ask(d.driver.memHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n), hostPortable)
		}
		return d.memoryError(a.kind, n, d.driver.check(name, code))
	})
	if err != nil {
		d.held.Add(-int64(n))
		return nil, err
	}
	return unsafe.Slice(p, n), nil
}

// reserve counts memory as held before it is, so that Close does not miss it. Work
// that Close still lets run may ask for memory, what comes later may not: somebody
// else could keep the context alive, and nobody would free it.
func (d *Device) reserve(n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return streams.ErrClosed
	}
	d.held.Add(int64(n))
	return nil
}

// Free implements memstats.Allocator. Nothing may be using the memory.
func (a allocator) Free(mem []byte) {
	d := a.device
	name, fn := "cuMemFree_v2", d.driver.memFree
	if a.kind == memstats.PageLocked {
		name, fn = "cuMemFreeHost", d.driver.memFreeHost
	}
	// What fails here has failed before: the context is lost, with its memory.
	_ = d.call(name, func() Code { return d.ask(fn, address(mem)) })
	d.held.Add(-int64(len(mem)))
}

// FreeMemory returns how many bytes of device memory are free, and how many
// there are.
func (d *Device) FreeMemory() (free, total int64, err error) {
	err = d.call("cuMemGetInfo_v2", func() Code {
		return d.ask(d.driver.memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, total, err
}

// memoryError adds to a failed allocation what a person wants to know. The
// context must be current.
func (d *Device) memoryError(kind memstats.Kind, n int, err error) error {
	if !errors.Is(err, ErrMemory) {
		return err
	}
	e := &MemoryError{Kind: kind, Asked: int64(n), Err: err}
	d.ask(d.driver.memGetInfo, uintptr(unsafe.Pointer(&e.Free)), uintptr(unsafe.Pointer(&e.Total)))
	return e
}

// address returns where memory starts, 0 for none.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

// poolProps is a CUmemPoolProps.
type poolProps struct {
	allocation, handles int32
	location, ordinal   int32
	_                   [72]byte // for Windows, and for later: must be 0
}

const (
	allocationPinned     = 1 // CU_MEM_ALLOCATION_TYPE_PINNED, the only one there is
	locationDevice       = 1 // CU_MEM_LOCATION_TYPE_DEVICE
	poolReleaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
)

// openPool makes the driver's pool for memory in the order of a stream. It keeps what
// is freed until the device is closed, instead of giving it back whenever somebody
// synchronises. The GPU has a pool for the whole process, which others use with
// settings of their own.
func (d *Device) openPool(gpu int32) error {
	if !d.info.Pools {
		return nil
	}
	return d.do(func() error {
		props := &poolProps{allocation: allocationPinned, location: locationDevice, ordinal: gpu}
		if err := d.driver.check("cuMemPoolCreate", invoke(d.driver.memPoolCreate, uintptr(unsafe.Pointer(&d.pool)), uintptr(unsafe.Pointer(props)))); err != nil {
			return err
		}
		all := ^uint64(0)
		err := d.driver.check("cuMemPoolSetAttribute", invoke(d.driver.memPoolSetAttribute, d.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(&all))))
		if err != nil {
			return errors.Join(err, d.closePool())
		}
		return nil
	})
}

// closePool gives the pool's memory back. It is of no context, and outlives them.
func (d *Device) closePool() error {
	if d.pool == 0 {
		return nil
	}
	return d.driver.check("cuMemPoolDestroy", invoke(d.driver.memPoolDestroy, d.pool))
}
