// Package arrays holds kernels for arrays of any shape: which type two types promote to,
// arithmetic and mathematical functions element by element, reductions, and subscripts.
// Elements lie in row-major order. Nothing here starts a goroutine, and what holds scratch
// memory allocates nothing once it has seen its largest array.
package arrays

import (
	"unsafe"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DType is the type of the elements of an array.
type DType = datum.DType

// MaxDims is the largest number of dimensions of an array.
const MaxDims = imaging.MaxDims

type signed interface{ int8 | int16 | int32 | int64 }
type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}
type integer interface{ signed | unsigned }
type float interface{ float32 | float64 }
type number interface{ integer | float }

// view reinterprets memory as elements of type T.
func view[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// Len returns the number of elements of a shape.
func Len(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// grow returns n bytes, aligned for every element, in the memory of b where that suffices.
func grow(b []byte, n int) []byte {
	if cap(b) >= n {
		return b[:n]
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:n]
}
