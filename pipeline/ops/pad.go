package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// PadOptions configures Pad. Shape, Align and Fill are numbers per sample.
type PadOptions struct {
	AxisNames string         // the axes that grow, by their names in the layout; default all
	Axes      []int          // the same by their numbers, negative ones from the last
	Shape     pipeline.Value // least extents, one per axis or one for all; default those of the sample, as for -1
	Align     pipeline.Value // extents become multiples of it, one per axis or one for all; default 1
	Fill      pipeline.Value // what is added, one number; default 0
}

// Pad adds elements behind a sample, so that its extents are those that are wanted or
// larger. A sample that is large enough stays; so do type and layout. Extents that are no whole
// numbers are the sample's error.
func Pad(g *pipeline.Graph, v pipeline.Value, o PadOptions) pipeline.Value {
	const name = "pad"
	given(g, name, v)
	spec := v.Spec()
	if spec.DType == datum.Float16 {
		g.Fail(name, fmt.Errorf("the input is %s; cast it to float32 first", spec))
	}
	a := newArgs(g, name, v)
	k := pad{
		axes:  someDims(g, name, spec, o.Axes, o.AxisNames),
		shape: a.list("Shape", o.Shape, -1), align: a.list("Align", o.Align, 1), fill: fills{list: a.list("Fill", o.Fill, 0)},
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec.Shape, spec.Classes = k.known(spec.Shape, o), 0 // Fill is no label
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

type pad struct {
	axes         []int
	shape, align listArg
	fill         fills
	zero, dims   [datum.MaxDims]int // of one sample
}

// known returns the extents of the output as far as they are known.
func (k *pad) known(in []int, o PadOptions) []int {
	out := append([]int{}, in...)
	shape, align := constants(o.Shape), constants(o.Align)
	if !o.Shape.Set() {
		shape = k.shape.def
	}
	if !o.Align.Set() {
		align = k.align.def
	}
	for i, axis := range k.axes {
		n, err := -1, error(nil)
		if in[axis] >= 0 && (len(shape) == 1 || len(shape) == len(k.axes)) && (len(align) == 1 || len(align) == len(k.axes)) {
			n, err = paddedTo(in[axis], at(shape, i), at(align, i))
		}
		if err != nil {
			n = -1 // which is found again for every sample
		}
		out[axis] = n
	}
	return out
}

// paddedTo returns the extent of an axis of n that is to have an extent and an alignment.
func paddedTo(n int, want, align float64) (int, error) {
	w, a := int(want), int(align)
	if float64(w) != want || w < -1 || float64(a) != align || a < 1 || w > maxPixels || a > maxPixels {
		return 0, fmt.Errorf("an extent of %g and an alignment of %g are not possible; whole numbers are wanted, -1 or more, and 1 or more", want, align)
	}
	n = max(n, w)
	return (n + a - 1) / a * a, nil
}

func (k *pad) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	shape, err := k.shape.exactly(in, len(k.axes), true)
	if err != nil {
		return err
	}
	align, err := k.align.exactly(in, len(k.axes), true)
	if err != nil {
		return err
	}
	fill, err := k.fill.of(in, in[0].DType(), 1)
	if err != nil {
		return err
	}
	result := append(k.dims[:0], in[0].Shape()...)
	for i, axis := range k.axes {
		if result[axis], err = paddedTo(result[axis], at(shape, i), at(align, i)); err != nil {
			return err
		}
	}
	t := in[0].DType()
	dst, err := out[0].ResizeAs(t, result...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	if len(result) == 0 {
		copy(dst, in[0].Bytes())
		return nil
	}
	return plain(imaging.Slice(dst, in[0].Bytes(), t.Size(), in[0].Shape(), k.zero[:len(result)], result, fill, 0))
}
