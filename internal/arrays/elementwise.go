package arrays

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ErrDivideByZero is a division of integers by zero.
var ErrDivideByZero = errors.New("integers are divided by zero; divide floating-point numbers, or exclude zeros first")

// Operand is an array that an operation reads.
type Operand struct {
	Data  []byte
	DType DType
	Shape []int
}

// Elementwise carries out operations. It holds scratch memory; each goroutine needs its own.
// The zero value is ready.
type Elementwise struct {
	cast, wide [3][]byte
	shape, tmp []int
}

// Shape returns the shape of what the operands give. It is valid until the next call.
func (e *Elementwise) Shape(operands []Operand) ([]int, error) {
	e.shape = append(e.shape[:0], operands[0].Shape...)
	for _, o := range operands[1:] {
		shape, err := Broadcast(e.tmp, e.shape, o.Shape)
		if err != nil {
			return nil, err
		}
		e.shape, e.tmp = shape, e.shape
	}
	return e.shape, nil
}

// Run writes op of the operands to dst, an array of the type of Op.Types and the shape of
// Shape, whose result it must be.
func (e *Elementwise) Run(op Op, dst []byte, shape []int, operands []Operand) error {
	var types [3]DType
	for i, o := range operands {
		types[i] = o.DType
	}
	compute, _, err := op.Types(types[:len(operands)]...)
	if err != nil || len(dst) == 0 {
		return err
	}
	if ops[op].gives == truth && len(operands) == 2 && IsInteger(compute) && (types[0] == datum.Uint64) != (types[1] == datum.Uint64) {
		return e.compareUint64(op, dst, shape, operands)
	}
	var in [3][]byte
	var step [3]int
	for i := range operands {
		in[i], step[i] = e.ready(i, operands[i], compute, shape)
	}
	switch compute {
	case datum.Bool:
		return truths(op, dst, in, step)
	case datum.Uint8:
		return integers[uint8](op, dst, in, step)
	case datum.Int8:
		return integers[int8](op, dst, in, step)
	case datum.Uint16:
		return integers[uint16](op, dst, in, step)
	case datum.Int16:
		return integers[int16](op, dst, in, step)
	case datum.Uint32:
		return integers[uint32](op, dst, in, step)
	case datum.Int32:
		return integers[int32](op, dst, in, step)
	case datum.Uint64:
		return integers[uint64](op, dst, in, step)
	case datum.Int64:
		return integers[int64](op, dst, in, step)
	case datum.Float32:
		return floats[float32](op, dst, in, step)
	case datum.Float64:
		return floats[float64](op, dst, in, step)
	case datum.Float16: // Plus
		copy(dst, in[0])
		return nil
	}
	return fmt.Errorf("nothing is computed with %v", compute)
}

// ready returns operand number i as elements of type t, and the step from one to the next:
// 0 for a single element, which is not repeated in memory.
func (e *Elementwise) ready(i int, o Operand, t DType, shape []int) (data []byte, step int) {
	data = o.Data
	switch {
	case o.DType == t, o.DType == datum.Uint64 && t == datum.Int64: // which wraps around
	default:
		e.cast[i] = grow(e.cast[i], Len(o.Shape)*t.Size())
		data = e.cast[i]
		_ = imaging.Cast(data, t, o.Data, o.DType) // both types are known
	}
	switch n := Len(o.Shape); {
	case n == 1:
		return data, 0
	case n == Len(shape):
		return data, 1
	}
	e.wide[i] = grow(e.wide[i], Len(shape)*t.Size())
	repeat(e.wide[i], data, t.Size(), o.Shape, shape)
	return e.wide[i], 1
}

// compareUint64 compares uint64 with a signed type, for which no type holds both: what is
// negative is less, and everything else fits into uint64.
func (e *Elementwise) compareUint64(op Op, dst []byte, shape []int, operands []Operand) error {
	var in [2][]byte
	var step [2]int
	for i := range operands {
		t := datum.Int64
		if operands[i].DType == datum.Uint64 || !IsSigned(operands[i].DType) {
			t = datum.Uint64
		}
		in[i], step[i] = e.ready(i, operands[i], t, shape)
	}
	a, b := view[uint64](in[0]), view[uint64](in[1])
	signed := [2]bool{IsSigned(operands[0].DType), IsSigned(operands[1].DType)}
	for i := range dst {
		x, y := a[i*step[0]], b[i*step[1]]
		switch {
		case signed[0] && int64(x) < 0:
			x, y = 0, 1
		case signed[1] && int64(y) < 0:
			x, y = 1, 0
		}
		dst[i] = bit(compare(op, x, y))
	}
	return nil
}

func bit(x bool) byte {
	if x {
		return 1
	}
	return 0
}

func compare[T number](op Op, x, y T) bool {
	switch op {
	case Eq:
		return x == y
	case Ne:
		return x != y
	case Lt:
		return x < y
	case Le:
		return x <= y
	case Gt:
		return x > y
	}
	return x >= y
}
