package metamorphic

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// array adds an operator on arrays, of a value of any type and shape.
func (b *builder) array() {
	v := b.any()
	if t := v.Spec().DType; t != datum.Uint8 && t != datum.Int32 && t != datum.Int64 && t != datum.Float32 {
		v = ops.Cast(b.g, v, datum.Int32) // truth values, mostly
	}
	if len(v.Spec().Shape) >= 4 || b.d.oneIn(8) { // stacks of stacks would have too many dimensions
		v = ops.Reshape(b.g, v, ops.ReshapeOptions{Shape: ops.Constants(b.g, datum.Int32, -1), NoLayout: true})
	}
	made := []pipeline.Value{choose(b.d, onAny).do(b, v)}
	if len(v.Spec().Shape) > 0 && b.d.oneIn(2) {
		made = append(made, choose(b.d, onDimensions).do(b, v))
	}
	b.values = append(b.values, made...)
}

func (b *builder) uniform(lo, hi float64) pipeline.Value { return ops.Uniform(b.g, lo, hi) }

// constant is a number of a random type, which decides what arithmetic promotes to.
func (b *builder) constant(n int) pipeline.Value {
	return ops.Constants(b.g, pick(b.d, datum.Uint8, datum.Int32, datum.Float32), float64(n))
}

// onAny are operators on arrays of any shape, onDimensions on those that have dimensions.
var onAny, onDimensions []weighted[func(b *builder, v pipeline.Value) pipeline.Value]

func init() {
	onAny = []weighted[func(b *builder, v pipeline.Value) pipeline.Value]{
		{"add", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Add(b.g, v, b.constant(3)) }},
		{"multiply", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Mul(b.g, v, b.uniform(-2, 2)) }},
		{"divide", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.FloorDiv(b.g, v, b.constant(7)) }},
		{"clamp", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Clamp(b.g, v, b.constant(5), b.constant(90))
		}},
		{"compare", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Less(b.g, v, b.uniform(0, 200)) }},
		{"root", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Sqrt(b.g, ops.FAbs(b.g, v)) }},
		{"sum", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.ReduceSum(b.g, v, ops.ReduceOptions{KeepDims: b.d.oneIn(2)})
		}},
		{"spread", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.ReduceStdDev(b.g, v, ops.ReduceOptions{})
		}},
		{"transpose", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Transpose(b.g, v, ops.TransposeOptions{})
		}},
		{"expand, squeeze", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			v = ops.ExpandDims(b.g, v, []int{0}, "")
			if b.d.oneIn(2) {
				v = ops.Squeeze(b.g, v, []int{0}, "")
			}
			return v
		}},
		{"stack", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Stack(b.g, 0, "", v, v) }},
		{"cast like", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.CastLike(b.g, v, b.constant(0)) }},
		{"normal", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Normal(b.g, ops.NormalOptions{DrawOptions: ops.DrawOptions{Like: v}, Mean: b.uniform(-9, 9)})
		}},
		{"beta", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Beta(b.g, ops.BetaOptions{DrawOptions: ops.DrawOptions{Like: v}, Alpha: b.uniform(0.1, 3)})
		}},
		{"window", 1, func(b *builder, _ pipeline.Value) pipeline.Value {
			anchor, extents := ops.RandomWindow(b.g, ops.Constant(b.g, 30, 40), ops.RandomWindowOptions{})
			return ops.Cat(b.g, 0, anchor, extents)
		}},
	}
	onDimensions = []weighted[func(b *builder, v pipeline.Value) pipeline.Value]{
		{"slice", 2, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Slice(b.g, v, ops.SliceOptions{
				RelStart: b.uniform(-0.5, 0.5), RelShape: b.uniform(0.1, 1), Axes: []int{0},
				Outside: pick(b.d, ops.BeyondTrim, ops.BeyondFill),
			})
		}},
		{"subscript", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Subscript(b.g, v, ops.All().Step(pick(b.d, -1, 2, -3)))
		}},
		{"cat", 1, func(b *builder, v pipeline.Value) pipeline.Value { return ops.Cat(b.g, -1, v, v) }},
		{"pad", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Pad(b.g, v, ops.PadOptions{Axes: []int{0}, Shape: ops.Constant(b.g, 12), Align: ops.Constant(b.g, 5), Fill: b.uniform(0, 90)})
		}},
		{"erase", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.Erase(b.g, v, ops.EraseOptions{Axes: []int{-1}, Anchor: b.uniform(-2, 9), Shape: b.uniform(0, 9)})
		}},
		{"sum of a dimension", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			return ops.ReduceSum(b.g, v, ops.ReduceOptions{Axes: []int{b.d.IntN(len(v.Spec().Shape))}})
		}},
		{"choice", 1, func(b *builder, v pipeline.Value) pipeline.Value {
			v = ops.Cat(b.g, 0, v, ops.Pad(b.g, v, ops.PadOptions{Axes: []int{0}, Shape: ops.Constant(b.g, 1)})) // one element at least
			return ops.Choice(b.g, v, ops.ChoiceOptions{Shape: []int{b.d.between(1, 5)}})
		}},
	}
}
