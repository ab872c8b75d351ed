package imaging

import (
	"math"
	"unsafe"

	"github.com/planktonml/plankton/pipeline/datum"
)

// number is every type of elements that Go can compute with.
type number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

// Cast converts the elements of src, of type from, to type to and writes them to dst, which holds as many elements
// and must not overlap src.
//
// Conversions saturate, as in DALI: a value outside the range of an integer type becomes its nearest end;
// floating-point values are rounded to the nearest integer, ties away from zero. NaN becomes 0 for the
// unsigned types up to 32 bits and the signed types up to 16 bits, and otherwise what the x86 conversion instructions
// give: the lowest int32 or int64, or 1<<63. To Bool, everything that does not round to zero is true, NaN too.
func Cast(dst []byte, to datum.DType, src []byte, from datum.DType) error {
	if to.Size() == 0 || from.Size() == 0 {
		return badArgument("cast", "no conversion from %v to %v", from, to)
	}
	if len(dst)/to.Size() != len(src)/from.Size() {
		return badArgument("cast", "%d elements of %v do not fit a destination of %d elements of %v",
			len(src)/from.Size(), from, len(dst)/to.Size(), to)
	}
	convert(dst, to, src, from)
	return nil
}

// convert is Cast without the checks.
func convert(dst []byte, to datum.DType, src []byte, from datum.DType) {
	if to == from {
		copy(dst, src)
		return
	}
	switch from {
	case datum.Bool, datum.Uint8:
		castFrom(dst, to, src)
	case datum.Int8:
		castFrom(dst, to, datum.View[int8](src))
	case datum.Uint16:
		castFrom(dst, to, datum.View[uint16](src))
	case datum.Int16:
		castFrom(dst, to, datum.View[int16](src))
	case datum.Uint32:
		castFrom(dst, to, datum.View[uint32](src))
	case datum.Int32:
		castFrom(dst, to, datum.View[int32](src))
	case datum.Uint64:
		castFrom(dst, to, datum.View[uint64](src))
	case datum.Int64:
		castFrom(dst, to, datum.View[int64](src))
	case datum.Float16:
		castHalves(dst, to, datum.View[uint16](src))
	case datum.Float32:
		castFrom(dst, to, datum.View[float32](src))
	case datum.Float64:
		castFrom(dst, to, datum.View[float64](src))
	}
}

// castHalves converts through float32, which holds every binary16 value, in pieces that stay on the stack.
func castHalves(dst []byte, to datum.DType, src []uint16) {
	var buf [256]float32
	for len(src) > 0 {
		n := min(len(src), len(buf))
		for i, h := range src[:n] {
			buf[i] = fromFloat16(h)
		}
		castFrom(dst, to, buf[:n])
		src, dst = src[n:], dst[n*to.Size():]
	}
}

// castFrom converts all of src to the front of dst.
func castFrom[S number](dst []byte, to datum.DType, src []S) {
	switch to {
	case datum.Bool:
		for i, v := range src {
			dst[i] = toBool(v)
		}
	case datum.Uint8:
		saturate(dst, src)
	case datum.Int8:
		saturate(datum.View[int8](dst), src)
	case datum.Uint16:
		saturate(datum.View[uint16](dst), src)
	case datum.Int16:
		saturate(datum.View[int16](dst), src)
	case datum.Uint32:
		saturate(datum.View[uint32](dst), src)
	case datum.Int32:
		saturate(datum.View[int32](dst), src)
	case datum.Uint64:
		saturate(datum.View[uint64](dst), src)
	case datum.Int64:
		saturate(datum.View[int64](dst), src)
	case datum.Float16:
		d := datum.View[uint16](dst)
		for i, v := range src {
			d[i] = toFloat16(float32(v))
		}
	case datum.Float32:
		d := datum.View[float32](dst)
		for i, v := range src {
			d[i] = float32(v)
		}
	case datum.Float64:
		d := datum.View[float64](dst)
		for i, v := range src {
			d[i] = float64(v)
		}
	}
}

func toBool[S number](v S) byte {
	if f := float64(v); f > -0.5 && f < 0.5 {
		return 0
	}
	return 1
}

// isFloat reports whether S is a floating-point type.
func isFloat[S number]() bool { return S(1)/2 != 0 }

// limits returns the ends of the range of an integer type.
func limits[D number]() (lo, hi D) {
	var d D
	bits := 8 * uint(unsafe.Sizeof(d))
	if d-1 > 0 {
		return 0, d - 1
	}
	lo = D(int64(-1) << (bits - 1))
	return lo, -(lo + 1)
}

// saturate converts src to the integer type D.
func saturate[D, S number](dst []D, src []S) {
	lo, hi := limits[D]()
	if isFloat[S]() {
		nan := D(0)
		if unsafe.Sizeof(nan) == 8 || lo != 0 && unsafe.Sizeof(nan) == 4 {
			nan = lo
			if lo == 0 {
				nan = hi/2 + 1
			}
		}
		for i, v := range src {
			dst[i] = roundTo(float64(v), lo, hi, nan)
		}
		return
	}
	for i, v := range src {
		switch {
		case v < 0 && lo == 0, v < 0 && int64(v) < int64(lo):
			dst[i] = lo
		case v > 0 && uint64(v) > uint64(hi):
			dst[i] = hi
		default:
			dst[i] = D(v)
		}
	}
}

// roundTo rounds f, ties away from zero, into [lo, hi].
func roundTo[D number](f float64, lo, hi, nan D) D {
	switch r := math.Round(f); {
	case f != f:
		return nan
	case r <= float64(lo):
		return lo
	case r >= float64(hi):
		return hi
	default:
		return D(r)
	}
}
