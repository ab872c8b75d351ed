package executor

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Allocator is where the kernels' memory comes from. Its methods are called
// from several goroutines.
type Allocator interface {
	// Alloc returns size bytes of the kind that attr asks for.
	Alloc(size int, attr Attr) ([]byte, error)
	// Free takes back what Alloc returned for the same attr.
	Free(mem []byte, attr Attr)
}

// Heap is the Allocator of ordinary Go memory. It serves host memory only.
type Heap struct{}

// Alloc makes a slice. It refuses device memory.
func (Heap) Alloc(size int, attr Attr) ([]byte, error) {
	if attr&OnHost == 0 {
		return nil, fmt.Errorf("the Go heap has no device memory (asked for %d bytes, %v): set Options.Allocator", size, attr)
	}
	return make([]byte, size), nil
}

// Free leaves the memory to the garbage collector.
func (Heap) Free([]byte, Attr) {}

// Buffer is counted memory that travels along edges. The count is the number of
// holders: one for every edge that carries it, and whatever callers add. The
// executor counts for the edges; kernels read a buffer that they find in an
// input without counting, and hand a buffer from Call.Alloc or Call.Forward on
// by setting it as an output. The memory goes back to the allocator with the
// last release.
//
// The bytes of a buffer with Attr.OnHost unset are addresses of a device and
// must not be read by the host.
type Buffer struct {
	mem   []byte
	attr  Attr
	alloc Allocator
	refs  atomic.Int32
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer allocates a buffer with one reference, which the caller holds. It is
// for values that enter a graph; kernels use Call.Alloc.
func NewBuffer(a Allocator, size int, attr Attr) (*Buffer, error) {
	mem, err := a.Alloc(size, attr)
	if err != nil {
		return nil, err
	}
	b := buffers.Get().(*Buffer)
	b.mem, b.attr, b.alloc = mem, attr, a
	b.refs.Store(1)
	return b, nil
}

// Bytes returns the memory, valid as long as the caller's reference.
func (b *Buffer) Bytes() []byte { return b.mem }

// Attr returns the kind of the memory.
func (b *Buffer) Attr() Attr { return b.attr }

// Retain takes a further reference.
func (b *Buffer) Retain() { b.refs.Add(1) }

// Release gives one reference back; the last one frees the memory.
func (b *Buffer) Release() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		b.alloc.Free(b.mem, b.attr)
		b.mem, b.alloc = nil, nil
		buffers.Put(b)
	case n < 0:
		panic("executor: a buffer was released more often than retained")
	}
}

// sole reports whether the caller's reference is the only one.
func (b *Buffer) sole() bool { return b.refs.Load() == 1 }
