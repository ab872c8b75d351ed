package datum

import (
	"fmt"
	"slices"
	"unsafe"
)

// MaxDims is the largest number of dimensions of a sample.
const MaxDims = 6

// Tensor is the data of one sample at one place of a pipeline: elements in row-major
// order, in native byte order. It belongs to the pipeline, and is valid while the kernel or
// reader runs that got it; its memory is used again for the next sample.
//
// An output has the type and layout that were declared of it, and the shape where that is
// known. Resize gives it memory for the elements, and its shape where samples differ.
type Tensor struct {
	dtype   DType
	dense   bool // it has the declared shape and no other
	written bool // by the operator or reader that makes it, for this sample
	changed bool // Begin must give it again what was declared
	lent    bool // data belongs to a reader and is only to be read
	ndim    int
	dims    [MaxDims]int
	layout  Layout
	data    []byte

	spec    *Spec // what was declared of it; nil where nothing was
	bytes   int   // of a dense tensor
	refused error // why its last request for memory was refused, or nil

	row  []byte // the row of an array of samples that the data must fill, or nil
	home Memory // of a Cell: where memory comes from that is no row's; nil for Go's heap
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

// Bytes returns the memory of the elements. An output whose declared shape has no -1 need
// not be resized: Bytes, and the typed methods such as Float32s, give it its memory. Another
// output has none before Resize.
func (t *Tensor) Bytes() []byte {
	if !t.written {
		t.open()
	}
	return t.data
}

// SetLayout names the dimensions.
func (t *Tensor) SetLayout(l Layout) {
	if l != t.layout {
		t.layout, t.changed = l, true
	}
}

// Resize gives the tensor its shape and returns memory for its elements. The memory is not
// cleared: all of it is to be written.
//
// A shape other than the declared one is a *ShapeError. Negative dimensions, more bytes
// than an int counts and more than the machine has are errors as well. The sample of an
// output whose last request was refused fails with that error, even if the kernel or reader
// does not return it.
func (t *Tensor) Resize(shape ...int) ([]byte, error) {
	n := t.bytes
	if !t.dense || !slices.Equal(shape, t.Shape()) {
		var err error
		if n, err = t.size(shape); err != nil {
			return nil, t.refuse(err)
		}
		t.ndim = copy(t.dims[:], shape)
	}
	if t.row != nil {
		t.data = t.row
	} else {
		var err error
		if t.data, err = t.memory(n); err != nil {
			return nil, t.refuse(err)
		}
	}
	t.lent, t.written = false, true
	return t.data, nil
}

// Lend is for a reader whose sample is in memory already. Instead of a copy the tensor
// shows mem, which must not change; operators only read it. Where the sample is an output
// of the pipeline, it is copied all the same. The errors are those of Resize.
func (t *Tensor) Lend(mem []byte, shape ...int) error {
	if !t.dense || t.bytes != len(mem) || !slices.Equal(shape, t.Shape()) {
		n, err := t.size(shape)
		if err == nil && n != len(mem) {
			err = fmt.Errorf("%d bytes for shape %v of %s", len(mem), slices.Clone(shape), t.dtype)
		}
		if err != nil {
			return t.refuse(err)
		}
		t.ndim = copy(t.dims[:], shape)
	}
	if t.row != nil {
		copy(t.row, mem)
		t.data = t.row
	} else {
		t.data, t.lent = mem, true
	}
	t.written = true
	return nil
}

// memory returns n bytes that are not a reader's.
func (t *Tensor) memory(n int) ([]byte, error) {
	if t.home != nil {
		return t.home.Memory(n)
	}
	if t.lent { // what is lent is not to be written
		return make([]byte, n), nil
	}
	return append(t.data[:0], make([]byte, n)...), nil
}

// ResizeAs is Resize for an output whose type is not known when the pipeline is built
// (Spec.DType is 0). A type other than the declared one is an error.
func (t *Tensor) ResizeAs(dt DType, shape ...int) ([]byte, error) {
	if t.spec != nil && t.spec.DType != 0 && dt != t.spec.DType {
		return nil, t.refuse(fmt.Errorf("%s elements, the output was declared %s", dt, t.spec.DType))
	}
	t.dtype = dt
	return t.Resize(shape...)
}

// Element is what View and BytesOf take for the type of an element.
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

func (t *Tensor) Int32s() []int32 { return View[int32](t.typed(Int32)) }

func (t *Tensor) Int64s() []int64 { return View[int64](t.typed(Int64)) }

func (t *Tensor) Uint8s() []uint8 { return t.typed(Uint8) }

func (t *Tensor) typed(want DType) []byte {
	if !t.written || t.dtype != want {
		t.untyped(want)
	}
	return t.data
}

// untyped is what typed does in unusual cases; apart, so that typed can be inlined.
func (t *Tensor) untyped(want DType) {
	if t.dtype != want {
		panic(fmt.Sprintf("datum: the tensor is %s, not %s", t.dtype, want))
	}
	t.open()
}

// Scalar returns the only element of the tensor as a float64; Bool counts as 0
// or 1.
func (t *Tensor) Scalar() (float64, error) {
	if err := t.readable(); err != nil {
		return 0, err
	}
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
	if err := src.readable(); err != nil {
		return err
	}
	mem, err := t.ResizeAs(src.dtype, src.Shape()...)
	if err != nil {
		return err
	}
	copy(mem, src.data)
	t.SetLayout(src.layout)
	return nil
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
