package shard

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

// anyGroups draws a config with groups, over samples, sources or a sampler.
func anyGroups(t *rapid.T) Config {
	cfg := Config{
		Samples: rapid.Int64Range(1, 80).Draw(t, "samples"),
		Batch:   rapid.IntRange(1, 6).Draw(t, "batch"),
		Shards:  rapid.IntRange(1, 5).Draw(t, "shards"),
		Shuffle: rapid.Bool().Draw(t, "shuffle"),
		Seed:    rapid.Uint64().Draw(t, "seed"),

		Partition: ByStep,
	}
	ids := cfg.Samples
	switch rapid.IntRange(0, 3).Draw(t, "list") {
	case 0:
		cfg.Sampler = Repeated{Times: 2}
	case 1:
		cfg.Sources, cfg.Weights, ids = []int64{7, 20}, []int64{1, 2}, 27
	}
	g := &Groups{Padded: rapid.Bool().Draw(t, "padded"), Window: rapid.Int64Range(0, 60).Draw(t, "window")}
	longest := int64(0)
	for range ids {
		g.Lengths = append(g.Lengths, rapid.Int64Range(0, 30).Draw(t, "length"))
		longest = max(longest, g.Lengths[len(g.Lengths)-1])
	}
	if g.Window > 0 && rapid.Bool().Draw(t, "budgeted") {
		g.Budget = max(1, longest+rapid.Int64Range(0, 60).Draw(t, "budget"))
	}
	cfg.Groups = g
	return cfg
}

// plain returns the config without groups.
func plain(c Config) Config {
	c.Groups = nil
	return c
}

// Every position of the list is read once, in as many steps on all ranks, and no batch
// costs more than the budget.
func TestGroupedEpochs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyGroups(t)
		p, list := mustNew(t, cfg), mustNew(t, plain(cfg))
		for _, epoch := range []int64{0, 1, 5} {
			all := readDrawn(t, p, epoch, 0, p.Steps(epoch))
			require.ElementsMatch(t, readDrawn(t, list, epoch, 0, list.Steps(epoch)), all)
			if cfg.Groups.Budget == 0 {
				require.Equal(t, list.Steps(epoch), p.Steps(epoch))
			}
			require.Equal(t, p.Steps(epoch), p.Len(epoch))
			for step := range p.Steps(epoch) {
				rows := 0
				for rank := range cfg.Shards {
					ids := p.AppendBatch(nil, epoch, step, rank)
					require.Len(t, ids, p.Valid(epoch, step, rank))
					require.LessOrEqual(t, len(ids), cfg.Batch)
					if cfg.Groups.Budget == 0 {
						require.Equal(t, list.Valid(epoch, step, rank), len(ids), "as many rows as without groups")
					} else {
						require.LessOrEqual(t, costOf(cfg.Groups, ids), cfg.Groups.Budget)
					}
					rows += len(ids)
				}
				require.Positive(t, rows, "a step without a row")
			}
			require.Empty(t, p.AppendBatch(nil, epoch, p.Steps(epoch), 0))
		}
	})
}

// costOf returns what a batch costs, worked out from its samples.
func costOf(g *Groups, ids []int64) int64 {
	sum, longest := int64(0), int64(0)
	for _, id := range ids {
		sum, longest = sum+g.Lengths[id], max(longest, g.Lengths[id])
	}
	if g.Padded {
		return longest * int64(len(ids))
	}
	return sum
}

// A window's steps are those of its samples sorted by length, whatever their order.
func TestGroupedWindowsAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyGroups(t)
		cfg.Groups.Budget = 0
		p := mustNew(t, cfg)
		global := int64(cfg.Batch * cfg.Shards)
		perWindow := max(1, ceilDiv(cfg.Groups.Window, global))
		list := mustNew(t, plain(cfg))
		for first := int64(0); first < p.Steps(2); first += perWindow {
			window := lengthsOf(cfg.Groups, read(list, 2, first, min(first+perWindow, p.Steps(2))))
			slices.Sort(window)
			slices.Reverse(window)
			var steps [][]int64
			for step := first; step < min(first+perWindow, p.Steps(2)); step++ {
				lengths := lengthsOf(cfg.Groups, read(p, 2, step, step+1))
				slices.Sort(lengths)
				slices.Reverse(lengths)
				steps = append(steps, lengths)
			}
			slices.SortStableFunc(steps, func(a, b []int64) int {
				if len(a) != len(b) {
					return len(b) - len(a)
				}
				return -slices.Compare(a, b)
			})
			require.Equal(t, window, slices.Concat(steps...))
		}
	})
}

