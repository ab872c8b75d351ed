package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// OneHotOptions configures OneHot.
type OneHotOptions struct {
	Classes int         // length of the vectors; default what the reader knows of its labels
	On, Off float64     // values for the class and for the others; default 1 and 0 where both are 0
	DType   datum.DType // default Float32
	Axis    *int        // dimension of the classes in the output; default the last one

	// IgnoreUnknown gives labels outside 0 … Classes-1 a vector of Off alone,
	// as NVIDIA DALI does. By default such a label is the sample's error.
	IgnoreUnknown bool
}

// OneHot turns integer labels into vectors that are On at the label and Off
// elsewhere: a scalar label into a vector of Classes elements, an array of
// labels into an array with one more dimension. A single label of shape [1] counts as
// a scalar, as in NVIDIA DALI, unless Axis is set.
func OneHot(g *pipeline.Graph, label pipeline.Value, o OneHotOptions) pipeline.Value {
	const name = "one_hot"
	in := label.Spec()
	if o.Classes == 0 {
		o.Classes = in.Classes
	}
	if o.On == 0 && o.Off == 0 {
		o.On = 1
	}
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	labels := labelShape(in.Shape, &o)
	axis := len(labels)
	if o.Axis != nil {
		axis = *o.Axis
	}
	given(g, name, label)
	element(g, name, o.DType)
	switch {
	case o.Classes == 0:
		g.Fail(name, errors.New("the reader does not know the number of classes: set Classes"))
	case o.Classes < 0:
		g.Fail(name, fmt.Errorf("Classes is %d; it must be positive", o.Classes))
	case axis < 0 || axis > len(labels):
		g.Fail(name, fmt.Errorf("Axis is %d; labels of %d dimensions allow 0 … %d", axis, len(labels), len(labels)))
	case in.DType == datum.Float16 || in.DType == datum.Float32 || in.DType == datum.Float64:
		g.Fail(name, fmt.Errorf("the labels are %s; integers are wanted", in))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec := datum.Spec{DType: o.DType, Shape: slices.Insert(slices.Clone(labels), axis, o.Classes)}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{label}, Outputs: []datum.Spec{spec},
		New:    func() (datum.Kernel, error) { return &oneHot{o: o, axis: axis, scalar: len(labels) == 0}, nil },
		Config: fmt.Sprintf("on=%g off=%g axis=%d ignore_unknown=%t", o.On, o.Off, axis, o.IgnoreUnknown),
	})
}

// labelShape returns the shape of the labels as OneHot counts their dimensions.
func labelShape(shape []int, o *OneHotOptions) []int {
	if o.Axis == nil && len(shape) == 1 && shape[0] == 1 {
		return nil
	}
	return shape
}

type oneHot struct {
	o      OneHotOptions
	axis   int
	scalar bool // one label, without a dimension in the output
	labels []int64
	shape  []int
}

func (k *oneHot) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	shape := in[0].Shape()
	if k.scalar {
		shape = nil
	}
	k.shape = append(append(append(k.shape[:0], shape[:k.axis]...), k.o.Classes), shape[k.axis:]...)
	mem, err := out[0].Resize(k.shape...)
	if err != nil {
		return err
	}
	inner := 1
	for _, d := range shape[k.axis:] {
		inner *= d
	}
	return k.write(mem, in[0].Bytes(), in[0].DType(), inner)
}

// RunRows implements datum.RowsKernel.
func (k *oneHot) RunRows(n int, in, out []datum.Rows) bool {
	inner := 1
	if !k.scalar {
		for _, d := range in[0].Spec.Shape[k.axis:] {
			inner *= d
		}
	}
	from, to, t := in[0].Data, out[0].Data, in[0].Spec.DType
	if inner == 1 { // then the vectors lie one behind the other, whosever they are
		return k.write(to, from, t, 1) == nil
	}
	for row := range n {
		if k.write(rowOf(to, n, row), rowOf(from, n, row), t, inner) != nil {
			return false
		}
	}
	return true
}

// write makes the vectors of labels, of which so many lie inside the dimension of the classes.
func (k *oneHot) write(mem, from []byte, t datum.DType, inner int) error {
	n := len(from) / t.Size()
	k.labels = slices.Grow(k.labels[:0], n)[:n]
	if err := imaging.Cast(datum.BytesOf(k.labels), datum.Int64, from, t); err != nil {
		return err
	}
	if !k.o.IgnoreUnknown {
		for _, label := range k.labels {
			if label < 0 || label >= int64(k.o.Classes) {
				return fmt.Errorf("label %d is outside the classes 0 … %d", label, k.o.Classes-1)
			}
		}
	}
	if k.o.DType == datum.Float32 {
		return imaging.OneHot(datum.View[float32](mem), k.labels, k.o.Classes, inner, float32(k.o.On), float32(k.o.Off))
	}
	return k.encode(mem, inner)
}

// encode is imaging.OneHot for elements of any type: it works on their bytes, and needs
// no memory of the size of the result.
func (k *oneHot) encode(mem []byte, inner int) error {
	size := k.o.DType.Size()
	var room [2]uint64 // for off, then on
	values := datum.BytesOf(room[:])[:2*size]
	if err := imaging.Cast(values, k.o.DType, datum.BytesOf([]float64{k.o.Off, k.o.On}), datum.Float64); err != nil {
		return err
	}
	off, on := values[:size], values[size:]
	for n := copy(mem, off); n > 0 && n < len(mem); { // doubling what is there
		n += copy(mem[n:], mem[:n])
	}
	for i, label := range k.labels {
		if label >= 0 && label < int64(k.o.Classes) {
			at := (i/inner*k.o.Classes+int(label))*inner + i%inner
			copy(mem[at*size:], on)
		}
	}
	return nil
}
