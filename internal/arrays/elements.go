package arrays

import (
	"fmt"
	"math"
	"unsafe"
)

// Operands come as memory with a step: 1, or 0 for a single element that counts for all.

// both are the operations that integers and floating-point numbers share; false for another.
func both[T number](op Op, dst []T, x, y, z []T, sx, sy, sz int) bool {
	switch op {
	case Plus:
		for i := range dst {
			dst[i] = x[i*sx]
		}
	case Minus:
		for i := range dst {
			dst[i] = -x[i*sx]
		}
	case Add:
		for i := range dst {
			dst[i] = x[i*sx] + y[i*sy]
		}
	case Sub:
		for i := range dst {
			dst[i] = x[i*sx] - y[i*sy]
		}
	case Mul:
		for i := range dst {
			dst[i] = x[i*sx] * y[i*sy]
		}
	case Min: // of a NaN and a number the second one, as in DALI
		for i := range dst {
			if a, b := x[i*sx], y[i*sy]; a < b {
				dst[i] = a
			} else {
				dst[i] = b
			}
		}
	case Max:
		for i := range dst {
			if a, b := x[i*sx], y[i*sy]; a > b {
				dst[i] = a
			} else {
				dst[i] = b
			}
		}
	case Clamp:
		for i := range dst {
			dst[i] = clamp(x[i*sx], y[i*sy], z[i*sz])
		}
	default:
		return false
	}
	return true
}

func clamp[T number](x, lo, hi T) T {
	if x <= lo {
		x = lo
	}
	if x >= hi {
		x = hi
	}
	return x
}

// compared is both for comparisons.
func compared[T number](op Op, dst []byte, x, y []T, sx, sy int) bool {
	if ops[op].gives != truth {
		return false
	}
	for i := range dst {
		dst[i] = bit(compare(op, x[i*sx], y[i*sy]))
	}
	return true
}

func integers[T integer](op Op, dst []byte, in [3][]byte, step [3]int) error {
	d, x, y := view[T](dst), view[T](in[0]), view[T](in[1])
	sx, sy := step[0], step[1]
	if both(op, d, x, y, view[T](in[2]), sx, sy, step[2]) || compared(op, dst, x, y, sx, sy) {
		return nil
	}
	switch op {
	case Abs:
		for i := range d {
			d[i] = x[i*sx]
			if d[i] < 0 {
				d[i] = -d[i]
			}
		}
	case Not:
		for i := range d {
			d[i] = ^x[i*sx]
		}
	case FloorDiv:
		for i := range d {
			if y[i*sy] == 0 {
				return ErrDivideByZero
			}
			d[i] = x[i*sx] / y[i*sy]
		}
	case Mod:
		for i := range d {
			if y[i*sy] == 0 {
				return ErrDivideByZero
			}
			d[i] = x[i*sx] % y[i*sy]
		}
	case Pow:
		for i := range d {
			d[i] = power(x[i*sx], y[i*sy])
		}
	case And:
		for i := range d {
			d[i] = x[i*sx] & y[i*sy]
		}
	case Or:
		for i := range d {
			d[i] = x[i*sx] | y[i*sy]
		}
	case Xor:
		for i := range d {
			d[i] = x[i*sx] ^ y[i*sy]
		}
	case Shl:
		for i := range d {
			d[i] = x[i*sx] << shift(y[i*sy])
		}
	case Shr:
		for i := range d {
			d[i] = x[i*sx] >> shift(y[i*sy])
		}
	default:
		return fmt.Errorf("%s of integers", op)
	}
	return nil
}

// shift returns by how many bits x86 shifts an element: C widens small types to 32 bits.
func shift[T integer](by T) uint {
	if unsafe.Sizeof(by) == 8 {
		return uint(by) & 63
	}
	return uint(by) & 31
}

// power returns x to the power of n, 0 for a negative one.
func power[T integer](x, n T) T {
	if n < 0 {
		return 0
	}
	r := T(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r *= x
		}
		x *= x
	}
	return r
}

// truths are the operations on bools alone.
func truths(op Op, dst []byte, in [3][]byte, step [3]int) error {
	if compared(op, dst, in[0], in[1], step[0], step[1]) {
		return nil
	}
	for i := range dst {
		x := in[0][i*step[0]] != 0
		var y bool
		if in[1] != nil {
			y = in[1][i*step[1]] != 0
		}
		switch op {
		case Plus:
		case Not:
			x = !x
		case And, Shr:
			x = x && (y == (op == And)) // a bit that is shifted out is gone
		case Or:
			x = x || y
		case Xor:
			x = x != y
		case Shl: // a bit that was shifted still counts
		default:
			return fmt.Errorf("%s of bool", op)
		}
		dst[i] = bit(x)
	}
	return nil
}

func floats[T float](op Op, dst []byte, in [3][]byte, step [3]int) error {
	d, x, y := view[T](dst), view[T](in[0]), view[T](in[1])
	sx, sy := step[0], step[1]
	if both(op, d, x, y, view[T](in[2]), sx, sy, step[2]) || compared(op, dst, x, y, sx, sy) {
		return nil
	}
	switch op {
	case Div, FloorDiv:
		for i := range d {
			d[i] = x[i*sx] / y[i*sy]
		}
		return nil
	}
	if f := functions[op]; f != nil {
		for i := range d {
			d[i] = T(f(float64(x[i*sx])))
		}
		return nil
	}
	f := functions2[op]
	if f == nil {
		return fmt.Errorf("%s of floating-point numbers", op)
	}
	for i := range d {
		d[i] = T(f(float64(x[i*sx]), float64(y[i*sy])))
	}
	return nil
}

// functions are computed in float64 and rounded once.
var functions = [lastOp]func(float64) float64{
	Abs: math.Abs, Fabs: math.Abs, Sqrt: math.Sqrt, Cbrt: math.Cbrt, Exp: math.Exp, Log: math.Log, Log2: math.Log2, Log10: math.Log10,
	Floor: math.Floor, Ceil: math.Ceil, Sin: math.Sin, Cos: math.Cos, Tan: math.Tan, Asin: math.Asin, Acos: math.Acos, Atan: math.Atan,
	Sinh: math.Sinh, Cosh: math.Cosh, Tanh: math.Tanh, Asinh: math.Asinh, Acosh: math.Acosh, Atanh: math.Atanh,
	Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
}

var functions2 = [lastOp]func(x, y float64) float64{Mod: math.Mod, Pow: math.Pow, Fpow: math.Pow, Atan2: math.Atan2}
