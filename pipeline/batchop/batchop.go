// Package batchop has what an author of an operator for whole batches needs: the kernel,
// and the values that it reads and writes. pipeline.Graph.AddBatch adds the operator.
package batchop

import (
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// Kernel does an operator's work for one batch at a time.
type Kernel interface {
	// Run reads in, which it must not write, and writes out, which holds anything, for
	// all rows; rows that are not valid are zero and may be left out. A valid row of
	// 16 bytes or more that an operator on the host leaves as it was, or an output of
	// shorter rows that it does not write at all, ends the run with a
	// *datum.NotWrittenError. The context is that of the operator's stream, nil for one on
	// the host. An output in the memory of a device must be zero in rows that are not
	// valid: nobody else can clear them.
	Run(c *streams.Context, in, out []Tensor) error
}

// KernelFunc is a function as a Kernel.
type KernelFunc func(c *streams.Context, in, out []Tensor) error

// Run calls f.
func (f KernelFunc) Run(c *streams.Context, in, out []Tensor) error { return f(c, in, out) }

// Tensor is one value of a whole batch: the samples one after the other.
// The memory is the batch's: of the host; page-locked where an operator of a
// device reads it; or, for what such an operator writes, of the device, an address
// and a length.
type Tensor struct {
	Spec datum.Spec // of one sample
	Mask []bool     // which rows are valid
	Data []byte
}

// Row returns row r.
func (t *Tensor) Row(r int) []byte {
	n := t.Spec.Bytes()
	return t.Data[r*n : (r+1)*n]
}
