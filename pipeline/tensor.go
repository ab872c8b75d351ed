package pipeline

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/planktonml/plankton/memstats"
)

// MaxDims is the largest number of dimensions of a sample.
const MaxDims = 6

// Tensor is one sample's data at one place of a pipeline: elements in row-major
// order. It belongs to the pipeline and is valid while the operator that got it
// runs; its memory is used again for the next sample.
type Tensor struct {
	dtype  DType
	layout Layout
	ndim   int
	dims   [MaxDims]int
	data   []byte

	row  []byte          // the row of a dense output that the data must fill, or nil
	lent bool            // data is a reader's, to be read only
	buf  memstats.Buffer // own memory where there is no row
	pool *memstats.Pool
	fit  bool // the next request may shrink the memory

	free  *batchOutput // where the next request may find memory that fits better, or nil
	taken bool         // of a ragged row: its memory is in use
}

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Layout returns the names of the dimensions.
func (t *Tensor) Layout() Layout { return t.layout }

// Shape returns the dimensions, outermost first; empty for a scalar. The slice
// belongs to the tensor.
func (t *Tensor) Shape() []int { return t.dims[:t.ndim] }

// Len returns the number of elements.
func (t *Tensor) Len() int { return elements(t.Shape()) }

// Bytes returns the elements' memory.
func (t *Tensor) Bytes() []byte { return t.data }

// SetLayout names the dimensions.
func (t *Tensor) SetLayout(l Layout) { t.layout = l }

// Resize gives the tensor its shape and returns its memory for the elements,
// which hold anything. A tensor that is a row of a dense output must keep the
// shape that was declared: another one is an error that names both.
func (t *Tensor) Resize(shape ...int) ([]byte, error) {
	if len(shape) > MaxDims {
		return nil, fmt.Errorf("%d dimensions, at most %d are possible", len(shape), MaxDims)
	}
	n := elements(shape) * t.dtype.Size()
	if t.row != nil {
		if !slices.Equal(shape, t.Shape()) {
			return nil, &ShapeError{Got: append([]int(nil), shape...), Want: append([]int(nil), t.Shape()...)}
		}
		t.data = t.row
		return t.data, nil
	}
	t.ndim = copy(t.dims[:], shape)
	var err error
	t.data, err = t.memory(n)
	t.lent = false
	return t.data, err
}

// Lend is Resize for a reader whose sample is in memory already: the tensor shows
// mem, which operators only read and which must not change, instead of a copy.
// Where the sample is an output of the pipeline, it is copied all the same.
func (t *Tensor) Lend(mem []byte, shape ...int) error {
	if n := elements(shape) * t.dtype.Size(); n != len(mem) {
		return fmt.Errorf("%d bytes for shape %v of %s", len(mem), append([]int(nil), shape...), t.dtype)
	}
	if t.row != nil {
		dst, err := t.Resize(shape...)
		copy(dst, mem)
		return err
	}
	t.ndim = copy(t.dims[:], shape)
	t.data, t.lent = mem, true
	return nil
}

// memory returns n bytes of the tensor's own memory.
func (t *Tensor) memory(n int) ([]byte, error) {
	if t.fit {
		t.fit = false // a second request for a sample keeps the contents
		t.buf.Fit(n)
	}
	if t.free != nil {
		t.free.exchange(&t.buf, n)
		t.free = nil
	}
	return t.buf.Resize(t.pool, n)
}

// own makes the tensor's data its own if they are a reader's.
func (t *Tensor) own() error {
	if !t.lent {
		return nil
	}
	mem, err := t.memory(len(t.data))
	if err != nil {
		return err
	}
	copy(mem, t.data)
	t.data, t.lent = mem, false
	return nil
}

// ResizeAs is Resize for a tensor whose type is not known when the pipeline is
// built.
func (t *Tensor) ResizeAs(dt DType, shape ...int) ([]byte, error) {
	if t.row != nil && dt != t.dtype {
		return nil, fmt.Errorf("%s elements, the output was declared %s", dt, t.dtype)
	}
	t.dtype = dt
	return t.Resize(shape...)
}

// Element is a type that tensors hold.
type Element interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~uint64 | ~int64 | ~float32 | ~float64
}

// View returns memory as elements of type T; the bytes that do not fill a last
// element are left out. The memory must be aligned for T, as every tensor's is.
func View[T Element](mem []byte) []T {
	var z T
	n := len(mem) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// BytesOf is the inverse of View: the memory of a slice.
func BytesOf[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Float32s returns the elements of a float32 tensor; the other typed methods do the
// same for their types. They panic if the tensor is of another type, which fails the
// sample where an operator or reader does it.
func (t *Tensor) Float32s() []float32 { return View[float32](t.typed(Float32)) }
func (t *Tensor) Float64s() []float64 { return View[float64](t.typed(Float64)) }
func (t *Tensor) Int32s() []int32     { return View[int32](t.typed(Int32)) }
func (t *Tensor) Int64s() []int64     { return View[int64](t.typed(Int64)) }
func (t *Tensor) Uint8s() []uint8     { return t.typed(Uint8) }

func (t *Tensor) typed(want DType) []byte {
	if t.dtype != want {
		panic(fmt.Sprintf("pipeline: the tensor is %s, not %s", t.dtype, want))
	}
	return t.data
}

// Scalar returns the only element of the tensor as a float64; Bool counts as 0
// or 1.
func (t *Tensor) Scalar() (float64, error) {
	if t.Len() != 1 || t.dtype == Float16 || !t.dtype.valid() {
		return 0, fmt.Errorf("one number is wanted, got %s of shape %v", t.dtype, t.Shape())
	}
	switch t.dtype {
	case Uint8, Bool:
		return float64(t.data[0]), nil
	case Int8:
		return float64(int8(t.data[0])), nil
	case Uint16:
		return float64(View[uint16](t.data)[0]), nil
	case Int16:
		return float64(View[int16](t.data)[0]), nil
	case Uint32:
		return float64(View[uint32](t.data)[0]), nil
	case Int32:
		return float64(View[int32](t.data)[0]), nil
	case Uint64:
		return float64(View[uint64](t.data)[0]), nil
	case Int64:
		return float64(View[int64](t.data)[0]), nil
	case Float32:
		return float64(View[float32](t.data)[0]), nil
	default:
		return View[float64](t.data)[0], nil
	}
}

// CopyFrom makes t hold what src holds.
func (t *Tensor) CopyFrom(src *Tensor) error {
	mem, err := t.ResizeAs(src.dtype, src.Shape()...)
	if err != nil {
		return err
	}
	copy(mem, src.data)
	t.layout = src.layout
	return nil
}

// bindRow makes t a row of a dense output of the declared spec.
func (t *Tensor) bindRow(row []byte, spec *Spec) {
	t.row, t.data, t.lent = row, row, false
	t.dtype, t.layout = spec.DType, spec.Layout
	t.ndim = copy(t.dims[:], spec.Shape)
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
