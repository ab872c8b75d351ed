package main

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// decode returns the arguments that decoders share.
func (a *applyArgs) decode() ops.DecodeOptions {
	o := ops.DecodeOptions{Type: oneOf(a, "output_type", map[string]ops.ColorType{
		"": ops.RGB, "RGB": ops.RGB, "GRAY": ops.Gray, "BGR": ops.BGR, "YCbCr": ops.YCbCr, "ANY_DATA": ops.Any,
	})}
	o.IgnoreOrientation = !a.yes("adjust_orientation", true)
	if !a.yes("jpeg_fancy_upsampling", true) {
		a.fail(fmt.Errorf("jpeg_fancy_upsampling=False is not possible: decoding is exact"))
	}
	a.yes("use_fast_idct", false) // which DALI says to change little; decoding is exact
	return o
}

// slice returns the arguments that say which region is decoded.
func (a *applyArgs) slice(in []pipeline.Value) (o ops.DecodeSliceOptions) {
	o.DecodeOptions = a.decode()
	o.Axes = a.dims("axes")
	if names := a.text("axis_names"); names != "" {
		o.Axes = nil
		for _, c := range names {
			axis, ok := map[rune]int{'H': 0, 'W': 1}[c]
			if !ok {
				a.fail(fmt.Errorf("axis_names holds %q; H and W are possible", c))
			}
			o.Axes = append(o.Axes, axis)
		}
	}
	o.Start, o.RelStart = a.list("start"), a.list("rel_start")
	o.End, o.RelEnd = a.list("end"), a.list("rel_end")
	o.Shape, o.RelShape = a.list("shape"), a.list("rel_shape")
	normalized := [2]bool{a.yes("normalized_anchor", true), a.yes("normalized_shape", true)}
	if len(in) != 3 {
		return o
	}
	for i, to := range [2][2]*pipeline.Value{{&o.Start, &o.RelStart}, {&o.Shape, &o.RelShape}} {
		t := in[i+1].Spec().DType
		if normalized[i] && (t == datum.Float32 || t == datum.Float64) {
			*to[1] = in[i+1]
		} else {
			*to[0] = in[i+1]
		}
	}
	return o
}

var _ = applies(map[string]applyOp{
	"decoders.image": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.DecodeImage(g, v, a.decode())
	}),
	"decoders.image_crop": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.DecodeCrop(g, v, ops.DecodeCropOptions{DecodeOptions: a.decode(), CropOptions: a.crop()})
	}),
	"decoders.image_slice": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) != 1 && len(in) != 3 {
			a.fail(fmt.Errorf("%d inputs; data, or data, anchor and shape are wanted", len(in)))
			return nil
		}
		return []pipeline.Value{ops.DecodeSlice(g, in[0], a.slice(in))}
	},
	"decoders.image_random_crop": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.RandomCropOptions{DecodeOptions: a.decode(), Attempts: int(a.number("num_attempts", 10))}
		for i, x := range a.numbers("random_area") {
			o.Area[min(i, 1)] = x
		}
		for i, x := range a.numbers("random_aspect_ratio") {
			o.Aspect[min(i, 1)] = x
		}
		return ops.DecodeRandomCrop(g, v, o)
	}),
	"peek_image_shape": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.PeekImageShape(g, v, ops.PeekImageShapeOptions{
			Type: oneOf(a, "image_type", map[string]ops.ColorType{
				"": ops.RGB, "RGB": ops.RGB, "GRAY": ops.Gray, "BGR": ops.BGR, "YCbCr": ops.YCbCr, "ANY_DATA": ops.Any,
			}),
			IgnoreOrientation: !a.yes("adjust_orientation", true), DType: a.dtype(),
		})
	}),
})
