package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/shard"
)

// The feed of a plan names its batches one after the other, from any batch on, whether the
// run is begun once or again, and whether or not each batch is asked for.
func TestPlanFeedGoesFromBatchToBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, batch := rapid.Int64Range(2, 20).Draw(t, "samples"), rapid.IntRange(1, 5).Draw(t, "batch")
		p, err := New(Options{BatchSize: batch}, func(g *Graph) {
			g.Output("x", g.Read(ReaderOptions{Shuffle: true}, numbers{n: n})[0])
		})
		require.NoError(t, err)
		cfg := p.Readers()[0].PlanConfig(batch, 7)
		cfg.Mode = rapid.SampledFrom([]shard.Mode{shard.Exact, shard.DALI}).Draw(t, "mode")
		cfg.Shuffle = cfg.Mode == shard.Exact
		plan, err := shard.New(cfg)
		require.NoError(t, err)
		orders, err := p.Engine().Orders(0)
		require.NoError(t, err)

		epoch := rapid.Int64Range(0, 3).Draw(t, "epoch")
		step := rapid.Int64Range(0, plan.Steps(epoch)-1).Draw(t, "step")
		feed := orders.Feed(plan, epoch, step)
		for range 3 {
			e, s := epoch, step
			last := rapid.Int64Range(0, 30).Draw(t, "last")
			for seq := range last + 1 {
				if seq == last || rapid.IntRange(0, 3).Draw(t, "asked") > 0 {
					gotEpoch, gotStep, ok := feed.Locate(seq)
					require.True(t, ok)
					require.Equal(t, []int64{e, s}, []int64{gotEpoch, gotStep}, "batch %d", seq)
					require.Equal(t, plan.AppendBatch(nil, e, s, 0), feed.AppendBatch(nil, 0, e, s))
				}
				if s++; s == plan.Steps(e) {
					e, s = e+1, 0
				}
			}
		}
	})
}

// A plan in DALI mode ends, and so does its feed.
func TestPlanFeedEndsWithThePlan(t *testing.T) {
	p, err := New(Options{BatchSize: 2}, func(g *Graph) { g.Output("x", g.Read(ReaderOptions{}, numbers{n: 4})[0]) })
	require.NoError(t, err)
	cfg := p.Readers()[0].PlanConfig(2, 0)
	cfg.Mode = shard.DALI
	plan, err := shard.New(cfg)
	require.NoError(t, err)
	orders, err := p.Engine().Orders(0)
	require.NoError(t, err)
	feed := orders.Feed(plan, shard.MaxDALIEpochs-1, 1)
	_, _, ok := feed.Locate(0)
	require.True(t, ok)
	for seq := range int64(3) {
		_, _, ok = feed.Locate(1 + seq)
		require.False(t, ok)
	}
}
