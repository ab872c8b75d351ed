package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ImageNetMean and ImageNetStd are the channel means and deviations of the
// ImageNet training set in R, G, B order, for pixels 0 … 255.
var (
	ImageNetMean = []float64{0.485 * 255, 0.456 * 255, 0.406 * 255}
	ImageNetStd  = []float64{0.229 * 255, 0.224 * 255, 0.225 * 255}
)

// CropMirrorNormalizeOptions configures CropMirrorNormalize.
type CropMirrorNormalizeOptions struct {
	CropOptions // what is cut out; Fill is in the units of the output

	Mirror    pipeline.Value // not 0: reverse the columns; default no
	Mean, Std []float64      // one, or one per channel; default 0 and 1
	Scale     float64        // default 1
	Shift     float64        // default 0
	DType     datum.DType    // default Float32; integers are rounded and saturate
	Layout    datum.Layout   // CHW, the default, or HWC
	PadOutput bool           // add channels up to a power of two; they hold 0, or Fill under BoundsPad
}

// setDefaults sets what is zero and has another default.
func (o *CropMirrorNormalizeOptions) setDefaults() {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	if o.Layout == "" {
		o.Layout = datum.CHW
	}
}

// fill returns what lies outside of a picture and what added channels hold, which is 0
// unless the policy is to pad, as in DALI.
func (o *CropMirrorNormalizeOptions) fill() []float32 {
	if o.OutOfBounds != BoundsPad {
		return nil
	}
	return float32s(o.Fill)
}

// checkChannels refuses a Mean or Std that does not suit the pictures.
func (o *CropMirrorNormalizeOptions) checkChannels(g *pipeline.Graph, name string, in datum.Spec) {
	channels := in.Shape[2]
	perChannel(g, name, "Mean", o.Mean, channels)
	perChannel(g, name, "Std", o.Std, channels)
	if o.PadOutput && len(o.fill()) > 1 && padded(channels) != channels {
		g.Fail(name, fmt.Errorf("Fill has %d values, and PadOutput adds channels that none of them is for; one value is wanted", len(o.Fill)))
	}
	for _, s := range o.Std {
		if s == 0 {
			g.Fail(name, fmt.Errorf("Std holds a zero; values would become infinite"))
		}
	}
	checkConvention(g, name, in, o.Mean, o.Std)
}

// CropMirrorNormalize cuts a region out of a picture, mirrors it if asked, and
// turns values into (value − Mean) / Std · Scale + Shift, ready for a network. Mean and
// Std are in the units of the picture: for uint8 those of pixels 0 … 255, and numbers for
// pixels 0 … 1 (no |Mean| above 1, all Std below 1) are refused.
func CropMirrorNormalize(g *pipeline.Graph, v pipeline.Value, o CropMirrorNormalizeOptions) pipeline.Value {
	const name = "crop_mirror_normalize"
	in := picture(g, name, v)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	o.setDefaults()
	channels := in.Shape[2]
	o.CropOptions.check(g, name, in)
	element(g, name, o.DType)
	switch {
	case o.Layout != datum.CHW && o.Layout != datum.HWC:
		g.Fail(name, fmt.Errorf("the layout is %q; CHW and HWC are possible", o.Layout))
	case o.PadOutput && channels < 0:
		g.Fail(name, fmt.Errorf("PadOutput needs a known number of channels; the input is %s", in))
	}
	o.checkChannels(g, name, in)
	a := newArgs(g, name, v)
	k := cmn{
		name: name, window: newWindow(a, o.CropOptions), mirror: a.number("Mirror", o.Mirror, 0), to: o.DType, pad: o.PadOutput, layout: o.Layout,
		spec: imaging.CMNSpec{
			Fill: o.fill(), Mean: float32s(o.Mean), Std: float32s(o.Std),
			Scale: float32(o.Scale), Shift: float32(o.Shift), DstCHW: o.Layout == datum.CHW,
		},
	}
	h, w := k.window.known(in)
	spec := datum.Spec{DType: o.DType, Layout: o.Layout, Shape: []int{h, w, k.channels(channels)}}
	if o.Layout == datum.CHW {
		spec.Shape = []int{k.channels(channels), h, w}
	}
	op := k.op(a.inputs, channels, spec)
	op.Config = fmt.Sprintf("%+v mirror=%+v %v %v pad=%t %+v", k.window, k.mirror, k.to, k.layout, k.pad, k.spec)
	return one(g, op)
}

