package ops

import (
	"image"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// A chain is what ends most picture pipelines: resize, then crop, mirror and
// normalise, with or without a change of colours between them, done in one pass over
// the source. Where the picture comes straight
// from a decoder, the chain takes that over too and decodes only the region
// that the result shows.
type chain struct {
	decode *decode // nil where the input is pixels
	resize imaging.ResizeSpec
	window window
	mirror arg
	twist  *twist // nil for none
	colour imaging.ColorMatrix
	out    imaging.Output
	layout datum.Layout

	resampler imaging.Resampler
	resized   image.Point // extents of the whole resized picture
}

// resizeDetail is Op.Detail of Resize.
type resizeDetail struct {
	spec imaging.ResizeSpec
	to   datum.DType
}

// fuseResize returns the chain of a resize and what stands behind it, an operator that
// does what k does; nil where a chain cannot do the same.
func fuseResize(p *pipeline.Op, k cmn, channels int, inputs []pipeline.Value, spec datum.Spec) *pipeline.Op {
	r, ok := p.Detail.(resizeDetail)
	identity := k.spec.Scale == 1 && k.spec.Shift == 0 && len(k.spec.Mean) == 0 && len(k.spec.Std) == 0
	switch {
	case !ok || r.to != datum.Uint8 || p.Inputs[0].Spec().DType != datum.Uint8 || k.pad || k.window.bounds != imaging.BoundsError:
		return nil
	case channels != 1 && channels != 3 || k.twist != nil && channels != 3:
		return nil
	case !smoothly(r.spec.Min) || !smoothly(r.spec.Mag):
		return nil
	case k.to != datum.Float32 && !(k.to == datum.Uint8 && identity):
		return nil
	}
	c := chain{resize: r.spec, window: k.window, mirror: k.mirror, twist: k.twist, layout: k.layout}
	c.out = imaging.Output{Type: k.to, CHW: k.spec.DstCHW, Channels: channels, Round: true}
	var mean, std [3]float32
	for i := range mean {
		mean[i], std[i] = valueOf(k.spec.Mean, i, 0), valueOf(k.spec.Std, i, 1)
	}
	c.out.NormalizeBy(mean, std, k.spec.Scale, k.spec.Shift)
	name := p.Name + "+" + k.name
	return &pipeline.Op{
		Name: name, Inputs: append(p.Inputs[:1:1], inputs[1:]...), Outputs: []datum.Spec{spec},
		New:       func() (datum.Kernel, error) { c := c; return &c, nil },
		Expensive: true,
		Fuse:      func(d *pipeline.Op) *pipeline.Op { return fuseDecode(d, c, name, inputs, spec) },
	}
}

// smoothly reports whether a filter fades to zero. Others jump where a source
// sample lies on their edge; positions counted from another origin, as a
// chain counts them, would now and then fall on the other side.
func smoothly(f imaging.Filter) bool { return f != imaging.Nearest && f != imaging.Gaussian }

// fuseDecode returns a chain that begins with the decoder that makes its input.
func fuseDecode(p *pipeline.Op, c chain, name string, inputs []pipeline.Value, spec datum.Spec) *pipeline.Op {
	d, ok := p.Detail.(decode)
	if !ok || c.resize.ROI {
		return nil
	}
	if !d.exact {
		c.out.Round = false
	}
	return &pipeline.Op{
		Name: p.Name + "+" + name, Inputs: append(p.Inputs[:1:1], inputs[1:]...), Outputs: []datum.Spec{spec},
		New: func() (datum.Kernel, error) {
			c := c
			c.decode = d.own()
			return &c, nil
		},
		Expensive: true,
	}
}

// valueOf returns the value for channel c of a list of one for all or one each.
func valueOf(list []float32, c int, none float32) float32 {
	switch len(list) {
	case 0:
		return none
	case 1:
		return list[0]
	}
	return list[min(c, len(list)-1)]
}

// Release gives up what the chain's decoder keeps from sample to sample.
func (k *chain) Release() {
	if k.decode != nil {
		k.decode.Release()
	}
}

// Run makes the result of all the operators of the chain.
func (k *chain) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	return plain(k.run(s, in, out))
}