func lengthsOf(g *Groups, ids []int64) []int64 {
	lengths := make([]int64, len(ids))
	for i, id := range ids {
		lengths[i] = g.Lengths[id]
	}
	return lengths
}

// Worlds of one S·b have the same global batches, and go on with them after a change.
func TestGroupedGlobalBatchesOfEveryWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyGroups(t)
		cfg.Groups.Budget = 0
		sameGlobalBatches(t, cfg, func(want, got []int64) { require.ElementsMatch(t, want, got) })
	})
}

// An epoch that worlds of any size read in turns has every position once, and a world that
// comes back goes on with what it would have read.
func TestGroupedEpochsAreResumed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyGroups(t)
		epoch := rapid.Int64Range(0, 3).Draw(t, "epoch")
		whole, all := readInTurns(t, cfg, epoch, 4, func(p *Plan, pos Position, to int64) {
			same, err := mustNew(t, p.Config()).Resume(pos)
			require.NoError(t, err)
			_, at := same.Start()
			require.Equal(t, readDrawn(t, p, epoch, to, p.Steps(epoch)), readDrawn(t, same, epoch, at, same.Steps(epoch)))
		})
		require.ElementsMatch(t, whole, all)
	})
}

// Fill and Drop mean what they do without groups.
func TestGroupedEpochsEndByPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyGroups(t)
		cfg.Groups.Budget = 0
		cfg.Policy, cfg.PadLastBatch = rapid.SampledFrom([]Policy{Fill, Drop}).Draw(t, "policy"), rapid.Bool().Draw(t, "pad")
		p, list := mustNew(t, cfg), mustNew(t, plain(cfg))
		require.Equal(t, list.Steps(1), p.Steps(1))
		cfg.Policy = Partial
		whole := counts(read(mustNew(t, cfg), 1, 0, list.Steps(1)+1))
		got := read(p, 1, 0, p.Steps(1))
		require.Len(t, got, int(p.Steps(1))*cfg.Batch*cfg.Shards)
		for id, n := range counts(got) {
			if p.cfg.Policy == Drop {
				require.LessOrEqual(t, n, whole[id])
			} else {
				require.GreaterOrEqual(t, n, whole[id])
				delete(whole, id)
			}
		}
		if p.cfg.Policy == Fill {
			require.Empty(t, whole)
		}
	})
}

// Sums are shared so that ranks differ little, padded rows so that neighbours are together.
func TestGroupsShareByCost(t *testing.T) {
	lengths := []int64{9, 1, 8, 2, 7, 3, 6, 4}
	cfg := Config{Samples: 8, Batch: 4, Shards: 2, Partition: ByStep, Groups: &Groups{Lengths: lengths}}
	p := mustNew(t, cfg)
	for rank := range 2 {
		require.Equal(t, int64(20), costOf(cfg.Groups, p.AppendBatch(nil, 0, 0, rank)))
	}
	cfg.Groups = &Groups{Lengths: lengths, Padded: true}
	p = mustNew(t, cfg)
	require.Equal(t, []int64{9, 8, 7, 6}, lengthsOf(cfg.Groups, p.AppendBatch(nil, 0, 0, 0)))
	require.Equal(t, []int64{4, 3, 2, 1}, lengthsOf(cfg.Groups, p.AppendBatch(nil, 0, 0, 1)))
	cfg.Groups = &Groups{Lengths: lengths, Padded: true, Window: 8, Budget: 18}
	p = mustNew(t, cfg)
	require.Equal(t, int64(2), p.Len(0))
	for step, want := range [][2][]int64{{{9, 8}, {7, 6}}, {{4, 3}, {2, 1}}} { // the last batch is shared
		for rank := range 2 {
			require.Equal(t, want[rank], lengthsOf(cfg.Groups, p.AppendBatch(nil, 0, int64(step), rank)))
		}
	}
}

