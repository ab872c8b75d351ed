package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// WaterOptions configures Water. The values are numbers per sample.
type WaterOptions struct {
	AmplitudeX, AmplitudeY pipeline.Value // of the waves, in pixels; default 10
	FrequencyX, FrequencyY pipeline.Value // radians per row (X) and column (Y); default 0.049087
	PhaseX, PhaseY         pipeline.Value // radians; default 0
	Interp                 Interp         // Nearest, the default, or Linear
	Fill                   pipeline.Value // what lies outside of the picture; default 0
	Mask                   pipeline.Value // 0: leave the picture as it is; default 1
}

// SphereOptions configures Sphere. The values are numbers per sample.
type SphereOptions struct {
	Interp Interp         // Nearest, the default, or Linear
	Fill   pipeline.Value // what lies outside of the picture; default 0
	Mask   pipeline.Value // 0: leave the picture as it is; default 1
}

// Water moves the pixels of a picture in waves, as if it were seen under water: the pixel
// x, y comes from x + AmplitudeX · sin(FrequencyX · y + PhaseX), y + AmplitudeY ·
// cos(FrequencyY · x + PhaseY). Type and shape, H×W×C, stay. A number that is not finite is the
// sample's error.
func Water(g *pipeline.Graph, v pipeline.Value, o WaterOptions) pipeline.Value {
	a := newArgs(g, "water", v)
	k := displace{water: true, waves: [6]arg{
		a.number("AmplitudeX", o.AmplitudeX, 10), a.number("AmplitudeY", o.AmplitudeY, 10),
		a.number("FrequencyX", o.FrequencyX, 0.049087), a.number("FrequencyY", o.FrequencyY, 0.049087),
		a.number("PhaseX", o.PhaseX, 0), a.number("PhaseY", o.PhaseY, 0),
	}}
	return k.add(a, v, o.Interp, o.Fill, o.Mask)
}

// Sphere moves the pixels of a picture as if it lay on a sphere: the distance from the
// middle becomes its square over half of the longer side. Type and shape, H×W×C, stay.
func Sphere(g *pipeline.Graph, v pipeline.Value, o SphereOptions) pipeline.Value {
	return displace{}.add(newArgs(g, "sphere", v), v, o.Interp, o.Fill, o.Mask)
}

type displace struct {
	water      bool
	waves      [6]arg
	fill, mask arg
	nearest    bool
	move       imaging.Water
	sphere     imaging.Sphere
	work       imaging.Warper
}

func (k displace) add(a *args, v pipeline.Value, interp Interp, fill, mask pipeline.Value) pipeline.Value {
	spec := picture(a.g, a.op, v)
	if a.g.Err() == nil && spec.DType == datum.Float16 {
		a.g.Fail(a.op, fmt.Errorf("the input is %s; cast it to float32 first", spec))
	}
	k.fill, k.mask, k.nearest = a.number("Fill", fill, 0), a.number("Mask", mask, 1), nearest(a.g, a.op, interp, Nearest)
	return one(a.g, pipeline.Op{
		Name: a.op, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v %+v %+v %t", k.waves, k.fill, k.mask, k.nearest),
	})
}

// Release gives up what the kernel keeps from sample to sample.
func (k *displace) Release() { k.work.Release() }

func (k *displace) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	mask, err := k.mask.of(in)
	if err != nil {
		return err
	}
	if mask == 0 {
		return out[0].CopyFrom(in[0])
	}
	spec := imaging.WarpSpec{Nearest: k.nearest, Constant: true}
	if spec.Fill, err = k.fill.finite("Fill", in); err != nil {
		return err
	}
	src := imaging.Image{Pix: in[0].Bytes(), Type: in[0].DType(), H: h, W: w, C: c}
	if n := k.work.Growth(src.Type, 1, &src, k.nearest); n > 0 {
		if err := s.Reserve(k.work.Reserved() + n); err != nil {
			return err
		}
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	if !k.water {
		k.sphere = imaging.Sphere{H: h, W: w}
		return plain(k.work.Displace(dst, &src, &spec, &k.sphere))
	}
	m := &k.move
	for i, x := range [6]*float32{&m.AmplitudeX, &m.AmplitudeY, &m.FrequencyX, &m.FrequencyY, &m.PhaseX, &m.PhaseY} {
		if *x, err = k.waves[i].finite(waveNames[i], in); err != nil {
			return err
		}
	}
	return plain(k.work.Displace(dst, &src, &spec, m))
}

var waveNames = [6]string{"AmplitudeX", "AmplitudeY", "FrequencyX", "FrequencyY", "PhaseX", "PhaseY"}