func (k *chain) run(s *datum.Sample, in, out []*datum.Tensor) error {
	if k.decode == nil {
		h, w, c, err := shape3(in[0])
		if err != nil {
			return err
		}
		plan, dst, err := k.plan(in, out[0], h, w)
		if err != nil {
			return err
		}
		src := imaging.Image{Pix: in[0].Bytes(), Type: datum.Uint8, H: h, W: w, C: c}
		return k.resampler.ResizeBytes(dst, &src, plan, &k.out)
	}
	d := k.decode
	if err := d.open(s, in[0].Bytes()); err != nil {
		return err
	}
	region, err := d.region(s, in)
	if err != nil {
		return err
	}
	plan, dst, err := k.plan(in, out[0], region.Dy(), region.Dx())
	if err != nil {
		return err
	}
	plan.Y, plan.X = shift(plan.Y, region.Min.Y), shift(plan.X, region.Min.X)
	if d.planar() {
		reduce := jpeg.Reduce(region, k.resized.X, k.resized.Y)
		plan = d.file.onStored(plan)
		planes, at, err := d.file.upright(s, seen(plan), reduce)
		if err != nil {
			return err
		}
		plan.Y, plan.X = reduced(plan.Y, reduce), reduced(plan.X, reduce)
		plan.Y, plan.X = within(plan.Y, at.Y, planes.H), within(plan.X, at.X, planes.W)
		return k.resampler.ResizeYCbCr(dst, &planes, plan, &k.out)
	}
	r := seen(plan)
	src, err := d.pixels(s, r)
	if err != nil {
		return err
	}
	plan.Y, plan.X = within(plan.Y, r.Min.Y, src.H), within(plan.X, r.Min.X, src.W)
	return k.resampler.ResizeBytes(dst, &src, plan, &k.out)
}

// plan resolves the resize and the region for a source of h×w pixels and gives
// the output its shape.
func (k *chain) plan(in []*datum.Tensor, out *datum.Tensor, h, w int) (imaging.Plan, []byte, error) {
	p, err := k.resize.Resolve(h, w)
	if err != nil {
		return p, nil, err
	}
	k.resized = image.Pt(p.X.Out, p.Y.Out)
	y, x, height, width, err := k.window.at(in, p.Y.Out, p.X.Out)
	if err != nil {
		return p, nil, err
	}
	mirror, err := k.mirror.of(in)
	if err != nil {
		return p, nil, err
	}
	if !k.window.whole() {
		p.Y, p.X = p.Y.Crop(y, height), p.X.Crop(x, width)
	}
	if mirror != 0 {
		p.X = p.X.Mirror()
	}
	if k.twist != nil {
		if k.colour, err = k.twist.matrix(in); err != nil {
			return p, nil, err
		}
		k.out.Color = &k.colour
	}
	out.SetLayout(k.layout)
	var dst []byte
	if k.out.CHW {
		dst, err = out.Resize(k.out.Channels, height, width)
	} else {
		dst, err = out.Resize(height, width, k.out.Channels)
	}
	return p, dst, err
}

// seen returns the region that a plan reads.
func seen(p imaging.Plan) image.Rectangle {
	y, x := reads(p.Y), reads(p.X)
	return image.Rect(x.Min, y.Min, x.Max, y.Max)
}

// flipped returns an axis of n source samples as one that counts them from the other end.
func flipped(a imaging.Axis, n int) imaging.Axis {
	a.Lo, a.Hi = float64(n)-a.Lo, float64(n)-a.Hi
	a.Start, a.End = n-a.End, n-a.Start
	return a
}

// shift moves an axis by n source samples.
func shift(a imaging.Axis, n int) imaging.Axis {
	a.Lo += float64(n)
	a.Hi += float64(n)
	a.Start += n
	a.End += n
	return a
}

// reduced returns an axis as the picture at 1/n of its size sees it.
func reduced(a imaging.Axis, n int) imaging.Axis {
	a.Lo /= float64(n)
	a.Hi /= float64(n)
	a.Start /= n
	a.End = (a.End + n - 1) / n
	return a
}

// within returns an axis as a piece of the source sees it that begins at origin
// and has n samples, which hold all that the axis reads.
func within(a imaging.Axis, origin, n int) imaging.Axis {
	a = shift(a, -origin)
	a.Start, a.End = max(a.Start, 0), min(a.End, n)
	return a
}

// span is a range of source samples.
type span struct{ Min, Max int }

// reads returns the source samples that an axis needs, or a few more.
func reads(a imaging.Axis) span {
	lo, hi := min(a.Lo, a.Hi), max(a.Lo, a.Hi)
	margin := int(filterRadius[a.Filter]*max(1, (hi-lo)/float64(a.Out))) + 2
	s := span{max(a.Start, int(lo)-margin), min(a.End, int(hi)+1+margin)}
	if s.Min >= s.Max { // the region lies beyond the border, whose samples repeat
		return span{a.Start, a.End}
	}
	return s
}

// filterRadius is the radius of the filters in source samples, at scale 1.
var filterRadius = [...]float64{
	imaging.Linear: 1, imaging.Triangular: 1, imaging.Nearest: 1, imaging.Cubic: 2, imaging.Lanczos3: 3, imaging.Gaussian: 2,
}
