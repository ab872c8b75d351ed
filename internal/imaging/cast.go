package imaging

import (
	"math"
	"unsafe"
)

// Cast converts the elements of src, of type from, to type to and writes them to dst, which holds as many elements
// and must not overlap src.
//
// Conversions saturate, as in DALI: a value outside the range of an integer type becomes its nearest end;
// floating-point values are rounded to the nearest integer, ties away from zero. NaN becomes 0 for the
// unsigned types up to 32 bits and the signed types up to 16 bits, and otherwise what the x86 conversion instructions
// give: the lowest int32 or int64, or 1<<63. To Bool, everything that does not round to zero is true, NaN too.
func Cast(dst []byte, to DType, src []byte, from DType) error {
	if !to.valid() || !from.valid() {
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
func convert(dst []byte, to DType, src []byte, from DType) {
	if to == from {
		copy(dst, src)
		return
	}
	switch from {
	case Bool, Uint8:
		castFrom(dst, to, src)
	case Int8:
		castFrom(dst, to, view[int8](src))
	case Uint16:
		castFrom(dst, to, view[uint16](src))
	case Int16:
		castFrom(dst, to, view[int16](src))
	case Uint32:
		castFrom(dst, to, view[uint32](src))
	case Int32:
		castFrom(dst, to, view[int32](src))
	case Uint64:
		castFrom(dst, to, view[uint64](src))
	case Int64:
		castFrom(dst, to, view[int64](src))
	case Float16:
		castHalves(dst, to, view[uint16](src))
	case Float32:
		castFrom(dst, to, view[float32](src))
	case Float64:
		castFrom(dst, to, view[float64](src))
	}
}

// castHalves converts through float32, which holds every binary16 value, in pieces that stay on the stack.
func castHalves(dst []byte, to DType, src []uint16) {
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
func castFrom[S number](dst []byte, to DType, src []S) {
	switch to {
	case Bool:
		for i, v := range src {
			dst[i] = toBool(v)
		}
	case Uint8:
		saturate(dst, src)
	case Int8:
		saturate(view[int8](dst), src)
	case Uint16:
		saturate(view[uint16](dst), src)
	case Int16:
		saturate(view[int16](dst), src)
	case Uint32:
		saturate(view[uint32](dst), src)
	case Int32:
		saturate(view[int32](dst), src)
	case Uint64:
		saturate(view[uint64](dst), src)
	case Int64:
		saturate(view[int64](dst), src)
	case Float16:
		d := view[uint16](dst)
		for i, v := range src {
			d[i] = toFloat16(float32(v))
		}
	case Float32:
		d := view[float32](dst)
		for i, v := range src {
			d[i] = float32(v)
		}
	case Float64:
		d := view[float64](dst)
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
