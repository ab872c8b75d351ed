package iterator

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// feed is the pipeline.MixFeed of one pipeline: the epochs of a plan, from a
// position on.
type feed struct {
	orders *pipeline.Orders
	plan   *shard.Plan // of the driving reader

	// The place of batch seq, which Locate moves.
	seq, epoch, step int64
}

// feed returns the feed of a pipeline from a position on.
func (p *part) feed(plan *shard.Plan, epoch, step int64) pipeline.Feed {
	if plan == nil {
		return sequence{epoch}
	}
	return &feed{orders: p.orders, plan: plan, epoch: epoch, step: step}
}

// Locate implements pipeline.Feed.
func (f *feed) Locate(seq int64) (epoch, step int64, ok bool) {
	f.step += seq - f.seq
	f.seq = seq
	for f.step >= f.plan.Steps(f.epoch) {
		if spent(f.plan, f.epoch) {
			return 0, 0, false
		}
		f.epoch, f.step = f.epoch+1, 0
	}
	return f.epoch, f.step, true
}

// spent reports whether a plan ends before an epoch. Exact plans do not end.
func spent(plan *shard.Plan, epoch int64) bool {
	return epoch >= shard.MaxDALIEpochs && plan.Config().Mode == shard.DALI
}

// AppendBatch implements pipeline.Feed.
func (f *feed) AppendBatch(dst []int64, reader int, epoch, step int64) []int64 {
	return f.orders.AppendBatch(dst, f.plan, reader, epoch, step)
}

// AppendEpochs implements pipeline.MixFeed.
func (f *feed) AppendEpochs(dst []int64, epoch, step int64) []int64 {
	return f.orders.AppendEpochs(dst, f.plan, epoch, step)
}

// sequence is the pipeline.Feed of a reader without length: one epoch, until
// the data end.
type sequence struct{ epoch int64 }

// Locate implements pipeline.Feed.
func (f sequence) Locate(seq int64) (epoch, step int64, ok bool) { return f.epoch, seq, true }

// AppendBatch implements pipeline.Feed; it is not asked for sequences.
func (f sequence) AppendBatch(dst []int64, _ int, _, _ int64) []int64 { return dst }
