package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ColorTwistOptions configures ColorTwist. All but DType are numbers per sample.
type ColorTwistOptions struct {
	Hue        pipeline.Value // degrees by which colours turn around the grey axis; default 0
	Saturation pipeline.Value // factor of the distance from grey; default 1
	Brightness pipeline.Value // factor; default 1
	Contrast   pipeline.Value // factor of the distance from middle grey; default 1
	DType      datum.DType    // default that of the input
}

// HSVOptions configures HSV. All but DType are numbers per sample.
type HSVOptions struct {
	Hue        pipeline.Value // degrees by which colours turn around the grey axis; default 0
	Saturation pipeline.Value // factor of the distance from grey; default 1
	Value      pipeline.Value // factor of the brightness; default 1
	DType      datum.DType    // default that of the input
}

// HueOptions configures Hue.
type HueOptions struct {
	Hue   pipeline.Value // degrees by which colours turn around the grey axis; default 0
	DType datum.DType    // default that of the input
}

// SaturationOptions configures Saturation.
type SaturationOptions struct {
	Saturation pipeline.Value // factor of the distance from grey; default 1
	DType      datum.DType    // default that of the input
}

// ColorTwist changes hue, saturation, contrast and brightness of RGB pictures, by one
// linear transform through the YIQ space of NTSC. Middle grey is 128 for integers, 0.5 for
// others. Integers are rounded and saturate. A picture H×W×3, a sequence or a volume keeps its
// shape; another number of channels, and a number that is not finite, is the sample's error.
func ColorTwist(g *pipeline.Graph, v pipeline.Value, o ColorTwistOptions) pipeline.Value {
	return addTwist(g, "color_twist", v, o)
}

// HSV is ColorTwist with Value in the place of Brightness and without a change of
// contrast: the model is linear, not that of a cone.
func HSV(g *pipeline.Graph, v pipeline.Value, o HSVOptions) pipeline.Value {
	return addTwist(g, "hsv", v, ColorTwistOptions{Hue: o.Hue, Saturation: o.Saturation, Brightness: o.Value, DType: o.DType})
}

// Hue is ColorTwist with a change of hue alone.
func Hue(g *pipeline.Graph, v pipeline.Value, o HueOptions) pipeline.Value {
	return addTwist(g, "hue", v, ColorTwistOptions{Hue: o.Hue, DType: o.DType})
}

// Saturation is ColorTwist with a change of saturation alone.
func Saturation(g *pipeline.Graph, v pipeline.Value, o SaturationOptions) pipeline.Value {
	return addTwist(g, "saturation", v, ColorTwistOptions{Saturation: o.Saturation, DType: o.DType})
}

func addTwist(g *pipeline.Graph, name string, v pipeline.Value, o ColorTwistOptions) pipeline.Value {
	spec := channelsLast(g, name, v, 3)
	spec.DType = wanted(g, name, o.DType, spec)
	a := newArgs(g, name, v)
	k := twist{
		hue: a.number("Hue", o.Hue, 0), saturation: a.number("Saturation", o.Saturation, 1),
		brightness: a.number("Brightness", o.Brightness, 1), contrast: a.number("Contrast", o.Contrast, 1), to: o.DType,
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
		Detail: k,
	})
}

type twist struct {
	hue, saturation, brightness, contrast arg
	to                                    datum.DType
}

func (k *twist) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	if c := channelsOf(in[0]); c != 3 {
		return fmt.Errorf("the picture has %d channels; 3 are wanted", c)
	}
	m, err := k.matrix(in)
	if err != nil {
		return err
	}
	dst, err := output(out[0], in[0], k.to)
	if err != nil {
		return err
	}
	return plain(m.Apply(dst, out[0].DType(), in[0].Bytes(), in[0].DType()))
}

// matrix returns what the colours of a sample are mapped with.
func (k *twist) matrix(in []*datum.Tensor) (m imaging.ColorMatrix, err error) {
	var x [4]float32
	for i, a := range [...]struct {
		name string
		arg  arg
	}{{"Hue", k.hue}, {"Saturation", k.saturation}, {"Brightness", k.brightness}, {"Contrast", k.contrast}} {
		if x[i], err = a.arg.finite(a.name, in); err != nil {
			return m, err
		}
	}
	centre := float32(128) // for wider integers, too, as DALI has it
	if in[0].DType().IsFloat() {
		centre = 0.5
	}
	return imaging.TwistColor(x[0], x[1], x[2], x[3], centre), nil
}

// fuseTwist returns the crop-mirror-normalise with the change of colours in front of it, nil
// where that does not go from bytes to bytes.
func fuseTwist(p *pipeline.Op, k cmn, channels int, inputs []pipeline.Value, spec datum.Spec) *pipeline.Op {
	t, ok := p.Detail.(twist)
	if !ok || k.twist != nil || p.Inputs[0].Spec().DType != datum.Uint8 || t.to != 0 && t.to != datum.Uint8 {
		return nil
	}
	more := len(p.Inputs) - 1
	k.twist, k.name = &t, p.Name+"+"+k.name
	k.window.posY, k.window.posX, k.mirror = k.window.posY.behind(more), k.window.posX.behind(more), k.mirror.behind(more)
	inputs = append(p.Inputs[:more+1:more+1], inputs[1:]...)
	op := k.op(inputs, channels, spec)
	return &op
}
