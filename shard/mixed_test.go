package shard

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyMix draws a config of several sources.
func anyMix(t *rapid.T) Config {
	cfg := Config{
		Samples: rapid.Int64Range(1, 60).Draw(t, "draws"),
		Batch:   rapid.IntRange(1, 7).Draw(t, "batch"),
		Shards:  rapid.IntRange(1, 4).Draw(t, "shards"),
		Sources: rapid.SliceOfN(rapid.Int64Range(1, 20), 1, 10).Draw(t, "sources"),
		Shuffle: rapid.Bool().Draw(t, "shuffle"),
		Seed:    rapid.Uint64().Draw(t, "seed"),

		Partition: rapid.SampledFrom([]Partition{ByShard, ByStep}).Draw(t, "partition"),
	}
	if cfg.Shuffle {
		drawBlocks(t, &cfg, 8)
	}
	for range cfg.Sources {
		cfg.Weights = append(cfg.Weights, rapid.Int64Range(1, 9).Draw(t, "weight"))
	}
	return cfg
}

// drawn is a sample in an epoch of its source.
type drawn struct{ id, epoch int64 }

// readDrawn lists what all ranks read in steps from to to-1 of an epoch.
func readDrawn(t require.TestingT, p *Plan, epoch, from, to int64) (all []drawn) {
	for step := from; step < to; step++ {
		for rank := range p.cfg.Shards {
			ids, epochs := p.AppendBatch(nil, epoch, step, rank), p.AppendEpochs(nil, epoch, step, rank)
			require.Equal(t, len(ids), len(epochs))
			for row, id := range ids {
				all = append(all, drawn{id, epochs[row]})
				one, ok := p.Sample(epoch, step, rank, row)
				if !ok || id != one { // require is slow
					require.Equal(t, id, one, "Sample differs from AppendBatch, %t", ok)
				}
			}
		}
	}
	return all
}

// Whatever the world, the draws of each epoch go on with the sources' own epochs: each
// of those has every sample once, and each source has given its share.
func TestMixedEpochsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyMix(t)
		p := mustNew(t, cfg)
		var total int64
		for _, w := range cfg.Weights {
			total += w
		}
		given := make([]int64, len(cfg.Sources)) // draws of the sources
		seen := map[drawn]int{}
		for epoch := range int64(4) {
			all := readDrawn(t, p, epoch, 0, p.Steps(epoch))
			require.Len(t, all, int(cfg.Samples))
			for _, d := range all {
				source, first := 0, int64(0)
				for d.id >= first+cfg.Sources[source] {
					first += cfg.Sources[source]
					source++
				}
				given[source]++
				seen[d]++
				require.Equal(t, 1, seen[d], "%+v comes twice", d)
			}
			draws, first := (epoch+1)*cfg.Samples, int64(0)
			for i, size := range cfg.Sources {
				off := given[i]*total - draws*cfg.Weights[i]
				require.True(t, -total < off && off < total, "source %d gave %d of %d", i, given[i], draws)
				for k := range given[i] / size * size { // the epochs of the source that are over
					require.Equal(t, 1, seen[drawn{first + k%size, k / size}], "source %d, sample %d", i, k%size)
				}
				if !cfg.Shuffle { // in order, the one that is not over is its beginning
					for k := range given[i] % size {
						require.Equal(t, 1, seen[drawn{first + k, given[i] / size}])
					}
				}
				first += size
			}
		}
	})
}

// An epoch that several worlds read in turns has the draws that one reads alone, by
// step in the same order.
func TestMixedEpochsAreResumed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyMix(t)
		epoch := rapid.Int64Range(0, 1<<40).Draw(t, "epoch")
		p := mustNew(t, cfg)
		whole := readDrawn(t, p, epoch, 0, p.Steps(epoch))
		p, err := p.Resume(Position{Epoch: epoch, Phases: []Phase{{cfg.Shards, cfg.Batch, 0}}})
		require.NoError(t, err)
		var all []drawn
		for range 3 {
			_, step := p.Start()
			to := rapid.Int64Range(step, p.Steps(epoch)).Draw(t, "to")
			all = append(all, readDrawn(t, p, epoch, step, to)...)
			if to == p.Steps(epoch) {
				break
			}
			next := cfg
			next.Shards, next.Batch = rapid.IntRange(1, 4).Draw(t, "shards"), rapid.IntRange(1, 7).Draw(t, "batch")
			pos := p.Position(epoch, to)
			p, err = mustNew(t, next).Resume(pos)
			require.NoError(t, err)
		}
		if e, step := p.Start(); e == epoch && len(all) < len(whole) {
			all = append(all, readDrawn(t, p, epoch, step, p.Steps(epoch))...)
		}
		if cfg.Partition == ByStep {
			require.Equal(t, whole, all)
		}
		require.ElementsMatch(t, whole, all)
	})
}

