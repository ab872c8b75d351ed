package pipeline

import (
	"fmt"

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
	p      *Pipeline
	driver int
	others []*shard.Plan // by reader; nil for the driver and for those that follow
}

// Orders returns the orders of a pipeline that the reader at the given position drives,
// by a plan of its Reader.PlanConfig. It fails where another reader cannot be planned.
func (p *Pipeline) Orders(driver int) (*Orders, error) {
	o := &Orders{p: p, driver: driver, others: make([]*shard.Plan, len(p.readers))}
	for i, r := range p.readers {
		if i == driver || r.leader != nil {
			continue
		}
		plan, err := shard.New(r.PlanConfig(p.opt.BatchSize, p.opt.Seed))
		if err != nil {
			return nil, fmt.Errorf("pipeline: reader %q: %w", r.Name, err)
		}
		o.others[i] = plan
	}
	return o, nil
}

// AppendBatch is that of Feed, where the driver goes by plan.
func (o *Orders) AppendBatch(dst []int64, plan *shard.Plan, reader int, epoch, step int64) []int64 {
	id := o.p.readers[o.driver].ShardID
	other := o.others[reader]
	if other == nil {
		return plan.AppendBatch(dst, epoch, step, id)
	}
	return other.AppendRows(dst, plan.Taken(epoch, step, id), plan.Valid(epoch, step, id), o.p.readers[reader].ShardID)
}

// AppendEpochs is that of MixFeed, where the driver goes by plan.
func (o *Orders) AppendEpochs(dst []int64, plan *shard.Plan, epoch, step int64) []int64 {
	id := o.p.readers[o.driver].ShardID
	other := o.others[0]
	if other == nil {
		return plan.AppendEpochs(dst, epoch, step, id)
	}
	return other.AppendRowEpochs(dst, plan.Taken(epoch, step, id), plan.Valid(epoch, step, id), o.p.readers[0].ShardID)
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
	switch leader := o.p.readers[reader].leader; {
	case leader != nil:
		return "follows " + leader.Name
	case o.others[reader] != nil:
		return "reads on, " + o.others[reader].Fingerprint()
	}
	return ""
}
