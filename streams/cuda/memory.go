package cuda

import (
	"errors"
	"unsafe"

	"github.com/planktonml/plankton/memstats"
)

// allocator is the driver's memory of one kind.
type allocator struct {
	device *Device
	kind   memstats.Kind
}

// Memory returns the allocator of device memory, aligned to 256 bytes and
// holding anything. Allocating and freeing make the whole GPU wait, so memory is
// taken before work starts and kept: give it to a memstats.Pool. Errors match
// ErrMemory and are a *MemoryError.
func (d *Device) Memory() memstats.Allocator { return allocator{d, memstats.Device} }

// HostMemory returns the allocator of page-locked host memory, which every GPU
// of the process copies from and to by itself.
func (d *Device) HostMemory() memstats.Allocator { return allocator{d, memstats.PageLocked} }

// hostPortable is CU_MEMHOSTALLOC_PORTABLE: page-locked for all contexts.
const hostPortable = 1

// Alloc implements memstats.Allocator.
func (a allocator) Alloc(n int) ([]byte, error) {
	d := a.device
	var p *byte
	err := d.do(func() error {
		name, code := "cuMemAlloc_v2", codeSuccess
		if a.kind == memstats.Device {
			code = invoke(d.driver.memAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n))
		} else {
			name = "cuMemHostAlloc"
			code = invoke(d.driver.memHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n), hostPortable)
		}
		return d.memoryError(a.kind, n, d.driver.check(name, code))
	})
	if err != nil {
		return nil, err
	}
	d.held.Add(int64(n))
	return unsafe.Slice(p, n), nil
}

// Free implements memstats.Allocator. Nothing may be using the memory.
func (a allocator) Free(mem []byte) {
	d := a.device
	name, fn := "cuMemFree_v2", d.driver.memFree
	if a.kind == memstats.PageLocked {
		name, fn = "cuMemFreeHost", d.driver.memFreeHost
	}
	// What fails here has failed before: the context is lost, with its memory.
	_ = d.call(name, func() Code { return invoke(fn, address(mem)) })
	d.held.Add(-int64(len(mem)))
}

// FreeMemory returns how many bytes of device memory are free, and how many
// there are.
func (d *Device) FreeMemory() (free, total int64, err error) {
	err = d.call("cuMemGetInfo_v2", func() Code {
		return invoke(d.driver.memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
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
	invoke(d.driver.memGetInfo, uintptr(unsafe.Pointer(&e.Free)), uintptr(unsafe.Pointer(&e.Total)))
	return e
}

// address returns where memory starts, 0 for none.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

// poolReleaseThreshold is CU_MEMPOOL_ATTR_RELEASE_THRESHOLD.
const poolReleaseThreshold = 4

// keepPoolMemory lets the driver's pool of the GPU, where there is one, keep
// what is freed instead of giving it back whenever somebody synchronises.
func (d *Device) keepPoolMemory(gpu int32) error {
	if !d.info.Pools {
		return nil
	}
	var pool uintptr
	if err := d.driver.check("cuDeviceGetDefaultMemPool", invoke(d.driver.deviceGetDefaultMemPool, uintptr(unsafe.Pointer(&pool)), uintptr(gpu))); err != nil {
		return err
	}
	all := ^uint64(0)
	return d.driver.check("cuMemPoolSetAttribute", invoke(d.driver.memPoolSetAttribute, pool, poolReleaseThreshold, uintptr(unsafe.Pointer(&all))))
}
