package datum

import (
	"context"
	"iter"
)

// PlanReader is a Source that a run can tell what it is going to read: all samples in their
// order, epoch after epoch. So it can fetch them long before they are read, such as from a
// bucket.
type PlanReader interface {
	Source
	// LookAhead returns how many bytes of memory ReadPlan sets aside for what it fetches. They
	// count as the pipeline's memory. Where it is 0 ReadPlan is not called.
	LookAhead() int64
	// AheadBytes returns how many bytes are fetched for a sample.
	AheadBytes(index int64) int64
	// ReadPlan begins to fetch what comes. It ranges over coming in goroutines of its own, also
	// several times, and fetches until ctx ends or Close is called.
	ReadPlan(ctx context.Context, coming iter.Seq[Coming]) (PlanReads, error)
}

// Coming is a sample that a run is going to read.
type Coming struct {
	// Place is the row that the sample is read for, counted over the batches from the beginning
	// of the run. Places rise, and may leave numbers out.
	Place int64
	Index int64 // of the sample, as for Source.Read; Elsewhere where the row reads another source
	Epoch int64 // of the plan
	// Group is the same for samples that were shuffled together, such as those of some shards,
	// and differs where others follow. It is NoGroup where the plan keeps no samples together.
	Group int64
}

// Elsewhere is the Index of a row that reads another source of a mix, and stands for the rows of
// a batch that has none.
const Elsewhere = -1

// NoGroup is the Group of samples that belong to none.
const NoGroup = -1

// PlanReads reads the samples of one run. Its methods may be called by several goroutines at
// once, but for Close.
type PlanReads interface {
	// Read is Source.Read for the row at a place. It may be called for a place never, once or
	// several times, whatever coming said of it: a row may be made again.
	Read(ctx context.Context, place, index int64, out []*Tensor) error
	// Done says that the rows of the places from first to before end are made, and are not read
	// again.
	Done(first, end int64)
	// Close ends the fetching, waits for it, and gives the memory back. No Read follows.
	Close()
}
