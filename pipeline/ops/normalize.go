package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// NormalizeOptions configures Normalize.
type NormalizeOptions struct {
	Axes         []int          // dimensions over which mean and deviation are taken, negative ones counted from the back; default all
	AxisNames    string         // the same by their names in the layout, as "HW"
	Mean, StdDev pipeline.Value // instead of those of the data
	DDoF         int            // subtracted from the count in the variance
	Epsilon      float64        // added to the variance
	Scale        float64        // deviation of the result; default 1
	Shift        float64        // mean of the result
	DType        datum.DType    // default Float32
}

// Normalize subtracts the mean of a sample and divides by its standard
// deviation: (x − mean) / √(variance + Epsilon) · Scale + Shift. The shape stays. A Mean
// and StdDev that are Constants for pixels 0 … 1 are refused on uint8 data, as by
// CropMirrorNormalize.
func Normalize(g *pipeline.Graph, v pipeline.Value, o NormalizeOptions) pipeline.Value {
	const name = "normalize"
	spec := v.Spec()
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	given(g, name, v)
	element(g, name, o.DType)
	switch {
	case (o.AxisNames != "" || o.Axes != nil) && o.Mean.Set() && o.StdDev.Set():
		g.Fail(name, errors.New("axes are given, but with Mean and StdDev nothing is computed along them; leave one of the three out"))
	case o.DDoF < 0 || !(o.Epsilon >= 0):
		g.Fail(name, fmt.Errorf("DDoF is %d and Epsilon %g; they must not be negative", o.DDoF, o.Epsilon))
	}
	if o.AxisNames != "" || o.Axes != nil {
		axes, err := dimsOf(spec, o.Axes, o.AxisNames)
		g.Fail(name, err)
		o.Axes = axes
	}
	if mean, std := constants(o.Mean), constants(o.StdDev); mean != nil {
		checkConvention(g, name, spec, mean, std)
	}
	a := newArgs(g, name, v)
	k := normalize{
		mean: a.number("Mean", o.Mean, 0), stddev: a.number("StdDev", o.StdDev, 0), to: o.DType,
		spec: imaging.NormalizeSpec{
			Axes: o.Axes, DDoF: o.DDoF, Epsilon: float32(o.Epsilon), Scale: float32(o.Scale), Shift: float32(o.Shift),
		},
	}
	spec.DType = o.DType
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("mean=%+v stddev=%+v %v %+v", k.mean, k.stddev, k.to, k.spec),
	})
}

type normalize struct {
	mean, stddev arg
	to           datum.DType
	spec         imaging.NormalizeSpec
	given        [2]float32
	work         imaging.Normalizer
}

func (k *normalize) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	dst, err := output(out[0], in[0], k.to)
	if err != nil {
		return err
	}
	for i, a := range []arg{k.mean, k.stddev} {
		if a.at != 0 {
			x, err := a.of(in)
			if err != nil {
				return err
			}
			k.given[i] = float32(x)
		}
	}
	k.setGiven()
	return plain(k.work.Apply(dst, k.to, in[0].Bytes(), in[0].DType(), in[0].Shape(), &k.spec))
}

// setGiven makes the numbers given what is subtracted and divided by.
func (k *normalize) setGiven() {
	k.spec.Mean, k.spec.StdDev = nil, nil
	if k.mean.at != 0 {
		k.spec.Mean = &k.given[0]
	}
	if k.stddev.at != 0 {
		k.spec.StdDev = &k.given[1]
	}
}

// RunRows implements datum.RowsKernel.
func (k *normalize) RunRows(n int, in, out []datum.Rows) bool {
	k.setGiven()
	from, spec := in[0].Data, in[0].Spec
	for row := range n {
		for i, a := range []arg{k.mean, k.stddev} {
			if a.at == 0 {
				continue
			}
			x, ok := rowScalar(&in[a.at-1], n, row)
			if !ok {
				return false
			}
			k.given[i] = float32(x)
		}
		if k.work.Apply(rowOf(out[0].Data, n, row), k.to, rowOf(from, n, row), spec.DType, spec.Shape, &k.spec) != nil {
			return false
		}
	}
	return true
}
