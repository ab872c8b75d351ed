package ops

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// known returns the numbers of an argument that are the same for all samples, and how many
// numbers it has; nil and -1 where they are not known before the pipeline runs.
func known(v pipeline.Value) (xs []float64, n int) {
	if xs := constants(v); xs != nil {
		return xs, len(xs)
	}
	s := v.Spec().Shape
	switch {
	case len(s) == 0:
		return nil, 1
	case len(s) == 1:
		return nil, s[0]
	}
	return nil, -1
}

// Args are the inputs of an operator: its data, and behind them the arguments that it takes
// per sample. Operators of other packages read such arguments with it.
type Args struct{ a args }

// NewArgs begins with the data of the operator of the given name.
func NewArgs(g *pipeline.Graph, op string, data ...pipeline.Value) *Args {
	return &Args{args{g, op, data}}
}

// Inputs returns the data and the arguments so far, for pipeline.Op.
func (a *Args) Inputs() []pipeline.Value { return a.a.inputs }

// Number adds an argument of one number per sample, or its default where v is not set.
func (a *Args) Number(name string, v pipeline.Value, def float64) Number {
	return Number{a.a.number(name, v, def)}
}

// Numbers adds an argument of several numbers per sample, an array of any shape, or its default.
func (a *Args) Numbers(name string, v pipeline.Value, def ...float64) Numbers {
	return Numbers{a.a.list(name, v, def...)}
}

// Number is an argument of one number per sample.
type Number struct{ arg arg }

// Of returns the number for the sample whose inputs are in.
func (n Number) Of(in []*datum.Tensor) (float64, error) { return n.arg.of(in) }

// Numbers is an argument of several numbers per sample. Each kernel has a copy of its own.
type Numbers struct{ list listArg }

// Of returns the numbers for the sample whose inputs are in, in row-major order. They are valid
// until the next call.
func (n *Numbers) Of(in []*datum.Tensor) ([]float64, error) { return n.list.of(in) }
