package shard

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyRows draws a plan without an end in sight: any order, world, policy and partition.
func anyRows(t *rapid.T) Config {
	c := Config{
		Samples: rapid.Int64Range(1, 40).Draw(t, "samples"),
		Batch:   rapid.IntRange(1, 9).Draw(t, "batch"),
		Shards:  rapid.IntRange(1, 6).Draw(t, "shards"),
		Policy:  rapid.SampledFrom([]Policy{Partial, Fill, Drop}).Draw(t, "policy"),
		Shuffle: rapid.Bool().Draw(t, "shuffle"), Seed: rapid.Uint64().Draw(t, "seed"),
		PadLastBatch: rapid.Bool().Draw(t, "pad"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		c.Partition = ByStep
	case 1:
		c.StickToShard = true
	case 2:
		c.Sources, c.Weights = []int64{5, 1, 7}, []int64{3, 1, 2}
	}
	if c.Shuffle {
		drawBlocks(t, &c, 4)
	}
	return c
}

// A step begins behind all the rows that batches before it have shown.
func TestTakenCountsTheRowsBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(anyRows(t))
		require.NoError(t, err)
		rank := rapid.IntRange(0, p.cfg.Shards-1).Draw(t, "rank")
		var rows int64
		for epoch := range int64(2*p.cfg.Shards + 1) {
			for step := range p.Steps(epoch) {
				require.Equal(t, rows, p.Taken(epoch, step, rank), "epoch %d, step %d", epoch, step)
				rows += int64(p.Valid(epoch, step, rank))
			}
			require.Equal(t, rows, p.Taken(epoch, p.Steps(epoch), rank))
		}
	})
}

// Rows are the epochs of the policy Partial by shard, one behind the other, from wherever
// they are asked for; padded ones those of Fill.
func TestRowsAreTheEpochsOneBehindTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyRows(t)
		p, err := New(c)
		require.NoError(t, err)
		c.Partition, c.Policy = ByShard, Partial
		if c.PadLastBatch {
			c.Policy = Fill
		}
		model, err := New(c)
		require.NoError(t, err)
		rank := rapid.IntRange(0, c.Shards-1).Draw(t, "rank")
		empty := c.StickToShard && start(c.Samples, int64(c.Shards), int64(rank)) == start(c.Samples, int64(c.Shards), int64(rank+1))
		if empty && c.Policy == Partial {
			ids := p.AppendRows(nil, 0, 5, rank)
			require.Len(t, ids, 5, "there is a sample for every row")
			return
		}
		var ids, epochs []int64
		for epoch := range int64(3*c.Shards + 1) {
			for step := range model.Steps(epoch) {
				ids = model.AppendBatch(ids, epoch, step, rank)
				epochs = model.AppendEpochs(epochs, epoch, step, rank)
			}
		}
		first := rapid.IntRange(0, len(ids)).Draw(t, "first")
		n := rapid.IntRange(0, len(ids)-first).Draw(t, "n")
		require.Equal(t, ids[first:first+n], p.AppendRows([]int64{}, int64(first), n, rank))
		require.Equal(t, epochs[first:first+n], p.AppendRowEpochs([]int64{}, int64(first), n, rank))
	})
}

// No row is so far away that it has no sample.
func TestRowsThatAreFarAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyRows(t)
		p, err := New(c)
		require.NoError(t, err)
		sum := int64(0)
		for _, n := range c.Sources {
			sum += n
		}
		first := p.Taken(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "epoch"), 0, 0)
		require.GreaterOrEqual(t, first, int64(0))
		for _, first := range []int64{first, math.MaxInt64 - 2} {
			for _, id := range p.AppendRows(nil, first, 5, c.Shards-1) {
				require.True(t, 0 <= id && id < max(c.Samples, sum), "sample %d of row %d", id, first)
			}
			for _, e := range p.AppendRowEpochs(nil, first, 5, c.Shards-1) {
				require.GreaterOrEqual(t, e, int64(0))
			}
		}
	})
}

func TestRowsReadOn(t *testing.T) {
	p, err := New(Config{Samples: 3, Batch: 4, Shards: 1, Policy: Fill})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2, 0}, p.AppendRows(nil, 0, 4, 0))
	require.Equal(t, []int64{1, 2, 0, 1}, p.AppendRows(nil, 4, 4, 0))
}
