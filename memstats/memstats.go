// Package memstats holds the memory of a pipeline: buffers that are reused
// from batch to batch, and counts of what they hold.
//
// A Pool hands out host memory and counts it; a Buffer is a piece
// of it that follows the size it is asked for. Every piece starts on a 64-byte
// boundary, which vector instructions and cache lines like. A buffer only
// grows, so that a pipeline that has seen its largest sample allocates nothing
// more.
//
// A Pool may be used by any number of goroutines, a Buffer by one at a time.
package memstats

import (
	"sync/atomic"
	"unsafe"
)

// Align is the alignment of every piece of memory, in bytes.
const Align = 64

// Pool counts the memory that its buffers hold. The zero value is an
// empty pool of memory of the Go heap.
type Pool struct {
	live, peak, allocations atomic.Int64
}

// Stats is a snapshot of a Pool.
type Stats struct {
	Live        int64 // bytes held by buffers now
	Peak        int64 // the most that Live has been
	Allocations int64 // how often memory was allocated
}

// Stats returns the counts of now.
func (p *Pool) Stats() Stats {
	return Stats{Live: p.live.Load(), Peak: p.peak.Load(), Allocations: p.allocations.Load()}
}

func (p *Pool) alloc(n int) []byte {
	p.allocations.Add(1)
	live := p.live.Add(int64(n))
	for {
		peak := p.peak.Load()
		if live <= peak || p.peak.CompareAndSwap(peak, live) {
			return aligned(n)
		}
	}
}

func (p *Pool) free(n int) { p.live.Add(-int64(n)) }

// aligned returns n zero bytes that start on an Align boundary. The memory is
// always on the heap: a slab of constant size could otherwise stay on a stack,
// and its address would not survive the stack's growth.
func aligned(n int) []byte {
	raw := make([]byte, n+Align)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Align - 1))
	return raw[skip : skip+n : skip+n]
}

// Buffer is memory that follows the size asked for. Its zero value is empty;
// it belongs to the pool of the first Resize.
type Buffer struct {
	pool *Pool
	mem  []byte // everything reserved
}

// Resize returns n bytes of the buffer, allocating from p if the reserved
// memory is too small. The contents are not kept when memory moves. The bytes are valid
// until the next Resize or Free.
func (b *Buffer) Resize(p *Pool, n int) []byte {
	if n > len(b.mem) {
		b.Free()
		b.pool, b.mem = p, p.alloc(n)
	}
	return b.mem[:n:n]
}

// Reserved returns how many bytes the buffer holds.
func (b *Buffer) Reserved() int { return len(b.mem) }

// Free gives the memory back.
func (b *Buffer) Free() {
	if b.pool != nil {
		b.pool.free(len(b.mem))
	}
	b.pool, b.mem = nil, nil
}
