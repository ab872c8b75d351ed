package shard

import "iter"

// Place is a row of a batch of a rank.
type Place struct {
	Step int64
	Rank int
	Row  int
}

// Places ranges over the rows of an epoch that hold a sample, in the order of the steps
// and, within a step, of the ranks. Under [Partial] and [Drop] there is one at most in
// Exact mode where no sample repeats. It looks through the batches of the epoch: a million
// samples take some ten milliseconds. An epoch without end is looked through without end.
func (p *Plan) Places(epoch, sample int64) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		once := p.dali == nil && !p.Repeats() && p.cfg.Policy != Fill
		var ids []int64
		for step := range p.Steps(epoch) {
			for rank := range p.cfg.Shards {
				ids = p.AppendBatch(ids[:0], epoch, step, rank)
				for row, id := range ids {
					if id == sample && (!yield(Place{step, rank, row}) || once) {
						return
					}
				}
			}
		}
	}
}
