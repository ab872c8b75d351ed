package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// CoinFlip draws 1 with the given probability, 0 … 1, else 0: an int32 scalar
// per sample.
func CoinFlip(g *pipeline.Graph, probability float64) pipeline.Value {
	if !(probability >= 0 && probability <= 1) {
		g.Fail("coin_flip", fmt.Errorf("the probability is %g; it must be 0 … 1", probability))
	}
	random := g.NewRandom()
	return one(g, pipeline.Op{
		Name: "coin_flip", Outputs: []datum.Spec{{DType: datum.Int32}},
		Config: fmt.Sprintf("%g %+v", probability, random),
		New: each(func(c *datum.Sample, _, out []*datum.Tensor) error {
			if _, err := out[0].Resize(); err != nil {
				return err
			}
			r := random.At(c)
			x := int32(0)
			if r.Float64() < probability {
				x = 1
			}
			out[0].Int32s()[0] = x
			return nil
		}),
	})
}

// Uniform draws a number of [lo, hi): a float32 scalar per sample.
func Uniform(g *pipeline.Graph, lo, hi float64) pipeline.Value {
	if !(lo < hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		g.Fail("uniform", fmt.Errorf("the range is [%g, %g); it must be finite and not empty", lo, hi))
	}
	random := g.NewRandom()
	return one(g, pipeline.Op{
		Name: "uniform", Outputs: []datum.Spec{{DType: datum.Float32}},
		Config: fmt.Sprintf("%g %g %+v", lo, hi, random),
		New: each(func(c *datum.Sample, _, out []*datum.Tensor) error {
			if _, err := out[0].Resize(); err != nil {
				return err
			}
			r := random.At(c)
			x := float32(r.Range(lo, hi))
			if float64(x) >= hi { // by rounding
				x = math.Nextafter32(float32(hi), float32(lo))
			}
			out[0].Float32s()[0] = x
			return nil
		}),
	})
}

// Constant is the same for every sample: one number as a float64 scalar, or several as a
// float64 array of one dimension.
func Constant(g *pipeline.Graph, xs ...float64) pipeline.Value {
	xs = slices.Clone(xs)
	op := pipeline.Op{Name: "constant", Outputs: []datum.Spec{{DType: datum.Float64}}, Detail: constant(xs)}
	if len(xs) == 1 {
		op.Config = fmt.Sprint(xs[0])
	} else {
		op.Config, op.Outputs[0].Shape = fmt.Sprint(xs), []int{len(xs)}
	}
	if len(xs) == 0 {
		g.Fail(op.Name, errors.New("there is no number; give one or more"))
	}
	shape := op.Outputs[0].Shape
	op.New = func() (datum.Kernel, error) { return constantKernel{shape, datum.BytesOf(xs)}, nil }
	return one(g, op)
}
