package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// EraseOptions configures Erase. Anchor, Shape and Fill are numbers per sample.
type EraseOptions struct {
	Anchor pipeline.Value // where regions begin: one number per axis, region after region
	Shape  pipeline.Value // their extents, likewise

	AxisNames string // the axes of Anchor and Shape by their names in the layout; default "HW"
	Axes      []int  // the same by their numbers, negative ones from the last

	NormalizedAnchor, NormalizedShape bool // they are shares of the picture's extents
	CenteredAnchor                    bool // anchors are the middles of regions

	Fill pipeline.Value // one number, or one per channel; default 0
}

// Erase fills regions of a picture or array, whose type and shape stay. Regions are in elements
// and may reach beyond the array. Fractions of where a region begins and ends are cut off. Lists
// of Anchor and Shape of different lengths are the sample's error.
func Erase(g *pipeline.Graph, v pipeline.Value, o EraseOptions) pipeline.Value {
	const name = "erase"
	given(g, name, v)
	spec := v.Spec()
	spec.Classes = 0 // Fill is no label
	if o.AxisNames == "" && o.Axes == nil {
		o.AxisNames = "HW"
		if spec.Layout == "" && len(spec.Shape) >= 2 {
			o.AxisNames, o.Axes = "", []int{0, 1}
		}
	}
	if !o.Anchor.Set() || !o.Shape.Set() {
		g.Fail(name, errors.New("give Anchor and Shape"))
	}
	if spec.DType == datum.Float16 {
		g.Fail(name, fmt.Errorf("the input is %s; cast it to float32 first", spec))
	}
	a := newArgs(g, name, v)
	k := erase{
		o: o, anchor: a.list("Anchor", o.Anchor), shape: a.list("Shape", o.Shape), fill: fills{list: a.list("Fill", o.Fill, 0)},
		axes: someDims(g, name, spec, o.Axes, o.AxisNames), channels: channelAxis(spec),
	}
	op := pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v %+v %+v %v %d %t %t %t", k.anchor, k.shape, k.fill, k.axes, k.channels,
			o.NormalizedAnchor, o.NormalizedShape, o.CenteredAnchor),
	}
	op.Fuse = func(p *pipeline.Op) *pipeline.Op { return eraseBehind(p, op) }
	return one(g, op)
}

// eraseBehind returns what erases a picture where CropMirrorNormalize has written it, nil
// where something else made the picture.
func eraseBehind(p *pipeline.Op, op pipeline.Op) *pipeline.Op {
	if _, ok := p.Detail.(cmn); !ok {
		return nil
	}
	return inPlace(p, op)
}

type erase struct {
	o             EraseOptions
	anchor, shape listArg
	fill          fills
	axes          []int
	channels      int // the dimension of channels, -1 where there is none
	start, end    [datum.MaxDims]int
}

func (k *erase) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	anchor, err := k.anchor.of(in)
	if err != nil {
		return err
	}
	extent, err := k.shape.of(in)
	if err != nil {
		return err
	}
	n := len(k.axes)
	if len(anchor) != len(extent) || len(anchor)%n != 0 {
		return fmt.Errorf("Anchor has %d values and Shape %d; as many are wanted, %d for each region", len(anchor), len(extent), n)
	}
	dims := in[0].Shape()
	channels := 1
	if k.channels >= 0 {
		channels = dims[k.channels]
	}
	fill, err := k.fill.of(in, in[0].DType(), channels)
	if err != nil {
		return err
	}
	dst, err := ownCopy(out[0], in[0])
	if err != nil {
		return err
	}
	for ; len(anchor) > 0; anchor, extent = anchor[n:], extent[n:] {
		for i, d := range dims {
			k.start[i], k.end[i] = 0, d
		}
		for i, axis := range k.axes {
			k.start[axis], k.end[axis] = k.bounds(float32(anchor[i]), float32(extent[i]), float32(dims[axis]))
		}
		if err := imaging.FillRegion(dst, in[0].DType().Size(), dims, k.start[:len(dims)], k.end[:len(dims)], fill, k.channels); err != nil {
			return plain(err)
		}
	}
	return nil
}

// ownCopy gives an output the elements of an input, which may be the output itself.
func ownCopy(out, in *datum.Tensor) ([]byte, error) {
	if out == in {
		return out.Bytes(), nil
	}
	err := out.CopyFrom(in)
	return out.Bytes(), err
}

// bounds returns where a region begins and ends along an axis of n.
func (k *erase) bounds(anchor, extent, n float32) (start, end int) {
	if k.o.NormalizedAnchor {
		anchor *= n
	}
	if k.o.NormalizedShape {
		extent *= n
	}
	if k.o.CenteredAnchor {
		anchor -= extent / 2
	}
	return whole(anchor), whole(anchor + extent)
}

// whole cuts a fraction off; what is far beyond any picture stays there.
func whole(x float32) int { return int(max(-1<<30, min(x, 1<<30))) }