// op returns the operator of a kernel for pictures of so many channels.
func (k cmn) op(inputs []pipeline.Value, channels int, spec datum.Spec) pipeline.Op {
	return pipeline.Op{
		Name: k.name, Inputs: inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New: func() (datum.Kernel, error) {
			k := k
			if k.sameForAll() {
				return &cmnOfAll{k}, nil
			}
			return &k, nil
		},
		Fuse: func(p *pipeline.Op) *pipeline.Op {
			if fused := fuseTwist(p, k, channels, inputs, spec); fused != nil {
				return fused
			}
			return fuseResize(p, k, channels, inputs, spec)
		},
		Detail: k,
	}
}

// cmn is the kernel of CropMirrorNormalize.
type cmn struct {
	name   string
	twist  *twist // changes colours first; nil for none
	window window
	mirror arg
	to     datum.DType
	layout datum.Layout
	pad    bool
	spec   imaging.CMNSpec
	colour imaging.ColorMatrix
	work   imaging.CropMirrorNormalizer
}

// channels returns the channels of the output for an input of c.
func (k *cmn) channels(c int) int {
	if !k.pad {
		return c
	}
	return padded(c)
}

// padded returns the least power of two that is not below c channels; c itself where it is not known.
func padded(c int) int {
	if c < 1 {
		return c
	}
	n := 1
	for n < c {
		n *= 2
	}
	return n
}

func (k *cmn) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	s := &k.spec
	if s.Y, s.X, s.H, s.W, err = k.window.at(in, h, w); err != nil {
		return err
	}
	mirror, err := k.mirror.of(in)
	if err != nil {
		return err
	}
	s.Mirror, s.DstC = mirror != 0, k.channels(c)
	if k.twist != nil {
		if k.colour, err = k.twist.matrix(in); err != nil {
			return err
		}
		k.work.Color = &k.colour
	}
	var dst []byte
	if s.DstCHW {
		dst, err = out[0].Resize(s.DstC, s.H, s.W)
	} else {
		dst, err = out[0].Resize(s.H, s.W, s.DstC)
	}
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	src := imaging.Image{Pix: in[0].Bytes(), Type: in[0].DType(), H: h, W: w, C: c}
	return plain(k.work.Apply(dst, k.to, &src, s))
}

// sameForAll reports whether nothing but the picture differs from sample to sample.
func (k *cmn) sameForAll() bool {
	return k.twist == nil && k.mirror.at == 0 && k.window.posY.at == 0 && k.window.posX.at == 0
}

// cmnOfAll is a cmn that does the same to all samples.
type cmnOfAll struct{ cmn }

// RunRows implements datum.RowsKernel.
func (k *cmnOfAll) RunRows(n int, in, out []datum.Rows) bool {
	h, w, c := in[0].Spec.Shape[0], in[0].Spec.Shape[1], in[0].Spec.Shape[2]
	s := &k.spec
	s.Mirror, s.DstC = k.mirror.def != 0, k.channels(c)
	if k.window.whole() && (s.DstC == 1 || !s.DstCHW) { // pictures below each other are one of more rows
		h, n = n*h, 1
	}
	var err error
	if s.Y, s.X, s.H, s.W, err = k.window.at(nil, h, w); err != nil {
		return false
	}
	for row := range n {
		src := imaging.Image{Pix: rowOf(in[0].Data, n, row), Type: in[0].Spec.DType, H: h, W: w, C: c}
		if k.work.Apply(rowOf(out[0].Data, n, row), k.to, &src, s) != nil {
			return false
		}
	}
	return true
}

// perChannel checks a list of one value or one per channel.
func perChannel(g *pipeline.Graph, op, field string, list []float64, channels int) {
	if n := len(list); n > 1 && channels >= 0 && n != channels {
		g.Fail(op, fmt.Errorf("%s has %d values for %d channels; one, or one per channel, is wanted", field, n, channels))
	}
}

func float32s(xs []float64) []float32 {
	out := make([]float32, len(xs))
	for i, x := range xs {
		out[i] = float32(x)
	}
	return out
}