func TestGroupErrors(t *testing.T) {
	lengths := []int64{3, 1, 4, 1}
	base := Config{Samples: 4, Batch: 2, Shards: 1, Partition: ByStep}
	for _, c := range []struct {
		field  string
		groups Groups
		change func(*Config)
	}{
		{"Groups.Lengths", Groups{}, nil},
		{"Groups.Lengths", Groups{Lengths: lengths[1:]}, nil},
		{"Groups.Lengths", Groups{Lengths: lengths}, func(c *Config) { c.Sources, c.Weights = []int64{3, 3}, []int64{1, 1} }},
		{"Groups.Lengths[1]", Groups{Lengths: []int64{3, -1, 4, 1}}, nil},
		{"Groups.Lengths[3]", Groups{Lengths: []int64{3, 1, 4, MaxLength + 1}}, nil},
		{"Groups.Lengths[2]", Groups{Lengths: lengths, Window: 4, Budget: 3}, nil},
		{"Groups.Window", Groups{Lengths: lengths, Window: -1}, nil},
		{"Groups.Window", Groups{Lengths: lengths, Budget: 9}, nil},
		{"Groups.Budget", Groups{Lengths: lengths, Budget: -9}, nil},
		{"Policy", Groups{Lengths: lengths, Window: 4, Budget: 9}, func(c *Config) { c.Policy = Fill }},
		{"Partition", Groups{Lengths: lengths}, func(c *Config) { c.Partition = ByShard }},
		{"Groups", Groups{Lengths: lengths}, func(c *Config) { c.Mode, c.Partition = DALI, ByShard }},
		{"Batch", Groups{Lengths: lengths}, func(c *Config) { c.Batch, c.Shards = MaxRanks, 3 }},
	} {
		cfg := base
		cfg.Groups = &c.groups
		if c.change != nil {
			c.change(&cfg)
		}
		_, err := New(cfg)
		var wrong *ConfigError
		require.ErrorAs(t, err, &wrong, "%+v", cfg)
		require.Equal(t, c.field, wrong.Field, "%v", err)
		require.NotContains(t, err.Error(), "%!")
	}
	stored := mustNew(t, withGroups(base, Groups{Lengths: lengths, Window: 4, Budget: 9})).Fingerprint()
	for field, g := range map[string]Groups{
		"lengths": {Lengths: []int64{3, 1, 4, 2}, Window: 4, Budget: 9}, "window": {Lengths: lengths, Window: 5, Budget: 9},
		"budget": {Lengths: lengths, Window: 4, Budget: 8}, "padded": {Lengths: lengths, Window: 4, Budget: 9, Padded: true},
	} {
		var mismatch *MismatchError
		require.ErrorAs(t, mustNew(t, withGroups(base, g)).CheckFingerprint(stored), &mismatch)
		require.Equal(t, field, mismatch.Field)
	}
	var mismatch *MismatchError
	require.ErrorAs(t, mustNew(t, base).CheckFingerprint(stored), &mismatch)
	require.Equal(t, MismatchError{"groups", "lengths", "none"}, *mismatch)
}

func withGroups(c Config, g Groups) Config {
	c.Groups = &g
	return c
}

func TestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length, place := rapid.Int64Range(0, MaxLength).Draw(t, "length"), rapid.IntRange(0, math.MaxInt32).Draw(t, "place")
		x := newItem(length, place)
		require.Equal(t, length, x.length())
		require.Equal(t, place, x.place())
		require.Equal(t, length > 9 || length == 9 && place < 9, x < newItem(9, 9))
	})
}

// Planning allocates when a window is cut, and not for each batch.
func TestGroupsDoNotAllocate(t *testing.T) {
	lengths := make([]int64, 5000)
	for i := range lengths {
		lengths[i] = int64(i*7919%500 + 1)
	}
	for _, g := range []Groups{{Lengths: lengths, Window: 1000}, {Lengths: lengths, Window: 1000, Budget: 2000, Padded: true}} {
		p := mustNew(t, Config{Samples: 5000, Batch: 16, Shards: 2, Shuffle: true, Partition: ByStep, Groups: &g})
		ids := p.AppendBatch(make([]int64, 0, 256), 3, 1, 1)
		alloctest.None(t, 100, func() {
			ids = p.AppendBatch(ids[:0], 3, 0, 1)
			ids = p.AppendEpochs(ids[:0], 3, 1, 1)
			if p.Valid(3, 1, 0) == 0 {
				t.Fatal("no sample")
			}
		})
	}
}
