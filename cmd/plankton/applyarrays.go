package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// inputs is an operator of least to most inputs and one output.
func inputs(least, most int, op func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value) applyOp {
	return func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) < least || len(in) > most {
			a.fail(fmt.Errorf("%d inputs; %d to %d are wanted", len(in), least, most))
			return nil
		}
		return []pipeline.Value{op(g, in, a)}
	}
}

// reduction is a reduction under DALI's arguments; of those that take means they are the
// second input.
func reduction(op func(*pipeline.Graph, pipeline.Value, ops.ReduceOptions) pipeline.Value, means int) applyOp {
	return inputs(1+means, 1+means, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.ReduceOptions{Axes: a.integers("axes"), AxisNames: a.text("axis_names"), KeepDims: a.yes("keep_dims", false)}
		if means == 0 {
			o.DType = a.dtype()
		} else {
			o.Mean, o.DDoF = in[1], int(a.number("ddof", 0))
		}
		return op(g, in[0], o)
	})
}

const manyInputs = 999 // as DALI has it

var _ = applies(map[string]applyOp{
	"reductions.sum":         reduction(ops.ReduceSum, 0),
	"reductions.mean":        reduction(ops.ReduceMean, 0),
	"reductions.mean_square": reduction(ops.ReduceMeanSquare, 0),
	"reductions.rms":         reduction(ops.ReduceRMS, 0),
	"reductions.min":         reduction(ops.ReduceMin, 0),
	"reductions.max":         reduction(ops.ReduceMax, 0),
	"reductions.variance":    reduction(ops.ReduceVariance, 1),
	"reductions.std_dev":     reduction(ops.ReduceStdDev, 1),

	"slice":     inputs(1, 3, applySlice),
	"transpose": unary(applyTranspose),
	"reshape": inputs(1, 2, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Reshape(g, in[0], reshapeOptions(in, a))
	}),
	"reinterpret": inputs(1, 2, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		to := a.dtype()
		if to == 0 {
			to = in[0].Spec().DType
		}
		return ops.Reinterpret(g, in[0], to, reshapeOptions(in, a))
	}),
	"squeeze": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Squeeze(g, v, a.integers("axes"), a.text("axis_names"))
	}),
	"expand_dims": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		if a.values["axes"] == nil {
			a.fail(errors.New("axes are missing"))
		}
		return ops.ExpandDims(g, v, a.integers("axes"), a.text("new_axis_names"))
	}),
	"cat": inputs(1, manyInputs, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		axis := int(a.number("axis", 0))
		if name := a.text("axis_name"); name != "" {
			axis = -len(in[0].Spec().Shape) - 1 // which there is not
			for _, v := range in {
				for i, c := range v.Spec().Layout {
					if string(c) == name {
						axis = i
					}
				}
			}
			if a.values["axis"] != nil {
				a.fail(errors.New("give axis or axis_name, not both"))
			}
		}
		return ops.Cat(g, axis, in...)
	}),
	"stack": inputs(1, manyInputs, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Stack(g, int(a.number("axis", 0)), a.text("axis_name"), in...)
	}),
	"cast_like": inputs(2, 2, func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.CastLike(g, in[0], in[1])
	}),
})

func applySlice(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) pipeline.Value {
	o := ops.SliceOptions{
		Start: a.list("start"), RelStart: a.list("rel_start"), End: a.list("end"), RelEnd: a.list("rel_end"),
		Shape: a.list("shape"), RelShape: a.list("rel_shape"), Axes: a.integers("axes"), AxisNames: a.text("axis_names"),
		Outside: oneOf(a, "out_of_bounds_policy", map[string]ops.Beyond{
			"": ops.BeyondError, "error": ops.BeyondError, "pad": ops.BeyondFill, "constant": ops.BeyondFill, "trim_to_shape": ops.BeyondTrim,
			"edge": ops.BeyondEdge, "clamp": ops.BeyondEdge, "reflect": ops.BeyondReflect, "reflect_1001": ops.BeyondReflect,
			"reflect_101": ops.BeyondReflect101, "wrap": ops.BeyondWrap,
		}),
		Fill: a.numbers("fill_values"), DType: a.dtype(),
	}
	anchors, shapes := a.yes("normalized_anchor", true), a.yes("normalized_shape", true)
	switch {
	case len(in) == 2:
		a.fail(errors.New("an anchor without a shape; give both as inputs, or neither"))
	case len(in) == 3:
		if o.Start.Set() || o.RelStart.Set() || o.End.Set() || o.RelEnd.Set() || o.Shape.Set() || o.RelShape.Set() {
			a.fail(errors.New("anchor and shape are inputs; give no start, end or shape beside them"))
		}
		t := in[1].Spec().DType
		if in[2].Spec().DType != t {
			a.fail(fmt.Errorf("the anchor is %v and the shape %v; one type is wanted", t, in[2].Spec().DType))
		}
		relative := t == datum.Float32
		if o.Start = in[1]; relative && anchors {
			o.Start, o.RelStart = pipeline.Value{}, in[1]
		}
		if o.Shape = in[2]; relative && shapes {
			o.Shape, o.RelShape = pipeline.Value{}, in[2]
		}
	}
	v := in[0]
	switch {
	case o.AxisNames != "":
		o.Axes = nil
		v = named(g, v)
	case o.Axes == nil:
		o.Axes = []int{1, 0} // DALI's W and H
		l := string(named(g, v).Spec().Layout)
		if w, h := strings.IndexByte(l, 'W'), strings.IndexByte(l, 'H'); w >= 0 && h >= 0 {
			o.Axes = []int{w, h}
		}
	}
	return ops.Slice(g, v, o)
}

// named gives an array without a layout the one that DALI takes it to have, for operators whose
// arguments name dimensions.
func named(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	layout := map[int]datum.Layout{2: "HW", 3: "HWC", 4: "DHWC"}[len(v.Spec().Shape)]
	if v.Spec().Layout != "" || layout == "" {
		return v
	}
	return ops.Reshape(g, v, ops.ReshapeOptions{Layout: layout})
}

func applyTranspose(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
	o := ops.TransposeOptions{Perm: a.integers("perm"), KeepLayout: !a.yes("transpose_layout", true), Layout: datum.Layout(a.text("output_layout"))}
	return ops.Transpose(g, v, o)
}

func reshapeOptions(in []pipeline.Value, a *applyArgs) ops.ReshapeOptions {
	o := ops.ReshapeOptions{
		Shape: a.list("shape"), RelShape: a.list("rel_shape"), SrcDims: a.integers("src_dims"), Layout: datum.Layout(a.text("layout")),
	}
	o.NoLayout = a.values["layout"] != nil && o.Layout == ""
	if len(in) > 1 {
		if o.Shape.Set() || o.RelShape.Set() {
			a.fail(errors.New("the shape is the second input; give no shape or rel_shape beside it"))
		}
		o.Shape = in[1]
	}
	return o
}
