package shard

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mustNew(t require.TestingT, cfg Config) *Plan {
	p, err := New(cfg)
	require.NoError(t, err, "%+v", cfg)
	return p
}

// everyOption calls f with all settings of Exact mode that a config of n samples
// can have.
func everyOption(n int64, b, s int, f func(Config)) {
	for _, policy := range []Policy{Partial, Fill, Drop} {
		for _, partition := range []Partition{ByShard, ByStep} {
			for flags := range 16 {
				cfg := Config{
					Samples: n, Batch: b, Shards: s, Policy: policy, Partition: partition, Seed: uint64(n),
					PadLastBatch: flags&1 != 0, StickToShard: flags&2 != 0, Shuffle: flags&4 != 0,
				}
				if flags&8 != 0 {
					cfg.Block = 3
				}
				if cfg.validate() == nil {
					f(cfg)
				}
			}
		}
	}
}

// read lists the ids that are read in steps from to to-1 of an epoch, in order
// of step, then rank.
func read(p *Plan, epoch, from, to int64) []int64 {
	var ids []int64
	for step := from; step < to; step++ {
		for rank := range p.cfg.Shards {
			ids = p.AppendBatch(ids, epoch, step, rank)
		}
	}
	return ids
}

// checkPolicy checks the ids of one whole epoch against the policy.
func checkPolicy(t require.TestingT, cfg Config, ids []int64) {
	count := make([]int, cfg.Samples)
	for _, id := range ids {
		if id < 0 || id >= cfg.Samples {
			require.Fail(t, "no such sample", "%d of %+v", id, cfg)
		}
		count[id]++
	}
	for id, n := range count {
		if cfg.Policy == Partial && n != 1 || cfg.Policy == Fill && n < 1 || cfg.Policy == Drop && n > 1 {
			require.Fail(t, "wrong number of times", "sample %d: %d times in %v of %+v", id, n, ids, cfg)
		}
	}
}

// checkEpoch checks one epoch of a plan against all laws.
func checkEpoch(t require.TestingT, p *Plan, epoch int64) {
	cfg := p.cfg
	n, b, s := cfg.Samples, int64(cfg.Batch), int64(cfg.Shards)
	want := (((n+s-1)/s + b - 1) / b)
	if cfg.Policy == Drop {
		want = n / s / b
	}
	require.Equal(t, want, p.Len(epoch), "%+v", cfg)
	require.Equal(t, want, p.Steps(epoch), "%+v", cfg)
	var ids []int64
	for step := range want {
		for rank := range cfg.Shards {
			before := len(ids)
			ids = p.AppendBatch(ids, epoch, step, rank)
			batch := ids[before:]
			if len(batch) != p.Valid(epoch, step, rank) || cfg.Policy != Partial && len(batch) != cfg.Batch {
				require.Fail(t, "wrong number of rows", "%v of %+v epoch %d step %d rank %d", batch, cfg, epoch, step, rank)
			}
			for row := range cfg.Batch {
				id, ok := p.Sample(epoch, step, rank, row)
				if ok != (row < len(batch)) || ok && id != batch[row] {
					require.Fail(t, "Sample differs from AppendBatch", "%+v epoch %d step %d rank %d row %d: %d, %t", cfg, epoch, step, rank, row, id, ok)
				}
			}
		}
	}
	checkPolicy(t, cfg, ids)
}

func TestLawsOfEveryOption(t *testing.T) {
	largest := int64(12)
	if testing.Short() {
		largest = 7 // still with more and with fewer samples than a step takes
	}
	for n := int64(1); n <= largest; n++ {
		for b := 1; b <= 4; b++ {
			for s := 1; s <= 4; s++ {
				everyOption(n, b, s, func(cfg Config) {
					p := mustNew(t, cfg)
					for epoch := range int64(3) {
						checkEpoch(t, p, epoch)
					}
				})
			}
		}
	}
}

// drawConfig draws an Exact configuration.
func drawConfig(t *rapid.T, maxSamples int64) Config {
	cfg := Config{
		Samples: rapid.Int64Range(1, maxSamples).Draw(t, "samples"),
		Batch:   rapid.IntRange(1, 12).Draw(t, "batch"),
		Shards:  rapid.IntRange(1, 12).Draw(t, "shards"),
		Policy:  rapid.SampledFrom([]Policy{Partial, Fill, Drop}).Draw(t, "policy"),
		Seed:    rapid.Uint64().Draw(t, "seed"),

		PadLastBatch: rapid.Bool().Draw(t, "pad"),
		Shuffle:      rapid.Bool().Draw(t, "shuffle"),
	}
	if rapid.Bool().Draw(t, "by step") {
		cfg.Partition = ByStep
	} else {
		cfg.StickToShard = rapid.Bool().Draw(t, "stick")
	}
	if cfg.Shuffle {
		drawBlocks(t, &cfg, 20)
	}
	return cfg
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := mustNew(t, drawConfig(t, 400))
		checkEpoch(t, p, rapid.Int64Range(0, 1<<62).Draw(t, "epoch"))
	})
}

