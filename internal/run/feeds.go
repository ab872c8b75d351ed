package run

import (
	"iter"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// Feed returns the feed of a run whose driver goes by plan, from a batch on: epoch after
// epoch, until the plan has ended (shard.Plan.Ended). The plan must have steps
// (shard.Plan.CheckSteps). Where samples of the first reader may come several times in an
// epoch it is a MixFeed.
func (o *Orders) Feed(plan *shard.Plan, epoch, step int64) Feed {
	first := place{epoch: epoch, step: step}
	f := planFeed{orders: o, plan: plan, first: first, at: first}
	if o.readers[0].Mixes || o.driver == 0 && plan.Repeats() {
		return &visitFeed{f}
	}
	return &f
}

// planFeed is the feed of Orders.Feed.
type planFeed struct {
	orders    *Orders
	plan      *shard.Plan
	first, at place // of batch 0, and of the batch that Locate was asked for last
}

// visitFeed is a planFeed that tells the visits of samples.
type visitFeed struct{ planFeed }

// place is where batch seq of a run is.
type place struct{ seq, epoch, step int64 }

// Locate implements Feed.
func (f *planFeed) Locate(seq int64) (epoch, step int64, ok bool) {
	if seq < f.at.seq { // a run that could not begin is begun again
		f.at = f.first
	}
	f.at.step += seq - f.at.seq
	f.at.seq = seq
	for {
		steps := f.plan.Steps(f.at.epoch)
		switch {
		case f.at.step < steps:
			return f.at.epoch, f.at.step, true
		case f.plan.Ended(f.at.epoch):
			return 0, 0, false
		}
		f.at.epoch, f.at.step = f.at.epoch+1, f.at.step-steps
	}
}

// AppendBatch implements Feed.
func (f *planFeed) AppendBatch(dst []int64, reader int, epoch, step int64) []int64 {
	return f.orders.AppendBatch(dst, f.plan, reader, epoch, step)
}

// AppendEpochs implements MixFeed.
func (f *visitFeed) AppendEpochs(dst []int64, epoch, step int64) []int64 {
	return f.orders.appendEpochs(dst, f.plan, epoch, step)
}

// Coming implements ForeseenFeed.
func (f *planFeed) Coming(reader int) iter.Seq[datum.Coming] {
	orders, plan, first := f.orders, f.plan, f.first
	rows := int64(plan.Config().Batch)
	return func(yield func(datum.Coming) bool) {
		at := planFeed{orders: orders, plan: plan, first: first, at: first}
		var ids, groups []int64
		for seq := int64(0); ; seq++ {
			epoch, step, ok := at.Locate(seq)
			if !ok {
				return
			}
			ids, groups = orders.appendComing(ids[:0], groups[:0], plan, reader, epoch, step)
			if len(ids) == 0 && !yield(datum.Coming{Place: seq * rows, Index: datum.Elsewhere, Epoch: epoch, Group: datum.NoGroup}) {
				return // a rank may have no rows for good: whoever ranges must come up for air
			}
			for row, id := range ids {
				if !yield(datum.Coming{Place: seq*rows + int64(row), Index: id, Epoch: epoch, Group: groups[row]}) {
					return
				}
			}
		}
	}
}

// SequenceFeed is the feed of a pipeline that reads a sequence, which is one epoch, until
// the data end.
type SequenceFeed struct {
	Epoch int64 // its number
}

// Locate implements Feed.
func (f SequenceFeed) Locate(seq int64) (epoch, step int64, ok bool) { return f.Epoch, seq, true }

// AppendBatch implements Feed; it is not asked for sequences.
func (f SequenceFeed) AppendBatch(dst []int64, _ int, _, _ int64) []int64 { return dst }
