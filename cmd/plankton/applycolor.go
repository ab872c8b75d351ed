package main

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// colorTypes are DALI's names of colour spaces.
var colorTypes = map[string]ops.ColorType{"RGB": ops.RGB, "GRAY": ops.Gray, "BGR": ops.BGR, "YCbCr": ops.YCbCr}

// rgb takes DALI's argument image_type where it says that a picture is RGB, or BGR, which
// DALI takes for the same.
func (a *applyArgs) rgb() {
	oneOf(a, "image_type", map[string]bool{"": true, "RGB": true, "BGR": true})
}

func applyTwist(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
	a.rgb()
	return ops.ColorTwist(g, v, ops.ColorTwistOptions{
		Hue: a.value("hue"), Saturation: a.value("saturation"), Brightness: a.value("brightness"), Contrast: a.value("contrast"), DType: a.dtype(),
	})
}

var _ = applies(map[string]applyOp{
	"brightness_contrast": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.BrightnessContrast(g, v, ops.BrightnessContrastOptions{
			Brightness: a.value("brightness"), BrightnessShift: a.value("brightness_shift"),
			Contrast: a.value("contrast"), ContrastCenter: a.value("contrast_center"), DType: a.dtype(),
		})
	}),
	"brightness": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Brightness(g, v, ops.BrightnessOptions{
			Brightness: a.value("brightness"), BrightnessShift: a.value("brightness_shift"), DType: a.dtype(),
		})
	}),
	"contrast": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Contrast(g, v, ops.ContrastOptions{
			Contrast: a.value("contrast"), ContrastCenter: a.value("contrast_center"), DType: a.dtype(),
		})
	}),
	"color_twist": unary(applyTwist),
	"hsv": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.HSVOptions{Hue: a.value("hue"), Saturation: a.value("saturation"), Value: a.value("value"), DType: a.dtype()}
		if o.DType == 0 {
			o.DType = datum.Uint8 // DALI's default, whatever the input is
		}
		return ops.HSV(g, v, o)
	}),
	"hue": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		a.rgb()
		return ops.Hue(g, v, ops.HueOptions{Hue: a.value("hue"), DType: a.dtype()})
	}),
	"saturation": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		a.rgb()
		return ops.Saturation(g, v, ops.SaturationOptions{Saturation: a.value("saturation"), DType: a.dtype()})
	}),
	"color_space_conversion": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.ColorSpaceConversion(g, v, oneOf(a, "image_type", colorTypes), oneOf(a, "output_type", colorTypes))
	}),
	"equalize": unary(func(g *pipeline.Graph, v pipeline.Value, _ *applyArgs) pipeline.Value { return ops.Equalize(g, v) }),
})