// TestUnshuffledLists compares with batches that are cut out of written-out lists.
func TestUnshuffledLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 100)
		cfg.Shuffle, cfg.Block, cfg.BlockGroup, cfg.BlockEnds = false, 0, 0, nil
		p := mustNew(t, cfg)
		epoch := rapid.IntRange(0, 20).Draw(t, "epoch")
		for rank := range cfg.Shards {
			var got [][]int64
			for step := range p.Len(int64(epoch)) {
				got = append(got, p.AppendBatch([]int64{}, int64(epoch), step, rank))
			}
			require.Equal(t, listed(cfg, epoch, rank, len(got)), got, "%+v rank %d", cfg, rank)
		}
	})
}

// listed returns the batches of one rank without shuffling, by slicing lists.
func listed(cfg Config, epoch, rank, steps int) [][]int64 {
	all := make([]int64, cfg.Samples)
	for i := range all {
		all[i] = int64(i)
	}
	var rows []int64 // what the rank reads in order; shorter than steps·batch if it runs out
	if cfg.Partition == ByShard {
		k := (rank + epoch) % cfg.Shards
		if cfg.StickToShard {
			k = rank
		}
		rows = slices.Clone(all[len(all)*k/cfg.Shards : len(all)*(k+1)/cfg.Shards])
		source := rows
		if len(source) == 0 {
			source = all[len(all)-1:]
		}
		rows = filled(cfg, rows, source, steps*cfg.Batch)
	} else {
		list := filled(cfg, slices.Clone(all), all, steps*cfg.Batch*cfg.Shards)
		global := cfg.Batch * cfg.Shards
		var batches [][]int64
		for step := range steps {
			g := list[step*global : min((step+1)*global, len(list))]
			batches = append(batches, g[len(g)*rank/cfg.Shards:len(g)*(rank+1)/cfg.Shards])
		}
		return batches
	}
	var batches [][]int64
	for step := range steps {
		from, to := min(step*cfg.Batch, len(rows)), min((step+1)*cfg.Batch, len(rows))
		batches = append(batches, append([]int64{}, rows[from:to]...))
	}
	return batches
}

// filled stretches rows to n under Fill, from source.
func filled(cfg Config, rows, source []int64, n int) []int64 {
	for i := 0; cfg.Policy == Fill && len(rows) < n; i++ {
		if cfg.PadLastBatch {
			rows = append(rows, source[len(source)-1])
		} else {
			rows = append(rows, source[i%len(source)])
		}
	}
	return rows
}

func TestStickingRankSeesItsShard(t *testing.T) {
	for _, block := range []int64{0, 4} {
		p := mustNew(t, Config{Samples: 101, Batch: 5, Shards: 3, StickToShard: true, Shuffle: true, Seed: 3, Block: block})
		for rank := range 3 {
			first := slices.Concat(batches(p, 0, rank)...)
			second := slices.Concat(batches(p, 1, rank)...)
			require.NotEqual(t, first, second)
			require.ElementsMatch(t, first, second)
			require.NotEqual(t, slices.Sorted(slices.Values(first)), first)
		}
	}
}

func TestGlobalBatchesOfEveryWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 500)
		cfg.Partition, cfg.StickToShard = ByStep, false
		cfg.Batch, cfg.Shards = 24, 1
		one := mustNew(t, cfg)
		cfg.Shards = rapid.SampledFrom([]int{2, 3, 4, 6, 8, 12, 24}).Draw(t, "divisor")
		cfg.Batch /= cfg.Shards
		many := mustNew(t, cfg)
		require.Equal(t, one.Len(1), many.Len(1))
		for step := range one.Len(1) {
			require.Equal(t, read(one, 1, step, step+1), read(many, 1, step, step+1))
		}
	})
}

func TestBlocksStayTogether(t *testing.T) {
	const n, block = 1000, 64 // 15 blocks and one of 40
	p := mustNew(t, Config{Samples: n, Batch: n, Shards: 1, Shuffle: true, Block: block, Seed: 5})
	for epoch := range int64(4) {
		var order []int64 // of the blocks
		inOrder := 0
		ids := p.AppendBatch(nil, epoch, 0, 0)
		for i, id := range ids {
			if i == 0 || id/block != order[len(order)-1] {
				order = append(order, id/block)
			} else if id > ids[i-1] {
				inOrder++
			}
		}
		require.Len(t, order, 16, "every block is read in one go")
		require.False(t, slices.IsSorted(order))
		require.InDelta(t, n/2, inOrder, 80, "within a block the order is random")
	}
}

