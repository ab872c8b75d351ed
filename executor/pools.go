package executor

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

// Pools is the Allocator that takes every kind of memory from a pool of its own:
// page-locked where Attr has DeviceCompatible, of a device where it lacks OnHost,
// ordinary host memory else. What is allocated for a kind, or on a device, without a pool
// is an error, but for host memory, which then is Heap's. Page-locked memory is one pool's
// for all devices, so it must be locked for all of them, as that of package cuda is.
//
// Pools of page-locked and device memory keep what is freed for the next run. The
// caller trims them when no executor uses them any more.
type Pools struct {
	Host, PageLocked *memstats.Pool
	Devices          []*memstats.Pool // by Attr.Device
}

// Alloc implements Allocator.
func (p Pools) Alloc(size int, attr Attr) ([]byte, error) {
	pool, kind := p.of(attr)
	switch {
	case pool != nil && size > 0:
		return pool.Alloc(size)
	case kind == memstats.Host || size == 0:
		return make([]byte, size), nil
	}
	return nil, fmt.Errorf("executor: there is no pool of %s memory for %d bytes (%v): set it in Pools", kind, size, attr)
}

// Free implements Allocator.
func (p Pools) Free(mem []byte, attr Attr) {
	if pool, _ := p.of(attr); pool != nil && cap(mem) > 0 {
		pool.Free(mem)
	}
}

func (p Pools) of(attr Attr) (*memstats.Pool, memstats.Kind) {
	switch kind := attr.Kind(); kind {
	case memstats.Device:
		if n := attr.Device(); n < len(p.Devices) {
			return p.Devices[n], kind
		}
		return nil, kind
	case memstats.PageLocked:
		return p.PageLocked, kind
	}
	return p.Host, memstats.Host
}
