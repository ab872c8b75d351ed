package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ReduceOptions configures reductions. Elements that differ only along Axes become one.
type ReduceOptions struct {
	Axes      []int  // dimensions that are reduced, negative ones counted from the back; default all
	AxisNames string // the same by their names in the layout, as "HW"
	KeepDims  bool   // reduced dimensions stay, with extent 1

	// DType is the type of the result. ReduceSum: int64, uint64 or floating point after the
	// input (default), the input's own, or Float32. ReduceMean and ReduceRMS: Float32 (default)
	// or the input's own. ReduceMeanSquare: Float32 (default) or the first of ReduceSum's. The
	// others have one type alone. Float64 takes the place of Float32 for float64 inputs.
	DType datum.DType

	// Of ReduceVariance and ReduceStdDev:
	Mean pipeline.Value // float32, one per result or a single one; default the mean of the data
	DDoF int            // subtracted from the number of elements by which is divided
}

// ReduceSum adds elements. Integers wrap around in the type of the result.
func ReduceSum(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.sum", arrays.SumOf, v, o)
}

// ReduceMean is the mean of elements; in an integer type its fraction is cut off.
func ReduceMean(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.mean", arrays.MeanOf, v, o)
}

// ReduceMeanSquare is the mean of squares.
func ReduceMeanSquare(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.mean_square", arrays.MeanSquareOf, v, o)
}

// ReduceRMS is the root of the mean of squares.
func ReduceRMS(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.rms", arrays.RMSOf, v, o)
}

// ReduceMin is the smallest element. NaNs are passed over.
func ReduceMin(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.min", arrays.MinOf, v, o)
}

// ReduceMax is the largest element. NaNs are passed over.
func ReduceMax(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.max", arrays.MaxOf, v, o)
}

// ReduceVariance is the mean of the squares of what elements differ from their mean.
func ReduceVariance(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.variance", arrays.VarianceOf, v, o)
}

// ReduceStdDev is the root of ReduceVariance.
func ReduceStdDev(g *pipeline.Graph, v pipeline.Value, o ReduceOptions) pipeline.Value {
	return reduction(g, "reductions.std_dev", arrays.StdDevOf, v, o)
}

func reduction(g *pipeline.Graph, name string, r arrays.Reduction, v pipeline.Value, o ReduceOptions) pipeline.Value {
	given(g, name, v)
	in := v.Spec()
	spread := r == arrays.VarianceOf || r == arrays.StdDevOf
	axes, err := dimsOf(in, o.Axes, o.AxisNames)
	g.Fail(name, err)
	if !spread && (o.Mean.Set() || o.DDoF != 0) {
		g.Fail(name, errors.New("Mean and DDoF are for ReduceVariance and ReduceStdDev alone; leave them out"))
	}
	if m := o.Mean.Spec(); o.Mean.Set() && m.DType != datum.Float32 {
		g.Fail(name, fmt.Errorf("Mean is %s; float32 is wanted", m))
	}
	var to arrays.DType
	if g.Err() == nil {
		to, err = r.Types(in.DType, o.DType)
		g.Fail(name, err)
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	k := reduce{kind: r, to: to, keep: o.KeepDims, ddof: o.DDoF, own: spread && !o.Mean.Set(), reduced: make([]bool, len(in.Shape))}
	for i := range k.reduced {
		k.reduced[i] = slices.Contains(axes, i)
	}
	out := datum.Spec{DType: datum.DType(to), Shape: k.shapeOf(nil, in.Shape), Layout: in.Layout}
	if !o.KeepDims {
		out.Layout = without(in.Layout, k.reduced)
	}
	k.layout = out.Layout
	inputs := []pipeline.Value{v}
	if o.Mean.Set() {
		inputs = append(inputs, o.Mean)
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: inputs, Outputs: []datum.Spec{out},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%v %v keep=%t ddof=%d own=%t", to, k.reduced, o.KeepDims, o.DDoF, k.own),
	})
}

type reduce struct {
	kind    arrays.Reduction
	to      arrays.DType
	reduced []bool // by dimension
	keep    bool
	ddof    int
	own     bool // variances are about the mean of the data
	layout  datum.Layout

	shape []int
	means []float32
	work  arrays.Reducer
}

// shapeOf appends the shape of what an array of shape in becomes.
func (k *reduce) shapeOf(dst, in []int) []int {
	for i, d := range in {
		switch {
		case !k.reduced[i]:
			dst = append(dst, d)
		case k.keep:
			dst = append(dst, 1)
		}
	}
	return dst
}

func (k *reduce) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	shape, src, from := in[0].Shape(), in[0].Bytes(), in[0].DType()
	k.shape = k.shapeOf(k.shape[:0], shape)
	dst, err := out[0].Resize(k.shape...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	var means []float32
	switch {
	case k.own:
		n := len(dst) / k.to.Size()
		k.means = slices.Grow(k.means[:0], n)[:n]
		means = k.means
		if err := k.work.Reduce(arrays.MeanOf, datum.BytesOf(means), datum.Float32, src, from, shape, k.reduced, nil, 0); err != nil {
			return err
		}
	case len(in) > 1:
		means = in[1].Float32s()
	}
	return k.work.Reduce(k.kind, dst, k.to, src, from, shape, k.reduced, means, k.ddof)
}