func TestHugePlans(t *testing.T) {
	for _, partition := range []Partition{ByShard, ByStep} {
		for _, policy := range []Policy{Partial, Fill, Drop} {
			for _, block := range []int64{0, 4096} {
				p := mustNew(t, Config{
					Samples: 1_000_000_000_007, Batch: 256, Shards: 1009, Policy: policy, Partition: partition, Shuffle: true, Seed: 9, Block: block,
				})
				for _, step := range []int64{0, 1, p.Len(0) / 2, p.Len(0) - 2} {
					ids := p.AppendBatch(nil, 3, step, 1008)
					require.Len(t, ids, 256)
					slices.Sort(ids)
					require.Len(t, slices.Compact(ids), 256)
				}
				require.Zero(t, p.Valid(3, p.Len(3), 0))
			}
		}
	}
	largest := mustNew(t, Config{Samples: MaxSamples, Batch: MaxRanks, Shards: MaxRanks, Policy: Fill, Shuffle: true})
	_, ok := largest.Sample(1<<62, 0, MaxRanks-1, MaxRanks-1)
	require.True(t, ok)
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, MaxSamples).Draw(t, "n")
		parts := rapid.Int64Range(1, MaxRanks).Draw(t, "parts")
		k := rapid.Int64Range(0, parts).Draw(t, "k")
		exact := new(big.Int).Mul(big.NewInt(n), big.NewInt(k))
		require.Equal(t, exact.Div(exact, big.NewInt(parts)).Int64(), start(n, parts, k))

		i := rapid.Int64Range(0, n-1).Draw(t, "i")
		o := owner(n, parts, i)
		require.LessOrEqual(t, start(n, parts, o), i)
		require.Greater(t, start(n, parts, o+1), i)
	})
}

func TestOutsideOfThePlan(t *testing.T) {
	for _, mode := range []Mode{Exact, DALI} {
		p := mustNew(t, Config{Samples: 10, Batch: 2, Shards: 2, Mode: mode})
		for _, at := range [][4]int64{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 3, 0, 0}, {0, 0, -1, 0}, {0, 0, 2, 0}, {0, 0, 0, -1}, {0, 0, 0, 2}} {
			_, ok := p.Sample(at[0], at[1], int(at[2]), int(at[3]))
			require.False(t, ok, "%v", at)
		}
		require.Empty(t, p.AppendBatch(nil, 0, 3, 0))
		require.Zero(t, p.Len(-1))
	}
}

func TestNoSteps(t *testing.T) {
	for _, cfg := range []Config{
		{Samples: 5, Batch: 9, Shards: 1, Policy: Drop},
		{Samples: 5, Batch: 1, Shards: 7, Policy: Drop},
		{Samples: 8, Batch: 5, Shards: 2, Policy: Drop, Mode: DALI},
		{Samples: 8, Batch: 3, Shards: 2, Policy: Drop, Mode: DALI, Size: 5},
	} {
		p := mustNew(t, cfg)
		require.Zero(t, p.Steps(0))
		require.Empty(t, read(p, 0, 0, 3))
		require.ErrorIs(t, p.CheckSteps(), ErrNoSteps)
	}
	p := mustNew(t, Config{Samples: 5, Batch: 9, Shards: 1, Policy: Drop})
	require.EqualError(t, p.CheckSteps(),
		"shard: the epoch has no step: policy drop, 5 samples per rank, batches of 9; use a batch of at most 5 or another policy")
	p = mustNew(t, Config{Samples: 5, Batch: 9, Shards: 1})
	require.NoError(t, p.CheckSteps())
}

// TestStableOrder pins orders: stored positions rely on them.
func TestStableOrder(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Samples: 12, Batch: 3, Shards: 2, Shuffle: true, Seed: 1}, "[5 10 8 4 9 2 1 7 3 11 0 6] [9 4 10 2 0 8 3 11 1 5 7 6]"},
		{Config{Samples: 12, Batch: 3, Shards: 2, Shuffle: true, Seed: 1, StickToShard: true}, "[11 4 6 5 2 7 8 3 0 10 9 1] [6 0 4 7 10 9 11 3 8 2 1 5]"},
		{Config{Samples: 12, Batch: 3, Shards: 2, Shuffle: true, Seed: 1, Block: 5, Partition: ByStep}, "[7 8 5 9 6 1 2 4 3 0 10 11] [11 10 3 0 2 1 4 7 6 5 8 9]"},
	} {
		p := mustNew(t, c.cfg)
		require.Equal(t, c.want, fmt.Sprint(read(p, 0, 0, 2), read(p, 1, 0, 2)), "%+v", c.cfg)
	}
}
