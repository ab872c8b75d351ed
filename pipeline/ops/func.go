package ops

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// FuncOptions configures Func.
type FuncOptions struct {
	Name      string       // in errors and statistics; default "func"
	Outputs   []datum.Spec // what the function makes, one entry per output
	Expensive bool         // takes more than some microseconds per sample
	// Rows does for n samples at once what the function does for each, as datum.RowsKernel.RunRows
	// says; it may be nil. It is called by several workers at once, where all that the
	// pipeline makes of single samples is made many at a time; not where Expensive is set, since a
	// call cannot be ended.
	Rows   func(n int, in, out []datum.Rows) bool
	Config string // stands for the function in pipeline.Pipeline.Fingerprint; change it when its results change
}

// Func adds a function of the user's own. It is called once per sample, by
// several workers at once, with one tensor per input and output.
//
// Inputs are read-only: other operators and outputs show the same memory, and it may be
// the data set itself. Builds with the tag invariants find functions that write there.
//
// The function gives every output its shape with Resize and writes all of it, or
// returns an error; an output that it leaves as it was fails the sample with a
// *datum.NotWrittenError. Out tensors of a known shape are rows of the batch: what
// is written there is what the consumer reads.
func Func(g *pipeline.Graph, o FuncOptions, f func(c *datum.Sample, in, out []*datum.Tensor) error, inputs ...pipeline.Value) []pipeline.Value {
	if o.Name == "" {
		o.Name = "func"
	}
	op := pipeline.Op{Name: o.Name, Inputs: inputs, Outputs: o.Outputs, New: each(f), Expensive: o.Expensive, Config: o.Config}
	if o.Rows != nil && !o.Expensive {
		op.New = func() (datum.Kernel, error) { return funcOfRows{f, o.Rows}, nil }
	}
	return g.Add(op)
}

// funcOfRows is a function that takes many samples at once.
type funcOfRows struct {
	datum.KernelFunc
	rows func(n int, in, out []datum.Rows) bool
}

// RunRows implements datum.RowsKernel.
func (k funcOfRows) RunRows(n int, in, out []datum.Rows) bool { return k.rows(n, in, out) }
