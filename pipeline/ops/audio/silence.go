package audio

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// SilenceOptions configures NonsilentRegion.
type SilenceOptions struct {
	WindowLength   int      // samples over which the power is taken; default 2048, or the signal where that is shorter
	CutoffDB       *float64 // what is below it is silent; nil is −60
	ReferencePower float64  // the power of 0 dB; default the largest one of the signal
}

// NonsilentRegion finds what is not silent at both ends of a signal of one dimension: from the
// first to the last window whose mean square is CutoffDB or more. It returns the first sample and
// the number of samples, int32, for ops.Slice. The number is 0 where all is silent; a signal of
// zeros alone is not, unless ReferencePower is set.
func NonsilentRegion(g *pipeline.Graph, v pipeline.Value, o SilenceOptions) (begin, length pipeline.Value) {
	const name = "nonsilent_region"
	s := signal(g, name, v)
	if o.WindowLength == 0 {
		o.WindowLength = 2048
	}
	cutoff := -60.0
	if o.CutoffDB != nil {
		cutoff = *o.CutoffDB
	}
	switch {
	case len(s.Shape) != 1:
		g.Fail(name, fmt.Errorf("the input is %s; one dimension is wanted", s))
	case o.WindowLength < 1:
		g.Fail(name, fmt.Errorf("WindowLength is %d; it must be positive", o.WindowLength))
	case o.ReferencePower < 0:
		g.Fail(name, fmt.Errorf("ReferencePower is %g; it must not be negative", o.ReferencePower))
	}
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}, {DType: datum.Int32}}, Config: fmt.Sprint(o.WindowLength, cutoff, o.ReferencePower),
		New: func() (datum.Kernel, error) {
			return &silence{window: o.WindowLength, ratio: math.Pow(10, cutoff/10), reference: o.ReferencePower}, nil
		},
	})
	return vs[0], vs[1]
}

type silence struct {
	window           int
	ratio, reference float64
	x, power         []float64
}

// Release gives up what the kernel keeps from sample to sample.
func (k *silence) Release() { k.x, k.power = nil, nil }

func (k *silence) reserved() int64 { return 8 * int64(cap(k.x)+cap(k.power)) }

func (k *silence) Run(s *datum.Sample, in, out []*datum.Tensor) (err error) {
	if err := s.Reserve(k.reserved()); err != nil {
		return err
	}
	if err := mono(in[0]); err != nil {
		return err
	}
	n := in[0].Len()
	if k.x, err = numbers(s, k, k.x, n); err != nil {
		return err
	}
	if k.power, err = numbers(s, k, k.power, n); err != nil { // as measure sets it, of n at most
		return err
	}
	if err := imaging.Cast(datum.BytesOf(k.x), datum.Float64, in[0].Bytes(), datum.DType(in[0].DType())); err != nil {
		return err
	}
	window := min(k.window, n)
	k.measure(window)
	least := k.reference
	if least == 0 {
		least = slices.Max(k.power)
	}
	least *= k.ratio
	first := slices.IndexFunc(k.power, func(p float64) bool { return p >= least })
	result := [2]int32{}
	if first >= 0 {
		last := first
		for i := first; i < len(k.power); i++ {
			if k.power[i] >= least {
				last = i
			}
		}
		result = [2]int32{int32(first), int32(last - first + window)}
	}
	for i, r := range result {
		if _, err := out[i].Resize(); err != nil {
			return err
		}
		out[i].Int32s()[0] = r
	}
	return nil
}

// measure sets the mean square of every window. Sums begin anew after each window, so that
// rounding does not add up.
func (k *silence) measure(window int) {
	k.power = k.power[:0]
	sum := 0.0
	for i := 0; i+window <= len(k.x); i++ {
		if i%window == 0 {
			sum = 0
			for _, x := range k.x[i : i+window] {
				sum += float64(x * x)
			}
		} else {
			in, gone := k.x[i+window-1], k.x[i-1]
			sum += float64(in*in) - float64(gone*gone)
		}
		k.power = append(k.power, max(sum, 0)/float64(window))
	}
}
