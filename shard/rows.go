package shard

import (
	"math"
	"slices"
)

// A plan cuts what a rank reads into batches. The functions here see it as one row of
// samples instead, epoch after epoch, for data that are read beside those of another
// plan and at its pace.

// Taken returns how many rows with a sample a rank has had before a step, since the
// beginning of epoch 0, in a world that has always been that of p. In DALI mode it is 0.
// After 2^63 rows the count begins anew.
func (p *Plan) Taken(epoch, step int64, rank int) int64 {
	if p.dali != nil {
		return 0
	}
	c := &p.cfg
	n, shards, k := p.n, int64(c.Shards), int64(rank)
	rows := min(step, p.steps) * int64(c.Batch)
	each := p.steps * int64(c.Batch) // rows of an epoch
	switch {
	case c.Policy != Partial:
	case c.Partition == ByStep:
		last := n - (p.steps-1)*c.globalBatch()
		each += start(last, shards, k+1) - start(last, shards, k) - int64(c.Batch)
	case c.StickToShard:
		each = start(n, shards, k+1) - start(n, shards, k)
	default:
		// The shards of a rank lie one behind the other in the list.
		now := (k + epoch) % shards
		before := (k+epoch)/shards*n + start(n, shards, now) - start(n, shards, k)
		return (before + min(rows, start(n, shards, now+1)-start(n, shards, now))) & math.MaxInt64
	}
	return (epoch*each + min(rows, each)) & math.MaxInt64
}

// AppendRows appends n samples to dst: those that a rank reads from row first on, counted
// since the beginning of epoch 0, if its epochs follow each other from row to row. Each
// epoch is that of [Partial], every sample of the rank's shard once, wherever batches
// begin. With PadLastBatch it ends with repeats of its last sample instead, until whole
// batches are full on every rank. A rank whose shard is empty for good repeats the last
// sample of the list. The policy, the mode and the partition by step have no effect.
func (p *Plan) AppendRows(dst []int64, first int64, n, rank int) []int64 {
	return p.appendRows(dst, first, n, rank, p.order.Samples)
}

// AppendRowEpochs appends, for the samples of [Plan.AppendRows], the visits that
// [Plan.AppendEpochs] tells.
func (p *Plan) AppendRowEpochs(dst []int64, first int64, n, rank int) []int64 {
	return p.appendRows(dst, first, n, rank, p.order.Visits)
}

// appendRows appends the list positions of rows, with those of an epoch replaced at a time.
func (p *Plan) appendRows(dst []int64, first int64, n, rank int, replace func(epoch int64, list []int64)) []int64 {
	dst = slices.Grow(dst, n)
	begun, of := len(dst), int64(0)
	for i := range int64(n) {
		epoch, pos := p.row(first+i, int64(rank))
		if epoch != of {
			replace(of, dst[begun:])
			begun, of = len(dst), epoch
		}
		dst = append(dst, pos)
	}
	replace(of, dst[begun:])
	return dst
}

// row returns the epoch of a row of a rank, and the row's position in the list.
func (p *Plan) row(row, rank int64) (epoch, pos int64) {
	c := &p.cfg
	n, shards := p.n, int64(c.Shards)
	row &= math.MaxInt64
	switch {
	case c.PadLastBatch:
		each := ceilDiv(ceilDiv(n, shards), int64(c.Batch)) * int64(c.Batch)
		epoch = row / each
		lo, size := p.span(c.shardOf(epoch, rank))
		return epoch, lo + min(row%each, size-1)
	case c.StickToShard:
		lo, size := p.span(rank)
		return row / size, lo + row%size
	}
	// The shards of a rank lie one behind the other in the list.
	at := start(n, shards, rank) + row%n
	turns := row/n + at/n
	at %= n
	return (turns*shards + owner(n, shards, at) - rank) & math.MaxInt64, at
}

// span returns where shard k lies in the list; an empty one is the last sample.
func (p *Plan) span(k int64) (lo, size int64) {
	n, shards := p.n, int64(p.cfg.Shards)
	lo = start(n, shards, k)
	if size = start(n, shards, k+1) - lo; size == 0 {
		return n - 1, 1
	}
	return lo, size
}
