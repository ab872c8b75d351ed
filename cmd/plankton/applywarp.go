package main

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// list returns an argument of several numbers, also of lists of lists, that operators take
// per sample.
func (a *applyArgs) list(name string) pipeline.Value {
	var flat []any
	var add func(x any)
	add = func(x any) {
		if xs, ok := x.([]any); ok {
			for _, x := range xs {
				add(x)
			}
			return
		}
		flat = append(flat, x)
	}
	if x := a.get(name); x != nil {
		add(x)
	}
	if len(flat) == 0 {
		return pipeline.Value{}
	}
	numbers := applyArgs{values: map[string]any{name: flat}}
	xs := numbers.numbers(name)
	if numbers.first != nil {
		a.fail(numbers.first)
		return pipeline.Value{}
	}
	return ops.Constant(a.g, xs...)
}

// outputType returns the argument dtype, or output_dtype as it was called before.
func (a *applyArgs) outputType() datum.DType {
	if _, old := a.values["output_dtype"]; old && a.values["dtype"] == nil {
		return a.typeOf("output_dtype")
	}
	return a.dtype()
}

// nearOrLinear are the filters of the operators that warp.
var nearOrLinear = map[string]ops.Interp{"": ops.InterpDefault, "INTERP_NN": ops.Nearest, "INTERP_LINEAR": ops.Linear}

// input is the transform that operators on transforms take.
func (a *applyArgs) input(in []pipeline.Value) ops.MatrixInput {
	o := ops.MatrixInput{Reverse: a.yes("reverse_order", false)}
	if len(in) > 0 {
		o.Input = in[0]
	}
	return o
}

// transform is an operator that makes a transform, of none or one input.
func transform(op func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value) applyOp {
	return func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		return []pipeline.Value{op(g, a.input(in), a)}
	}
}

var _ = applies(map[string]applyOp{
	"rotate": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Rotate(g, v, ops.RotateOptions{
			Angle: a.value("angle"), KeepSize: a.yes("keep_size", false), Size: a.list("size"),
			Interp: oneOf(a, "interp_type", nearOrLinear), Fill: a.value("fill_value"), DType: a.outputType(),
		})
	}),
	"warp_affine": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		o := ops.WarpAffineOptions{
			Matrix: a.list("matrix"), Forward: !a.yes("inverse_map", true), Size: a.list("size"),
			Interp: oneOf(a, "interp_type", nearOrLinear), Fill: a.value("fill_value"), DType: a.outputType(),
		}
		if len(in) == 2 {
			o.Matrix = in[1]
		}
		return []pipeline.Value{ops.WarpAffine(g, in[0], o)}
	},
	"transforms.translation": transform(func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value {
		return ops.TranslationMatrix(g, ops.TranslationMatrixOptions{MatrixInput: in, Offset: a.list("offset")})
	}),
	"transforms.scale": transform(func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value {
		return ops.ScaleMatrix(g, ops.ScaleMatrixOptions{MatrixInput: in, Scale: a.list("scale"), Center: a.list("center"), NDim: int(a.number("ndim", 0))})
	}),
	"transforms.rotation": transform(func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value {
		return ops.RotationMatrix(g, ops.RotationMatrixOptions{MatrixInput: in, Angle: a.list("angle"), Axis: a.list("axis"), Center: a.list("center")})
	}),
	"transforms.shear": transform(func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value {
		return ops.ShearMatrix(g, ops.ShearMatrixOptions{MatrixInput: in, Shear: a.list("shear"), Angles: a.list("angles"), Center: a.list("center")})
	}),
	"transforms.crop": transform(func(g *pipeline.Graph, in ops.MatrixInput, a *applyArgs) pipeline.Value {
		return ops.CropMatrix(g, ops.CropMatrixOptions{
			MatrixInput: in, FromStart: a.list("from_start"), FromEnd: a.list("from_end"), ToStart: a.list("to_start"), ToEnd: a.list("to_end"),
			Absolute: a.yes("absolute", false),
		})
	}),
	"transforms.combine": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		return []pipeline.Value{ops.CombineMatrices(g, a.yes("reverse_order", false), in...)}
	},
})
