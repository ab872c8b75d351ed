package shard

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Places are the rows that AppendBatch has a sample in, each once.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Samples: rapid.Int64Range(1, 30).Draw(t, "samples"), Batch: rapid.IntRange(1, 5).Draw(t, "batch"), Shards: rapid.IntRange(1, 4).Draw(t, "shards"),
			Policy: rapid.SampledFrom([]Policy{Partial, Fill, Drop}).Draw(t, "policy"), PadLastBatch: rapid.Bool().Draw(t, "pad"),
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			c.Mode, c.Shards = DALI, min(c.Shards, int(c.Samples))
		case 1:
			c.Sources, c.Weights = []int64{3, 8}, []int64{1, 2}
		case 2:
			c.Partition = ByStep
		}
		c.Shuffle = c.Mode == Exact && rapid.Bool().Draw(t, "shuffle")
		p, err := New(c)
		require.NoError(t, err)
		epoch := rapid.Int64Range(0, 4).Draw(t, "epoch")
		if c.Mode == Exact && p.Steps(0) > 1 && rapid.Bool().Draw(t, "resumed") {
			epoch = 0
			c.Shards, c.Batch = c.Shards+1, max(1, c.Batch-1)
			p, err = p.Resume(Position{Phases: []Phase{{Shards: c.Shards, Batch: c.Batch, Steps: min(1, p.Steps(0)-1)}}})
			if err != nil {
				t.Skip(err)
			}
		}
		sample := rapid.Int64Range(0, 30).Draw(t, "sample")
		var want []Place
		for step := range p.Steps(epoch) {
			for rank := range p.Config().Shards {
				for row, id := range p.AppendBatch(nil, epoch, step, rank) {
					if id == sample {
						want = append(want, Place{step, rank, row})
					}
				}
			}
		}
		require.Equal(t, want, slices.Collect(p.Places(epoch, sample)))
		for place := range p.Places(epoch, sample) {
			require.Equal(t, want[0], place)
			break
		}
	})
}
