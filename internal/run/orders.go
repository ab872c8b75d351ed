package run

import (
	"fmt"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// Orders says which samples the readers of a pipeline read when one of them, the driver,
// goes by a plan:
//
//   - The driver reads the batches of the plan.
//   - A reader that follows another one (ReaderOptions.Follow) reads what belongs to the
//     samples of that one. A Feed is not asked for it.
//   - Every other reader goes through epochs of its own, in an order of its own if it
//     shuffles, and reads on from row to row: the first row of a batch has the sample
//     behind that of the last valid row of the batch before, also from epoch to epoch.
//     None of its samples is left out, and none comes again before all others came, but
//     for what PadLastBatch repeats.
//
// Reader i shuffles by the pipeline's seed plus i, whichever reader drives.
type Orders struct {
	readers []compiled.Reader
	driver  int
	others  []*shard.Plan // by reader; nil for the driver and for those that follow
}

// Orders returns the orders of a pipeline that the reader at the given position drives,
// by a plan of its compiled.Reader.Plan. It fails where there is no such
// reader, where the reader follows another one, and where another reader cannot be planned.
func (e *Engine) Orders(driver int) (*Orders, error) {
	readers := e.p.Readers()
	if driver < 0 || driver >= len(readers) {
		return nil, fmt.Errorf("pipeline: there is no reader %d to drive; the pipeline has %d, counted from 0", driver, len(readers))
	}
	if leader := readers[driver].Leader; leader >= 0 {
		return nil, fmt.Errorf("pipeline: reader %q follows reader %q and cannot drive", readers[driver].Name, readers[leader].Name)
	}
	o := &Orders{readers: readers, driver: driver, others: make([]*shard.Plan, len(readers))}
	for i, r := range readers {
		if i == driver || r.Leader >= 0 {
			continue
		}
		plan, err := shard.New(r.Plan)
		if err != nil {
			return nil, fmt.Errorf("pipeline: reader %q: %w", r.Name, err)
		}
		o.others[i] = plan
	}
	return o, nil
}

// AppendBatch is Feed.AppendBatch where the driver goes by plan.
func (o *Orders) AppendBatch(dst []int64, plan *shard.Plan, reader int, epoch, step int64) []int64 {
	id := o.readers[o.driver].ShardID
	other := o.others[reader]
	if other == nil {
		return plan.AppendBatch(dst, epoch, step, id)
	}
	return other.AppendRows(dst, plan.Taken(epoch, step, id), plan.Valid(epoch, step, id), o.readers[reader].ShardID)
}

// appendComing is AppendBatch for any reader that has a source, with the groups of
// datum.Coming.
func (o *Orders) appendComing(ids, groups []int64, plan *shard.Plan, reader int, epoch, step int64) (_, _ []int64) {
	from := reader
	if leader := o.readers[reader].Leader; leader >= 0 {
		from = leader
	}
	ids = o.AppendBatch(ids, plan, from, epoch, step)
	if from != reader {
		for i, id := range ids {
			ids[i] = o.readers[from].Index(id)
		}
	}
	if from == o.driver {
		return ids, plan.AppendShuffleGroups(groups, epoch, step, o.readers[from].ShardID)
	}
	for range ids {
		groups = append(groups, datum.NoGroup)
	}
	return ids, groups
}

// appendEpochs is MixFeed.AppendEpochs where the driver goes by plan.
func (o *Orders) appendEpochs(dst []int64, plan *shard.Plan, epoch, step int64) []int64 {
	id := o.readers[o.driver].ShardID
	other := o.others[0]
	if other == nil {
		return plan.AppendEpochs(dst, epoch, step, id)
	}
	return other.AppendRowEpochs(dst, plan.Taken(epoch, step, id), plan.Valid(epoch, step, id), o.readers[0].ShardID)
}

// ReadOn reports whether a reader reads on at the driver's pace. Where it stands depends
// on all that the driver has read, so the driver must be in exact mode, in one world.
func (o *Orders) ReadOn() bool {
	for _, other := range o.others {
		if other != nil {
			return true
		}
	}
	return false
}

// Fingerprint identifies the order of a reader that does not drive; it is empty for the
// driver, whose plan has one.
func (o *Orders) Fingerprint(reader int) string {
	switch leader := o.readers[reader].Leader; {
	case leader >= 0:
		return "follows " + o.readers[leader].Name
	case o.others[reader] != nil:
		return "reads on, " + o.others[reader].Fingerprint()
	}
	return ""
}
