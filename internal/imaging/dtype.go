package imaging

import (
	"fmt"
	"unsafe"
)

// DType is the type of the elements of an array.
type DType uint8

// The element types, named after what Go calls them. The zero DType is invalid.
const (
	Uint8 DType = iota + 1
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Uint64
	Int64
	Float16 // IEEE 754 binary16
	Float32
	Float64
	Bool // one byte, 0 or 1
)

var dtypes = [...]struct {
	name string
	size int
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4}, Uint64: {"uint64", 8}, Int64: {"int64", 8},
	Float16: {"float16", 2}, Float32: {"float32", 4}, Float64: {"float64", 8}, Bool: {"bool", 1},
}

func (t DType) valid() bool { return t > 0 && int(t) < len(dtypes) }

// String returns the name of t, as in "float32".
func (t DType) String() string {
	if !t.valid() {
		return fmt.Sprintf("DType(%d)", uint8(t))
	}
	return dtypes[t].name
}

// Size returns the bytes of one element, 0 for an invalid type.
func (t DType) Size() int {
	if !t.valid() {
		return 0
	}
	return dtypes[t].size
}

// number is every element type that Go can compute with.
type number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

// view reinterprets b as elements of type T. The length of b must be a multiple of the size of T, and b must be
// aligned for T where the processor asks for it.
func view[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// bytesOf returns the memory of v.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}

// ArgumentError reports an argument that an operator cannot work with.
type ArgumentError struct {
	Op   string // name of the operator, as in "crop"
	What string // what was given, what was expected and what to do
}

// Error implements error.
func (e *ArgumentError) Error() string { return e.Op + ": " + e.What }

func badArgument(op, format string, args ...any) error {
	return &ArgumentError{Op: op, What: fmt.Sprintf(format, args...)}
}
