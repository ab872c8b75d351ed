package iterator

import "github.com/planktonml/plankton/shard"

// feed is the pipeline.Feed of one rank: the epochs of plans, from a position
// on. Locate moves a cursor and belongs to the runner's consumer.
type feed struct {
	plan  *shard.Plan // of the driving reader
	plans []*shard.Plan
	drive int // the driving reader
	ranks []int

	seq         int64
	epoch, step int64
}

// Locate implements pipeline.Feed.
func (f *feed) Locate(seq int64) (epoch, step int64, ok bool) {
	for ; f.seq < seq; f.seq++ {
		f.step++
	}
	for f.step >= f.plan.Steps(f.epoch) {
		f.epoch, f.step = f.epoch+1, 0
	}
	return f.epoch, f.step, true
}

// Sample implements pipeline.Feed. A reader that does not drive goes through
// its own epochs at the pace of the driver's steps.
func (f *feed) Sample(reader int, epoch, step int64, row int) (int64, bool) {
	plan, rank := f.plans[reader], f.ranks[reader]
	if reader != f.drive {
		total := epoch*f.plan.Steps(epoch) + step
		own := plan.Steps(0)
		epoch, step = total/own, total%own
	}
	return plan.Sample(epoch, step, rank, row)
}

// sequence is the pipeline.Feed of a reader without length: one epoch, until
// the data end.
type sequence struct{ epoch int64 }

// Locate implements pipeline.Feed.
func (f sequence) Locate(seq int64) (epoch, step int64, ok bool) { return f.epoch, seq, true }

// Sample implements pipeline.Feed; it is not asked for sequences.
func (f sequence) Sample(int, int64, int64, int) (int64, bool) { return 0, false }
