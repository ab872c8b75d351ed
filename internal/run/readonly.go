package run

import (
	"hash/maphash"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
)

// Inputs are shared: other operators read them, they may be rows of the batch, and
// what a reader lends is the data set itself. An operator that writes into one changes
// all of these. Copies would cost every operator what only a wrong one needs, so
// inputs are read-only by contract, and builds with the tag invariants check it.

// sumSeed is of the sums of inputs.
var sumSeed = maphash.MakeSeed()

// apply runs an operator on a sample.
func (w *worker) apply(s *step) error {
	if !memstats.Invariants {
		return s.kernel.Run(&w.sample, s.in, s.out)
	}
	before := make([]uint64, len(s.in))
	for i, t := range s.in {
		before[i] = sumOf(t)
	}
	if err := s.kernel.Run(&w.sample, s.in, s.out); err != nil {
		return err
	}
	for i, t := range s.in {
		if sumOf(t) != before[i] {
			return &fault.WroteInputError{Input: i}
		}
	}
	if w.gather != nil {
		if i := w.gather.steps[w.at].wrote; i >= 0 {
			return &fault.WroteInputError{Input: i}
		}
	}
	return nil
}

// sumOf returns a hash of all that an operator reads of t.
func sumOf(t *datum.Tensor) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	maphash.WriteComparable(&h, t.DType())
	maphash.WriteComparable(&h, t.Layout())
	for _, d := range t.Shape() {
		maphash.WriteComparable(&h, d)
	}
	_, _ = h.Write(datum.Shown(t)) // which never fails
	return h.Sum64()
}

// batchSums are hashes of the inputs of an operator for whole batches; nil in builds
// without the tag invariants.
type batchSums []uint64

func sumsOf(in []batchop.Tensor) batchSums {
	if !memstats.Invariants {
		return nil
	}
	sums := make(batchSums, len(in))
	for i := range in {
		sums[i] = maphash.Bytes(sumSeed, in[i].Data)
	}
	return sums
}

// changed returns a *WroteInputError if an input has changed.
func (s batchSums) changed(in []batchop.Tensor) error {
	for i, sum := range s {
		if maphash.Bytes(sumSeed, in[i].Data) != sum {
			return &fault.WroteInputError{Input: i}
		}
	}
	return nil
}

// sumsOfRows are hashes of the inputs of a datum.RowsKernel; nil in builds without the tag
// invariants.
func sumsOfRows(in []datum.Rows) (sums []uint64) {
	if memstats.Invariants {
		for i := range in {
			sums = append(sums, maphash.Bytes(sumSeed, in[i].Data))
		}
	}
	return sums
}
