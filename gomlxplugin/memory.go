package gomlxplugin

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// leastBytes is what an output must have to lie in the backend's memory: Go starts larger
// blocks on a page, smaller ones on less than memstats.Align.
const leastBytes = 32 << 10

// Memory is the memory of a backend's device, for pipeline.Options.OutputMemory. It may serve
// several pipelines.
type Memory struct {
	backend compute.Backend
	device  compute.DeviceNum

	mu     sync.Mutex
	blocks map[*byte]*tensors.Tensor // by their first byte: what a pipeline has
}

// NewMemory returns the memory of a device, which is 0 where there is one.
func NewMemory(backend compute.Backend, device compute.DeviceNum) *Memory {
	return &Memory{backend: backend, device: device, blocks: map[*byte]*tensors.Tensor{}}
}

// Output implements pipeline.OutputMemory.
func (m *Memory) Output(_ string, shape []int, dtype datum.DType) memstats.Allocator {
	s := shapeOf(dtype, shape)
	if !m.backend.HasSharedBuffers() || s.ByteSize() < leastBytes {
		return nil
	}
	return &blocks{m: m, shape: s}
}

// blocks is the Allocator of one output.
type blocks struct {
	m     *Memory
	shape shapes.Shape

	mu    sync.Mutex
	zeros *graph.Exec // makes memory on the Go backend; nil before the first
}

// Alloc implements memstats.Allocator.
func (b *blocks) Alloc(n int) ([]byte, error) {
	if int64(n) != b.shape.ByteSize() {
		return nil, fmt.Errorf("gomlxplugin: %d bytes are not those of %s", n, b.shape)
	}
	t, err := b.tensor()
	if err != nil {
		return nil, fmt.Errorf("gomlxplugin: memory for %s on %s: %w", b.shape, b.m.backend.Name(), err)
	}
	mem, err := b.m.bytesOf(t)
	if err != nil {
		return nil, err
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%memstats.Align != 0 {
		_ = t.FinalizeAll()
		return nil, fmt.Errorf("gomlxplugin: memory for %s on %s does not start on a border of %d bytes", b.shape, b.m.backend.Name(), memstats.Align)
	}
	b.m.mu.Lock()
	b.m.blocks[unsafe.SliceData(mem)] = t
	b.m.mu.Unlock()
	return mem, nil
}

// Free implements memstats.Allocator.
func (b *blocks) Free(mem []byte) {
	if t := b.m.take(mem); t != nil {
		_ = t.FinalizeAll() // fails where the backend has gone, with its memory
	}
}

// tensor returns a tensor whose memory is the backend's and may be written.
func (b *blocks) tensor() (*tensors.Tensor, error) {
	if !poolsResults(b.m.backend) {
		return tensors.FromShapeForBackend(b.m.backend, b.m.device, b.shape)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.zeros == nil {
		zeros, err := graph.NewExec(b.m.backend, func(g *graph.Graph) *graph.Node { return graph.Zeros(g, b.shape) })
		if err != nil {
			return nil, err
		}
		b.zeros = zeros
	}
	return b.zeros.Call1()
}

// poolsResults reports whether the backend uses the memory of a computation's result again
// when that has been donated, and lets the host write it until then: GoMLX's Go backend.
func poolsResults(backend compute.Backend) bool { return backend.Name() == "Go Backend" }

// bytesOf returns the memory of a tensor of tensor.
func (m *Memory) bytesOf(t *tensors.Tensor) ([]byte, error) {
	buffer, err := t.Buffer(m.backend, m.device)
	if err != nil {
		return nil, err
	}
	flat, err := buffer.Data()
	if err != nil {
		return nil, err
	}
	return dtypes.UnsafeByteSliceFromAny(flat), nil
}

// take returns the tensor of memory that a pipeline has no more, nil for memory of other
// origin.
func (m *Memory) take(mem []byte) *tensors.Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.blocks[unsafe.SliceData(mem)]
	delete(m.blocks, unsafe.SliceData(mem))
	return t
}

// copy returns a tensor of its own with what mem holds.
func (m *Memory) copy(shape shapes.Shape, mem []byte) (*tensors.Tensor, error) {
	return tensors.FromRaw(m.backend, m.device, shape, mem)
}

var types = map[datum.DType]dtypes.DType{
	datum.Uint8: dtypes.Uint8, datum.Int8: dtypes.Int8, datum.Uint16: dtypes.Uint16, datum.Int16: dtypes.Int16,
	datum.Uint32: dtypes.Uint32, datum.Int32: dtypes.Int32, datum.Uint64: dtypes.Uint64, datum.Int64: dtypes.Int64,
	datum.Float16: dtypes.Float16, datum.Float32: dtypes.Float32, datum.Float64: dtypes.Float64, datum.Bool: dtypes.Bool,
}

func shapeOf(dtype datum.DType, dims []int) shapes.Shape {
	return shapes.Make(types[dtype], slices.Clone(dims)...)
}

// has reports whether memory of a pipeline is the backend's.
func (m *Memory) has(mem []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blocks[unsafe.SliceData(mem)] != nil
}
