package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Operators on elements compute in the type that their operands promote to, as NVIDIA DALI's:
// the larger of two signed, unsigned or floating-point types, the floating-point one beside an
// integer, and a signed one for a signed and an unsigned one. Integers wrap around. Arrays of
// different shapes are repeated where an extent is 1 or missing, under NumPy's rules. Layouts
// must agree where both have one.

// Add is a + b.
func Add(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Add, a, b) }

// Sub is a − b.
func Sub(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Sub, a, b) }

// Mul is a · b.
func Mul(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Mul, a, b) }

// Div is a / b in floating point, float32 for integers.
func Div(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Div, a, b) }

// FloorDiv is a / b in the promoted type: of integers without its fraction, towards zero, as
// DALI's // and Go's / are. A zero among the divisors is the sample's error.
func FloorDiv(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.FloorDiv, a, b)
}

// Mod is what FloorDiv leaves, with the sign of a.
func Mod(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Mod, a, b) }

// Pow is a to the power of b in the promoted type. Of integers, negative powers are 0.
func Pow(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Pow, a, b) }

// FPow is a to the power of b in floating point, float32 for integers.
func FPow(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Fpow, a, b)
}

// Atan2 is the angle of the point (b, a), −π … π.
func Atan2(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Atan2, a, b)
}

// Min is the smaller one of a and b.
func Min(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Min, a, b) }

// Max is the larger one of a and b.
func Max(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Max, a, b) }

// Clamp is x, but lo at least and hi at most.
func Clamp(g *pipeline.Graph, x, lo, hi pipeline.Value) pipeline.Value {
	return compute(g, arrays.Clamp, x, lo, hi)
}

// Neg is −x.
func Neg(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Minus, x) }

// Abs is x without its sign, in the type of x.
func Abs(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Abs, x) }

// Not turns every bit around, or a truth value.
func Not(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Not, x) }

// And has the bits that both a and b have.
func And(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.And, a, b) }

// Or has the bits that a or b has.
func Or(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Or, a, b) }

// Xor has the bits in which a and b differ.
func Xor(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Xor, a, b) }

// ShiftLeft is a · 2ᵇ, b counting modulo 32, or 64 for types of 64 bits.
func ShiftLeft(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Shl, a, b)
}

// ShiftRight is a / 2ᵇ, rounded down, b counting as for ShiftLeft.
func ShiftRight(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Shr, a, b)
}

// Equal is true where a = b; it and the other comparisons give bool. Integers of different
// signedness are compared by value.
func Equal(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Eq, a, b) }

// NotEqual is true where a ≠ b.
func NotEqual(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Ne, a, b)
}

// Less is true where a < b.
func Less(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value { return compute(g, arrays.Lt, a, b) }

// LessEqual is true where a ≤ b.
func LessEqual(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Le, a, b)
}

// Greater is true where a > b.
func Greater(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Gt, a, b)
}

// GreaterEqual is true where a ≥ b.
func GreaterEqual(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value {
	return compute(g, arrays.Ge, a, b)
}

// compute adds an operation on elements.
func compute(g *pipeline.Graph, op arrays.Op, operands ...pipeline.Value) pipeline.Value {
	name := op.String()
	types := make([]arrays.DType, len(operands))
	for i, v := range operands {
		given(g, name, v)
		types[i] = v.Spec().DType
		if g.Err() == nil && types[i] == 0 {
			g.Fail(name, errors.New("the type of an operand is known only at run time; put a Cast behind what makes it"))
		}
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	_, result, err := op.Types(types...)
	g.Fail(name, err)
	spec := datum.Spec{DType: datum.DType(result), Shape: operands[0].Spec().Shape}
	for _, v := range operands[1:] {
		shape, err := arrays.Broadcast(nil, spec.Shape, v.Spec().Shape)
		g.Fail(name, err)
		spec.Shape = shape
	}
	spec.Layout, err = commonLayout(operands, len(spec.Shape))
	g.Fail(name, err)
	return one(g, pipeline.Op{
		Name: name, Inputs: operands, Outputs: []datum.Spec{spec}, Config: name,
		New: func() (datum.Kernel, error) { return &elementwise{op: op, layout: spec.Layout}, nil },
	})
}

// commonLayout returns the layout of a result of so many dimensions: that of the operands that
// have as many. One of fewer dimensions must name the last ones.
func commonLayout(operands []pipeline.Value, ndim int) (layout datum.Layout, err error) {
	for _, v := range operands {
		if l := v.Spec().Layout; len(l) == ndim && layout == "" {
			layout = l
		}
	}
	for _, v := range operands {
		l := v.Spec().Layout
		if len(l) > 0 && len(layout) > 0 && string(l) != string(layout[max(0, ndim-len(l)):]) {
			return "", fmt.Errorf("the layouts %q and %q differ; transpose one of them, or remove its layout with Reshape", layout, l)
		}
	}
	return layout, nil
}

type elementwise struct {
	op       arrays.Op
	layout   datum.Layout
	operands []arrays.Operand
	shape    [1]int // of all rows
	work     arrays.Elementwise
}

func (k *elementwise) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	k.operands = k.operands[:0]
	for _, t := range in {
		k.operands = append(k.operands, operand(t))
	}
	shape, err := k.work.Shape(k.operands)
	if err != nil {
		return err
	}
	dst, err := out[0].Resize(shape...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	return k.work.Run(k.op, dst, shape, k.operands)
}

// RunRows implements datum.RowsKernel.
func (k *elementwise) RunRows(n int, in, out []datum.Rows) bool {
	shape := out[0].Spec.Shape
	flat := true // no operand is repeated, so that elements lie one behind the other, whosever they are
	k.operands = k.operands[:0]
	for _, r := range in {
		flat = flat && slices.Equal(r.Spec.Shape, shape)
		k.operands = append(k.operands, arrays.Operand{Data: r.Data, DType: r.Spec.DType, Shape: r.Spec.Shape})
	}
	if flat {
		k.shape[0] = n * arrays.Len(shape)
		for i := range k.operands {
			k.operands[i].Shape = k.shape[:]
		}
		return k.work.Run(k.op, out[0].Data, k.shape[:], k.operands) == nil
	}
	for row := range n {
		for i, r := range in {
			k.operands[i].Data = rowOf(r.Data, n, row)
		}
		if k.work.Run(k.op, rowOf(out[0].Data, n, row), shape, k.operands) != nil {
			return false
		}
	}
	return true
}

func operand(t *datum.Tensor) arrays.Operand {
	return arrays.Operand{Data: t.Bytes(), DType: t.DType(), Shape: t.Shape()}
}
