package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// BrightnessContrastOptions configures BrightnessContrast. All but DType are numbers per
// sample.
type BrightnessContrastOptions struct {
	Brightness      pipeline.Value // factor; default 1
	BrightnessShift pipeline.Value // added, as a share of the output type's range; default 0
	Contrast        pipeline.Value // factor of the distance from ContrastCenter; default 1
	ContrastCenter  pipeline.Value // what no contrast changes; default the middle of the input type's range
	DType           datum.DType    // default that of the input
}

// BrightnessOptions configures Brightness.
type BrightnessOptions struct {
	Brightness      pipeline.Value // factor; default 1
	BrightnessShift pipeline.Value // added, as a share of the output type's range; default 0
	DType           datum.DType    // default that of the input
}

// ContrastOptions configures Contrast.
type ContrastOptions struct {
	Contrast       pipeline.Value // factor of the distance from ContrastCenter; default 1
	ContrastCenter pipeline.Value // what no contrast changes; default the middle of the input type's range
	DType          datum.DType    // default that of the input
}

// BrightnessContrast changes how bright a picture is and how far its levels lie apart:
//
//	BrightnessShift · range + Brightness · (ContrastCenter + Contrast · (x − ContrastCenter))
//
// The range of an integer type is its largest value, that of others 1; the middle of an
// integer type is half of what it has of positive values (128 for uint8), that of others
// 0.5. Integers are rounded and saturate. A picture H×W×C, a sequence or a volume keeps its
// shape. A number that is not finite is the sample's error.
func BrightnessContrast(g *pipeline.Graph, v pipeline.Value, o BrightnessContrastOptions) pipeline.Value {
	return addBrightness(g, "brightness_contrast", v, o)
}

// Brightness is BrightnessContrast without a change of contrast.
func Brightness(g *pipeline.Graph, v pipeline.Value, o BrightnessOptions) pipeline.Value {
	return addBrightness(g, "brightness", v, BrightnessContrastOptions{Brightness: o.Brightness, BrightnessShift: o.BrightnessShift, DType: o.DType})
}

// Contrast is BrightnessContrast without a change of brightness.
func Contrast(g *pipeline.Graph, v pipeline.Value, o ContrastOptions) pipeline.Value {
	return addBrightness(g, "contrast", v, BrightnessContrastOptions{Contrast: o.Contrast, ContrastCenter: o.ContrastCenter, DType: o.DType})
}

func addBrightness(g *pipeline.Graph, name string, v pipeline.Value, o BrightnessContrastOptions) pipeline.Value {
	spec := channelsLast(g, name, v, 0)
	spec.DType = wanted(g, name, o.DType, spec)
	a := newArgs(g, name, v)
	k := brightness{
		brightness: a.number("Brightness", o.Brightness, 1), shift: a.number("BrightnessShift", o.BrightnessShift, 0),
		contrast: a.number("Contrast", o.Contrast, 1), centre: a.number("ContrastCenter", o.ContrastCenter, 0),
		to: o.DType,
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

type brightness struct {
	brightness, shift, contrast, centre arg
	to                                  datum.DType
}

func (k *brightness) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	from := in[0].DType()
	to := k.to
	if to == 0 {
		to = from
	}
	factor, err := k.brightness.finite("Brightness", in)
	if err != nil {
		return err
	}
	shift, err := k.shift.finite("BrightnessShift", in)
	if err != nil {
		return err
	}
	contrast, err := k.contrast.finite("Contrast", in)
	if err != nil {
		return err
	}
	centre := float32(imaging.HalfRange(from))
	if k.centre.at != 0 {
		if centre, err = k.centre.finite("ContrastCenter", in); err != nil {
			return err
		}
	}
	dst, err := output(out[0], in[0], to)
	if err != nil {
		return err
	}
	addend := float32(shift*float32(imaging.FullRange(to))) + float32(factor*(centre-float32(contrast*centre)))
	return plain(imaging.MultiplyAdd(dst, to, in[0].Bytes(), from, factor*contrast, addend))
}
