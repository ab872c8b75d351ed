package audio

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DecibelOptions configures ToDecibels.
type DecibelOptions struct {
	Multiplier float64  // 10 (default) for powers, 20 for amplitudes
	Reference  float64  // the magnitude of 0 dB; default the largest one of the sample
	CutoffDB   *float64 // the least result; nil is −200
}

// ToDecibels converts magnitudes, float32 of any shape: Multiplier · log₁₀(x / Reference), at
// least CutoffDB. Of a sample without a positive number the reference is 1.
func ToDecibels(g *pipeline.Graph, v pipeline.Value, o DecibelOptions) pipeline.Value {
	const name = "to_decibels"
	s := v.Spec()
	if o.Multiplier == 0 {
		o.Multiplier = 10
	}
	cutoff := -200.0
	if o.CutoffDB != nil {
		cutoff = *o.CutoffDB
	}
	if v.Set() && s.DType != datum.Float32 {
		g.Fail(name, fmt.Errorf("the input is %s; float32 is wanted", s))
	}
	least := float32(math.Pow(10, cutoff/o.Multiplier))
	if least == 0 {
		least = math.SmallestNonzeroFloat32 // whose logarithm is finite
	}
	return g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{{DType: datum.Float32, Layout: s.Layout, Shape: s.Shape}},
		Config: fmt.Sprint(o.Multiplier, o.Reference, cutoff),
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				if err := out[0].CopyFrom(in[0]); err != nil {
					return err
				}
				decibels(out[0].Float32s(), float32(o.Multiplier), float32(o.Reference), least)
				return nil
			}), nil
		},
	})[0]
}

func decibels(xs []float32, multiplier, reference, least float32) {
	if reference == 0 {
		for _, x := range xs {
			reference = max(reference, x)
		}
		if reference == 0 {
			reference = 1
		}
	}
	for i, x := range xs {
		ratio := x / reference
		if ratio < least {
			ratio = least
		}
		xs[i] = multiplier * float32(math.Log10(float64(ratio)))
	}
}
