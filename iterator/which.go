package iterator

import (
	"fmt"
	"iter"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// Sample is what one row of a step reads with one reader, for Loader.Which.
type Sample struct {
	Part   int    // the pipeline, in the order given to New
	Row    int    // of that pipeline's batch
	Reader string // the reader's name
	ID     int64  // in what the reader shows: of the first reader, as in Batch.IDs
	Source int    // of a mix, the place of the source that the sample comes from; or 0
	Index  int64  // in the data set as a whole: of the first reader, datum.Sample.Index
	Name   string // what the source calls the sample, such as a path below a folder
	Label  int64  // the class label; datum.NoLabel where the source knows of none
}

// Which returns what the rows of a step hold, from the plan alone: nothing is read, and
// the loader stays where it is. Samples come in the order of the pipelines, their
// rows and their readers; rows without a sample are left out. It may be called in the body
// of a loop, for the batch at hand by Which(batch.Epoch(), batch.Step()).
//
// Steps count as Batch.Step does: where the number of ranks has changed within the epoch,
// from that change on. Samples that were skipped or replaced since they are bad
// (pipeline.Options.OnError) are in there, as the plan does not know of them.
//
// A step that is not in the plan is a *shard.PositionError. A sequence has no plan and
// cannot say what was in its steps.
func (l *Loader) Which(epoch, step int64) ([]Sample, error) {
	if l.plan == nil {
		return nil, fmt.Errorf("%w, and does not know which samples its steps held", errSequence)
	}
	if err := l.checkEpoch(epoch); err != nil {
		return nil, err
	}
	if steps := l.plan.Steps(epoch); step < 0 || step >= steps {
		return nil, &shard.PositionError{Field: "Step", Value: step, Want: fmt.Sprintf("0 to %d in epoch %d", steps-1, epoch)}
	}
	var all []Sample
	for i := range l.parts {
		all = l.parts[i].which(all, i, l.plan, epoch, step)
	}
	return all, nil
}

// Find ranges over the samples of the reader that drives the loader that have a name, as
// in Sample.Name, by their ids. It looks at the names of all samples; a sequence has none.
func (l *Loader) Find(name string) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		r := l.parts[0].reader()
		for id := range max(r.Len(), 0) {
			if datum.EntryOf(r.Source, id).Name == name && !yield(id) {
				return
			}
		}
	}
}

// Places ranges over the steps, ranks and rows of an epoch in which a sample of the reader
// that drives the loader comes, by its id as in Batch.IDs: on all ranks of the plan, not only
// those of the loader. See shard.Plan.Places for what it costs. The error is that of Which.
func (l *Loader) Places(epoch, id int64) (iter.Seq[shard.Place], error) {
	if l.plan == nil {
		return nil, fmt.Errorf("%w, and does not know in which steps a sample comes", errSequence)
	}
	if err := l.checkEpoch(epoch); err != nil {
		return nil, err
	}
	return l.plan.Places(epoch, id), nil
}

// checkEpoch refuses what is no epoch of the plan.
func (l *Loader) checkEpoch(epoch int64) error {
	switch {
	case epoch < 0:
		return &shard.PositionError{Field: "Epoch", Value: epoch, Want: "a number from 0 on"}
	case l.plan.Ended(epoch):
		return &shard.PositionError{Field: "Epoch", Value: epoch, Want: fmt.Sprintf("less than %d in DALI mode", shard.MaxDALIEpochs)}
	}
	return nil
}

// which appends the samples of the valid rows of a step.
func (p *part) which(dst []Sample, number int, plan *shard.Plan, epoch, step int64) []Sample {
	readers := p.pipe.Readers()
	ids, feed := make([][]int64, len(readers)), p.orders.Feed(plan, epoch, step)
	rows := p.pipe.Options().BatchSize
	for i, r := range readers {
		if r.Leader() == nil {
			ids[i] = feed.AppendBatch(nil, i, epoch, step)
			rows = min(rows, len(ids[i]))
		}
	}
	for row := range rows {
		for i, r := range readers {
			s := Sample{Part: number, Row: row, Reader: r.Name}
			if leader := r.Leader(); leader != nil {
				s.ID = leader.WholeIndex(ids[slices.Index(readers, leader)][row])
			} else {
				s.ID = ids[i][row]
			}
			s.Source, _ = r.Locate(s.ID)
			s.Index = r.WholeIndex(s.ID)
			entry := datum.EntryOf(r.Source, s.ID)
			s.Name, s.Label = entry.Name, entry.Label
			dst = append(dst, s)
		}
	}
	return dst
}
