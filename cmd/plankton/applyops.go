package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// applyOps are the operators that apply knows, by DALI's names. A file of operators adds
// its own with applies.
var applyOps = map[string]applyOp{}

// applyOp adds an operator under DALI's arguments to a graph.
type applyOp func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value

// applies makes operators known.
func applies(known map[string]applyOp) struct{} {
	for name, op := range known {
		if applyOps[name] != nil {
			panic("apply has two operators " + name)
		}
		applyOps[name] = op
	}
	return struct{}{}
}

// unary is an operator of one input and one output.
func unary(op func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value) applyOp {
	return func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) != 1 {
			a.fail(fmt.Errorf("%d inputs; one is wanted", len(in)))
			return nil
		}
		return []pipeline.Value{op(g, in[0], a)}
	}
}

var _ = applies(map[string]applyOp{
	"resize": unary(applyResize),
	"crop": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		if t := a.dtype(); t != 0 {
			v = ops.Cast(g, v, t) // first, since fill_values are in the type of the output
		}
		return ops.Crop(g, v, a.crop())
	}),
	"flip": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Flip(g, v, ops.FlipOptions{Horizontal: a.value("horizontal"), Vertical: a.value("vertical")})
	}),
	"crop_mirror_normalize": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.CropMirrorNormalizeOptions{
			CropOptions: a.crop(), Mirror: a.value("mirror"), Mean: a.numbers("mean"), Std: a.numbers("std"),
			Scale: a.scale(), Shift: a.number("shift", 0), DType: a.dtype(),
			Layout: datum.Layout(a.text("output_layout")), PadOutput: a.yes("pad_output", false),
		}
		return ops.CropMirrorNormalize(g, literal(g, v, o.Std), o)
	}),
	"normalize": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.NormalizeOptions{
			AxisNames: a.text("axis_names"), Mean: a.value("mean"), StdDev: a.value("stddev"), DDoF: int(a.number("ddof", 0)),
			Epsilon: a.number("epsilon", 0), Scale: a.scale(), Shift: a.number("shift", 0), DType: a.dtype(),
		}
		a.yes("batch", false) // there is one sample
		o.Axes = a.dims("axes")
		return ops.Normalize(g, literal(g, v, a.numbers("stddev")), o)
	}),
	"cast": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Cast(g, v, a.dtype())
	}),
	"one_hot": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.OneHotOptions{
			Classes: int(a.number("num_classes", 0)), On: a.number("on_value", 1), Off: a.number("off_value", 0),
			DType: a.dtype(), IgnoreUnknown: true,
		}
		if _, given := a.values["axis"]; given { // which matters to a single label
			axis := int(a.number("axis", -1))
			if axis == -1 {
				axis = len(v.Spec().Shape)
			}
			o.Axis = &axis
		}
		if o.On == 0 && o.Off == 0 {
			a.fail(errors.New("on_value and off_value are both 0; one of them must differ"))
		}
		return ops.OneHot(g, v, o)
	}),
})

// literal returns v for an operator that divides by the given deviations. Operators refuse
// deviations below 1 for bytes where they look like a mistake, but what apply is given is
// meant: it compares calls of DALI, which takes them. As float32 bytes are what they were.
func literal(g *pipeline.Graph, v pipeline.Value, std []float64) pipeline.Value {
	if v.Spec().DType == datum.Uint8 && len(std) > 0 && slices.Max(std) < 1 {
		return ops.Cast(g, v, datum.Float32)
	}
	return v
}

func applyResize(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
	interp := map[string]ops.Interp{
		"": ops.InterpDefault, "INTERP_NN": ops.Nearest, "INTERP_LINEAR": ops.Linear, "INTERP_TRIANGULAR": ops.Triangular,
		"INTERP_CUBIC": ops.Cubic, "INTERP_LANCZOS3": ops.Lanczos3, "INTERP_GAUSSIAN": ops.Gaussian,
	}
	o := ops.ResizeOptions{
		Height: a.number("resize_y", 0), Width: a.number("resize_x", 0),
		Shorter: a.number("resize_shorter", 0), Longer: a.number("resize_longer", 0),
		Mode: oneOf(a, "mode", map[string]ops.ResizeMode{
			"": ops.ModeDefault, "default": ops.ModeDefault, "stretch": ops.Stretch, "not_larger": ops.NotLarger, "not_smaller": ops.NotSmaller,
		}),
		Interp: oneOf(a, "interp_type", interp), Min: oneOf(a, "min_filter", interp), Mag: oneOf(a, "mag_filter", interp),
		NoAntialias: !a.yes("antialias", true), WholePixels: !a.yes("subpixel_scale", true), DType: a.dtype(),
		ROIRelative: a.yes("roi_relative", false),
	}
	a.pair("size", &o.Height, &o.Width)
	a.pair("max_size", &o.MaxHeight, &o.MaxWidth)
	a.pair("roi_start", &o.ROIStart[0], &o.ROIStart[1])
	a.pair("roi_end", &o.ROIEnd[0], &o.ROIEnd[1])
	whole := [2][2]float64{o.ROIStart, o.ROIEnd} == [2][2]float64{}
	if whole && a.values["size"] != nil && o.Height == 0 && o.Width == 0 && o.Shorter == 0 && o.Longer == 0 {
		// DALI keeps a picture whose wanted size is zeros; ops.Resize takes it if a region
		// is given, which is all of the picture then.
		o.ROIEnd, o.ROIRelative = [2]float64{1, 1}, true
	}
	return ops.Resize(g, v, o)
}
