package main

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
)

func applyErase(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
	both := a.yes("normalized", false)
	o := ops.EraseOptions{
		Anchor: a.list("anchor"), Shape: a.list("shape"), AxisNames: a.text("axis_names"), Axes: a.dims("axes"), Fill: a.list("fill_value"),
		NormalizedAnchor: a.yes("normalized_anchor", both), NormalizedShape: a.yes("normalized_shape", both),
		CenteredAnchor: a.yes("centered_anchor", false),
	}
	if o.AxisNames != "" {
		o.Axes = nil // names go first
	}
	return ops.Erase(g, v, o)
}

func applyFilter(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
	if len(in) != 2 && len(in) != 3 {
		a.fail(fmt.Errorf("%d inputs; data, filter and perhaps fill_value are wanted", len(in)))
		return nil
	}
	o := ops.FilterOptions{
		Filter: in[1], Anchor: a.list("anchor"), DType: a.dtype(),
		Border: oneOf(a, "border", map[string]ops.Border{
			"": ops.BorderReflect101, "reflect_101": ops.BorderReflect101, "101": ops.BorderReflect101,
			"reflect_1001": ops.BorderReflect1001, "1001": ops.BorderReflect1001, "wrap": ops.BorderWrap,
			"clamp": ops.BorderClamp, "edge": ops.BorderClamp, "constant": ops.BorderFill, "fill": ops.BorderFill,
		}),
		Valid: oneOf(a, "mode", map[string]bool{"": false, "same": false, "valid": true}),
	}
	if len(in) == 3 {
		o.Fill = in[2]
	}
	return []pipeline.Value{ops.Filter(g, in[0], o)}
}

func applyMultiPaste(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
	return []pipeline.Value{ops.MultiPaste(g, in, ops.MultiPasteOptions{
		InIDs: a.list("in_ids"), InAnchors: a.list("in_anchors"), InAnchorsRel: a.list("in_anchors_rel"),
		Shapes: a.list("shapes"), ShapesRel: a.list("shapes_rel"),
		OutAnchors: a.list("out_anchors"), OutAnchorsRel: a.list("out_anchors_rel"), OutputSize: a.list("output_size"), DType: a.dtype(),
	})}
}

var _ = applies(map[string]applyOp{
	"gaussian_blur": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.GaussianBlur(g, v, ops.GaussianBlurOptions{Sigma: a.list("sigma"), WindowSize: a.list("window_size"), DType: a.dtype()})
	}),
	"laplacian": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Laplacian(g, v, ops.LaplacianOptions{
			WindowSize: a.list("window_size"), SmoothingSize: a.list("smoothing_size"), Scale: a.numbers("scale"),
			Normalized: a.yes("normalized_kernel", false), DType: a.dtype(),
		})
	}),
	"filter":              applyFilter,
	"experimental.filter": applyFilter,
	"erase":               unary(applyErase),
	"pad": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Pad(g, v, ops.PadOptions{
			AxisNames: a.text("axis_names"), Axes: a.dims("axes"), Shape: a.list("shape"), Align: a.list("align"), Fill: a.value("fill_value"),
		})
	}),
	"paste": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		if n := a.number("n_channels", 3); float64(v.Spec().Shape[2]) != n {
			a.fail(fmt.Errorf("n_channels is %g; the input is %s", n, v.Spec()))
		}
		return ops.Paste(g, v, ops.PasteOptions{
			Ratio: a.value("ratio"), MinCanvasSize: a.value("min_canvas_size"), X: a.value("paste_x"), Y: a.value("paste_y"), Fill: a.list("fill_value"),
		})
	}),
	"multi_paste": applyMultiPaste,
	"grid_mask": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.GridMask(g, v, ops.GridMaskOptions{
			Tile: a.value("tile"), Ratio: a.value("ratio"), Angle: a.value("angle"), ShiftX: a.value("shift_x"), ShiftY: a.value("shift_y"),
		})
	}),
	"water": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Water(g, v, ops.WaterOptions{
			AmplitudeX: a.value("ampl_x"), AmplitudeY: a.value("ampl_y"), FrequencyX: a.value("freq_x"), FrequencyY: a.value("freq_y"),
			PhaseX: a.value("phase_x"), PhaseY: a.value("phase_y"),
			Interp: oneOf(a, "interp_type", nearOrLinear), Fill: a.value("fill_value"), Mask: a.value("mask"),
		})
	}),
	"sphere": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Sphere(g, v, ops.SphereOptions{Interp: oneOf(a, "interp_type", nearOrLinear), Fill: a.value("fill_value"), Mask: a.value("mask")})
	}),
	"jpeg_compression_distortion": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.JPEGCompressionDistortion(g, v, a.value("quality"))
	}),
	"lookup_table": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.LookupTable(g, v, ops.LookupTableOptions{
			Keys: a.integers("keys"), Values: a.numbers("values"), Default: a.number("default_value", 0), DType: a.outputType(),
		})
	}),
})
