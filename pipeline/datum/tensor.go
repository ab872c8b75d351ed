package datum

import (
	"fmt"
	"slices"
	"unsafe"
)

// MaxDims is the largest number of dimensions of a sample.
const MaxDims = 6

// Tensor is one sample's data at one place of a pipeline: elements in row-major
// order. It belongs to the pipeline and is valid while the operator that got it
// runs; its memory is used again for the next sample.
type Tensor struct {
	dtype   DType
	dense   bool // it has the declared shape and no other
	written bool // by the operator or reader that makes it, for this sample
	changed bool // the next sample begins with a reset
	lent    bool // data is a reader's, to be read only
	ndim    int
	dims    [MaxDims]int
	layout  Layout
	data    []byte

	spec    *Spec // what was declared of it; nil where nothing was
	bytes   int   // where it is dense
	refused error // why its last request for memory was refused, or nil

	row  []byte // the row of an array of samples that the data must fill, or nil
	home Memory // where memory comes from that is no row's; nil for Go's heap
}

// Memory is where a tensor's memory comes from.
type Memory interface {
	// Memory returns n bytes, which hold what was there as far as it goes. The bytes
	// that it returned before end.
	Memory(n int) ([]byte, error)
}

// SetMemory says where the tensor's memory comes from; nil is Go's heap.
func (t *Tensor) SetMemory(m Memory) { t.home = m }

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Layout returns the names of the dimensions.
func (t *Tensor) Layout() Layout { return t.layout }

// Shape returns the dimensions, outermost first; empty for a scalar. The slice
// belongs to the tensor.
func (t *Tensor) Shape() []int { return t.dims[:t.ndim] }

// Len returns the number of elements.
func (t *Tensor) Len() int { return elements(t.Shape()) }

// Bytes returns the elements' memory. An output of a declared shape without -1 gets
// that shape with it, if it has not been resized yet; another output has no memory
// before Resize.
func (t *Tensor) Bytes() []byte {
	if !t.written {
		t.open()
	}
	return t.data
}

// Shown returns the memory of the elements that t has now, nil if there is none. Bytes is
// for operators and readers; Shown is for whoever looks at what they have made.
func (t *Tensor) Shown() []byte { return t.data }

// SetLayout names the dimensions.
func (t *Tensor) SetLayout(l Layout) {
	if l != t.layout {
		t.layout, t.changed = l, true
	}
}

// Resize gives the tensor its shape and returns its memory for the elements,
// which hold anything. An output keeps to what was declared of it: another shape is a
// *ShapeError. Negative dimensions are an error too, and so are more bytes than an int
// counts or the machine has. An operator or reader whose last request was refused
// fails its sample with that error, even if it drops it.
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

// Lend is Resize for a reader whose sample is in memory already: the tensor shows
// mem, which operators only read and which must not change, instead of a copy.
// Where the sample is an output of the pipeline, it is copied all the same.
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

// memory returns n bytes of the tensor's own memory.
func (t *Tensor) memory(n int) ([]byte, error) {
	if t.home != nil {
		return t.home.Memory(n)
	}
	if t.lent { // what is lent is not to be written
		return make([]byte, n), nil
	}
	return append(t.data[:0], make([]byte, n)...), nil
}

// Own copies the data of a reader that has lent them (Lend) into the tensor's own memory;
// data that were not lent stay where they are. The error is that of the Memory.
func (t *Tensor) Own() error {
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
	if t.spec != nil && t.spec.DType != 0 && dt != t.spec.DType {
		return nil, t.refuse(fmt.Errorf("%s elements, the output was declared %s", dt, t.spec.DType))
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

func (t *Tensor) Int32s() []int32 { return View[int32](t.typed(Int32)) }

func (t *Tensor) Int64s() []int64 { return View[int64](t.typed(Int64)) }

func (t *Tensor) Uint8s() []uint8 { return t.typed(Uint8) }

func (t *Tensor) typed(want DType) []byte {
	if !t.written || t.dtype != want {
		t.untyped(want)
	}
	return t.data
}

// untyped is what typed does of the unusual.
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

// Bind makes row, one row of an array of samples, the memory of t from now on. The shape
// that was declared of t must be dense, and row must have its bytes. The row stays the
// caller's; nil is no row.
func (t *Tensor) Bind(row []byte) { t.row = row }

// Row returns what Bind has bound, nil for nothing.
func (t *Tensor) Row() []byte { return t.row }

// Fill says that the row of t (Bind) holds a sample already, which t shows from then on.
// It reports false, and does nothing, where t has no row.
func (t *Tensor) Fill() bool {
	if t.row == nil {
		return false
	}
	t.data, t.written = t.row, true
	return true
}

// Take makes t show the sample of from, and from shows nothing afterwards. The Memory
// (SetMemory) of both stays as it is: whoever provides it exchanges the bytes itself.
func (t *Tensor) Take(from *Tensor) {
	home := t.home
	*t = *from
	t.home, from.data = home, nil
}

// Clear makes t an empty sample of what was declared.
func (t *Tensor) Clear() {
	t.reset()
	t.data = nil
	clear(t.dims[:])
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