// A mix of one source is that source, in the same order.
func TestAMixOfOneSource(t *testing.T) {
	for _, cfg := range []Config{
		{Samples: 23, Batch: 4, Shards: 3, Shuffle: true, Seed: 5},
		{Samples: 23, Batch: 4, Shards: 3, Shuffle: true, Block: 5, Partition: ByStep},
		{Samples: 23, Batch: 4, Shards: 3, Policy: Fill},
	} {
		alone := mustNew(t, cfg)
		cfg.Sources, cfg.Weights = []int64{23}, []int64{7}
		mixed := mustNew(t, cfg)
		for epoch := range int64(3) {
			require.Equal(t, readDrawn(t, alone, epoch, 0, alone.Steps(epoch)), readDrawn(t, mixed, epoch, 0, mixed.Steps(epoch)))
		}
	}
}

// Stored states depend on the order: it must never change.
func TestMixedOrderIsTheSameForever(t *testing.T) {
	cfg := Config{Samples: 10, Batch: 10, Shards: 1, Sources: []int64{5, 2}, Weights: []int64{3, 1}}
	require.Equal(t, []int64{3, 5, 4, 0, 1, 6, 2, 3, 4, 5}, mustNew(t, cfg).AppendBatch(nil, 1, 0, 0))
	cfg.Shuffle, cfg.Seed = true, 7
	p := mustNew(t, cfg)
	require.Equal(t, []int64{4, 5, 3, 4, 1, 6, 0, 3, 2, 6}, p.AppendBatch(nil, 1, 0, 0))
	require.Equal(t, []int64{1, 1, 1, 2, 2, 1, 2, 2, 2, 2}, p.AppendEpochs(nil, 1, 0, 0))
	p.Sample(math.MaxInt64-1, 0, 0, 9) // no epoch is too late
	require.Contains(t, p.Fingerprint(), " sources=[5,2] weights=[3,1]")
}

func TestMixedPlanErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		field  string
	}{
		{func(c *Config) { c.Weights = []int64{1} }, "Weights"},
		{func(c *Config) { c.Sources = nil }, "Weights"},
		{func(c *Config) { c.Weights = []int64{1, 0} }, "Weights"},
		{func(c *Config) { c.Sources, c.Weights = []int64{}, nil }, "Weights"},
		{func(c *Config) { c.Sources = []int64{5, 0} }, "Sources"},
		{func(c *Config) { c.Sources = []int64{MaxSamples, 1} }, "Sources"},
		{func(c *Config) { c.Mode = DALI }, "Sources"},
		{func(c *Config) { c.StickToShard = true }, "StickToShard"},
	} {
		cfg := Config{Samples: 10, Batch: 2, Shards: 1, Sources: []int64{5, 2}, Weights: []int64{6, 2}}
		_, err := New(cfg)
		require.NoError(t, err)
		c.change(&cfg)
		_, err = New(cfg)
		var wrong *ConfigError
		require.ErrorAs(t, err, &wrong, "%+v", cfg)
		require.Equal(t, c.field, wrong.Field)
	}
	cfg := Config{Samples: 10, Batch: 2, Shards: 1, Sources: []int64{5, 2}, Weights: []int64{6, 2}}
	stored := mustNew(t, cfg).Fingerprint()
	for _, change := range []func(*Config){
		func(c *Config) { c.Weights = []int64{3, 2} },
		func(c *Config) { c.Sources = []int64{5, 3} },
		func(c *Config) { c.Samples++ },
		func(c *Config) { c.Sources, c.Weights = nil, nil },
	} {
		other := cfg
		change(&other)
		require.Error(t, mustNew(t, other).CheckFingerprint(stored))
	}
	cfg.Weights = []int64{3, 1}
	require.NoError(t, mustNew(t, cfg).CheckFingerprint(stored), "the same proportions")
}

// A plan is its own: changing what it was made of, or what it returns, has no effect.
func TestMixedPlanKeepsItsConfig(t *testing.T) {
	cfg := Config{Samples: 10, Batch: 10, Shards: 1, Sources: []int64{5, 2}, Weights: []int64{3, 1}}
	p := mustNew(t, cfg)
	want := p.AppendBatch(nil, 3, 0, 0)
	cfg.Sources[0], cfg.Weights[0] = 1, 1
	c := p.Config()
	c.Sources[0] = 1
	require.Equal(t, want, p.AppendBatch(nil, 3, 0, 0))
	require.Equal(t, []int64{5, 2}, p.Config().Sources)
	require.True(t, slices.Equal([]int64{3, 1}, p.Config().Weights))
}
