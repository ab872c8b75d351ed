package shard

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

// samplers draws a sampler of each kind, and what of a config it needs. All laws of the
// table's tests hold for a new one as soon as it has a line here.
var samplers = []struct {
	name string
	draw func(t *rapid.T, c *Config)
}{
	{"weighted", func(t *rapid.T, c *Config) {
		c.Shuffle = true
		c.Sampler = Weighted{Weights: weightsFor(t, c), Draws: rapid.Int64Range(0, 150).Draw(t, "draws")}
	}},
	{"weighted once", func(t *rapid.T, c *Config) {
		c.Shuffle = true
		w := weightsFor(t, c)
		some := len(slices.DeleteFunc(slices.Clone(w), func(x float64) bool { return x == 0 }))
		c.Sampler = Weighted{Weights: w, Once: true, Draws: rapid.Int64Range(1, int64(some)).Draw(t, "draws")}
	}},
	{"class-balanced", func(t *rapid.T, c *Config) {
		c.Sampler = ClassBalanced{Labels: labelsFor(t, c.Samples), Draws: rapid.Int64Range(0, 150).Draw(t, "draws")}
	}},
	{"subset", func(t *rapid.T, c *Config) {
		all := NewPermutation(c.Samples, 3)
		list := make([]int64, rapid.Int64Range(1, c.Samples).Draw(t, "listed"))
		for i := range list {
			list[i] = all.At(int64(i))
		}
		c.Sampler = Subset{Samples: list}
	}},
	{"repeated", func(t *rapid.T, c *Config) {
		c.Sampler = Repeated{Times: rapid.IntRange(2, 4).Draw(t, "times"), Apart: rapid.Int64Range(0, c.Samples).Draw(t, "apart")}
	}},
	{"curriculum, paced", func(t *rapid.T, c *Config) {
		c.Shuffle = true
		c.Sampler = Curriculum{Keys: keysFor(t, c), Start: rapid.SampledFrom([]float64{0.01, 0.3, 0.9}).Draw(t, "start"), Epochs: rapid.Int64Range(1, 5).Draw(t, "epochs")}
	}},
	{"curriculum, sorted", func(t *rapid.T, c *Config) {
		c.Partition = ByStep
		k := Curriculum{Keys: keysFor(t, c)}
		if c.Shuffle {
			k.Window = rapid.Int64Range(2, 20).Draw(t, "window")
		}
		c.Sampler = k
	}},
	{"mix with shares", func(t *rapid.T, c *Config) {
		c.Shares = anyShares(t, c, 2)
		for range c.Shares.sources() {
			c.Sources = append(c.Sources, rapid.Int64Range(1, 20).Draw(t, "source"))
		}
	}},
}

func weightsFor(t *rapid.T, c *Config) []float64 {
	w := make([]float64, c.Samples)
	for i := range w {
		w[i] = float64(rapid.SampledFrom([]int{0, 1, 1, 2, 5, 40}).Draw(t, "weight"))
	}
	w[rapid.IntRange(0, len(w)-1).Draw(t, "some")] = 3
	return w
}

func keysFor(t *rapid.T, c *Config) []float64 {
	return rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 0, 0.5, 2, math.Inf(1)}), int(c.Samples), int(c.Samples)).Draw(t, "keys")
}

// labelsFor draws labels of which every class has a sample.
func labelsFor(t *rapid.T, n int64) []int32 {
	classes := rapid.Int64Range(1, min(n, 6)).Draw(t, "classes")
	labels := make([]int32, n)
	for i := range labels {
		if int64(i) < classes {
			labels[i] = int32(i)
		} else {
			labels[i] = int32(min(rapid.Int64Range(0, 9).Draw(t, "label"), classes-1))
		}
	}
	return labels
}

// anySampled draws a config with a sampler of a kind.
func anySampled(t *rapid.T, draw func(*rapid.T, *Config)) Config {
	cfg := Config{
		Samples: rapid.Int64Range(1, 60).Draw(t, "samples"),
		Batch:   rapid.IntRange(1, 7).Draw(t, "batch"),
		Shards:  rapid.IntRange(1, 5).Draw(t, "shards"),
		Shuffle: rapid.Bool().Draw(t, "shuffle"),
		Seed:    rapid.Uint64().Draw(t, "seed"),

		Partition: rapid.SampledFrom([]Partition{ByShard, ByStep}).Draw(t, "partition"),
	}
	draw(t, &cfg)
	return cfg
}

func eachSampler(t *testing.T, check func(t *rapid.T, cfg Config)) {
	for _, s := range samplers {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { check(t, anySampled(t, s.draw)) })
		})
	}
}

// Whatever the sampler, all ranks take the same steps, an epoch has so many draws, no sample
// has a visit twice in whatever epochs, and single rows are those of batches.
func TestSampledEpochsHaveTheLawsOfPlans(t *testing.T) {
	eachSampler(t, func(t *rapid.T, cfg Config) {
		p := mustNew(t, cfg)
		seen := map[drawn]bool{}
		for _, epoch := range []int64{0, 1, 2, 7, 8} {
			require.Equal(t, ceilDiv(p.Draws(), int64(cfg.Batch*cfg.Shards)), p.Len(epoch))
			all := readDrawn(t, p, epoch, 0, p.Steps(epoch))
			require.Len(t, all, int(p.Draws()))
			for _, d := range all {
				if seen[d] || d.id < 0 || d.id >= max(cfg.Samples, sum(cfg.Sources)) || !p.Repeats() && d.epoch != epoch {
					require.Fail(t, "not a visit of its own", "%+v in epoch %d, seen before: %t", d, epoch, seen[d])
				}
				seen[d] = true
			}
		}
	})
}

// The policies for the last batch mean what they do without a sampler.
func TestSampledEpochsEndByPolicy(t *testing.T) {
	eachSampler(t, func(t *rapid.T, cfg Config) {
		p := mustNew(t, cfg)
		whole := counts(read(p, 3, 0, p.Steps(3)))
		cfg.Policy, cfg.PadLastBatch = Fill, rapid.Bool().Draw(t, "pad")
		fill := mustNew(t, cfg)
		require.Equal(t, p.Steps(3), fill.Steps(3))
		filled := read(fill, 3, 0, fill.Steps(3))
		require.Len(t, filled, int(fill.Steps(3))*cfg.Batch*cfg.Shards)
		cfg.Policy, cfg.PadLastBatch = Drop, false
		drop := mustNew(t, cfg)
		dropped := read(drop, 3, 0, drop.Steps(3))
		require.Len(t, dropped, int(p.Draws())/(cfg.Batch*cfg.Shards)*cfg.Batch*cfg.Shards)
		for id, n := range whole {
			require.GreaterOrEqual(t, counts(filled)[id], n)
		}
		for id, n := range counts(dropped) {
			require.LessOrEqual(t, n, whole[id])
		}
	})
}

func counts(ids []int64) map[int64]int {
	n := map[int64]int{}
	for _, id := range ids {
		n[id]++
	}
	return n
}

// An epoch that several worlds read in turns has the draws that one reads alone, by step in
// the same order. What is stored is a position.
func TestSampledEpochsAreResumed(t *testing.T) {
	eachSampler(t, func(t *rapid.T, cfg Config) {
		whole, all := readInTurns(t, cfg, rapid.Int64Range(0, 9).Draw(t, "epoch"), 3, func(*Plan, Position, int64) {})
		require.ElementsMatch(t, whole, all)
		if cfg.Partition == ByStep {
			require.Equal(t, whole, all)
		}
	})
}

// The ranks of worlds of the same global batch read the same ones.
func TestSampledGlobalBatchesOfEveryWorld(t *testing.T) {
	eachSampler(t, func(t *rapid.T, cfg Config) {
		cfg.Partition = ByStep
		cfg.Batch, cfg.Shards = 12, 1
		one := mustNew(t, cfg)
		cfg.Shards = rapid.SampledFrom([]int{2, 3, 4, 6, 12}).Draw(t, "divisor")
		cfg.Batch /= cfg.Shards
		many := mustNew(t, cfg)
		for step := range one.Len(1) {
			require.Equal(t, read(one, 1, step, step+1), read(many, 1, step, step+1))
		}
	})
}

// Rows in a row are the epochs' lists one after the other.
func TestSampledRows(t *testing.T) {
	eachSampler(t, func(t *rapid.T, cfg Config) {
		cfg.Shards = 1
		p := mustNew(t, cfg)
		var want []drawn
		for epoch := range int64(3) {
			want = append(want, readDrawn(t, p, epoch, 0, p.Steps(epoch))...)
		}
		n := len(want)
		ids, visits := p.AppendRows(nil, 0, n, 0), p.AppendRowEpochs(nil, 0, n, 0)
		got := make([]drawn, n)
		for i := range got {
			got[i] = drawn{ids[i], visits[i]}
		}
		require.Equal(t, want, got)
		require.Equal(t, p.Draws(), p.Taken(1, 0, 0))
	})
}

// A plan of other keys or parameters has another fingerprint, and says which.
func TestSamplerFingerprints(t *testing.T) {
	base := Config{Samples: 6, Batch: 2, Shards: 1, Shuffle: true}
	for _, c := range []struct {
		field string
		a, b  Sampler
	}{
		{"sampler", nil, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}}},
		{"sampler", Subset{Samples: []int64{1, 2}}, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}}},
		{"sampler", Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}, Once: true}, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}}},
		{"weights", Weighted{Weights: []float64{1, 2, 3, 4, 5, 7}}, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}}},
		{"weights", Weighted{Weights: []float64{1, 2, 3, 4, 6, 5}, Once: true}, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}, Once: true}},
		{"draws", Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}, Draws: 3}, Weighted{Weights: []float64{1, 2, 3, 4, 5, 6}}},
		{"labels", ClassBalanced{Labels: []int32{0, 1, 0, 0, 0, 0}}, ClassBalanced{Labels: []int32{0, 0, 1, 0, 0, 0}}},
		{"draws", ClassBalanced{Labels: []int32{0, 1, 0, 0, 0, 0}}, ClassBalanced{Labels: []int32{0, 1, 0, 0, 0, 0}, Draws: 7}},
		{"list", Subset{Samples: []int64{1, 2}}, Subset{Samples: []int64{2, 1}}},
		{"times", Repeated{Times: 2}, Repeated{Times: 3}},
		{"apart", Repeated{Times: 2}, Repeated{Times: 2, Apart: 3}},
		{"keys", Curriculum{Keys: make([]float64, 6), Start: 0.5, Epochs: 2}, Curriculum{Keys: []float64{0, 0, 0, 0, 0, 1}, Start: 0.5, Epochs: 2}},
		{"start", Curriculum{Keys: make([]float64, 6), Start: 0.5, Epochs: 2}, Curriculum{Keys: make([]float64, 6), Start: 0.25, Epochs: 2}},
		{"epochs", Curriculum{Keys: make([]float64, 6), Start: 0.5, Epochs: 2}, Curriculum{Keys: make([]float64, 6), Start: 0.5, Epochs: 3}},
	} {
		a, b := base, base
		a.Sampler, b.Sampler = c.a, c.b
		err := mustNew(t, b).CheckFingerprint(mustNew(t, a).Fingerprint())
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, "%+v and %+v", c.a, c.b)
		require.Equal(t, c.field, mismatch.Field, "%v", err)
		a.Shards, a.Batch = 3, 5
		require.NoError(t, mustNew(t, a).CheckFingerprint(mustNew(t, Config{Samples: 6, Batch: 1, Shards: 1, Shuffle: true, Sampler: c.a}).Fingerprint()))
	}
}

// What a sampler cannot meet is an error that names the field.
func TestSamplerErrors(t *testing.T) {
	base := Config{Samples: 4, Batch: 2, Shards: 1, Shuffle: true, Partition: ByStep}
	ones, labels := []float64{1, 1, 1, 1}, []int32{0, 1, 1, 0}
	sorted := Curriculum{Keys: ones}
	for _, c := range []struct {
		field   string
		sampler Sampler
		change  func(*Config)
	}{
		{"Weighted.Weights", Weighted{}, nil},
		{"Weighted.Weights", Weighted{Weights: ones[1:]}, nil},
		{"Weighted.Weights", Weighted{Weights: make([]float64, 4)}, nil},
		{"Weighted.Weights[2]", Weighted{Weights: []float64{1, 0, -1, 0}}, nil},
		{"Weighted.Weights[1]", Weighted{Weights: []float64{1, math.NaN(), 1, 1}}, nil},
		{"Weighted.Weights[0]", Weighted{Weights: []float64{math.Inf(1), 1, 1, 1}}, nil},
		{"Weighted.Draws", Weighted{Weights: ones, Draws: -1}, nil},
		{"Weighted.Draws", Weighted{Weights: ones, Draws: MaxSamples + 1}, nil},
		{"Weighted.Draws", Weighted{Weights: ones, Draws: 5, Once: true}, nil},
		{"Weighted.Draws", Weighted{Weights: []float64{1, 0, 1, 1}, Once: true}, nil},
		{"Shuffle", Weighted{Weights: ones}, func(c *Config) { c.Shuffle = false }},
		{"ClassBalanced.Labels", ClassBalanced{Labels: labels[1:]}, nil},
		{"ClassBalanced.Labels", ClassBalanced{Labels: []int32{0, 2, 2, 0}}, nil},
		{"ClassBalanced.Labels[1]", ClassBalanced{Labels: []int32{0, -1, 2, 0}}, nil},
		{"ClassBalanced.Labels[3]", ClassBalanced{Labels: []int32{0, 1, 2, 9}}, nil},
		{"ClassBalanced.Draws", ClassBalanced{Labels: labels, Draws: -1}, nil},
		{"Subset.Samples", Subset{}, nil},
		{"Subset.Samples[1]", Subset{Samples: []int64{1, 4}}, nil},
		{"Subset.Samples[0]", Subset{Samples: []int64{-1}}, nil},
		{"Subset.Samples[2]", Subset{Samples: []int64{1, 2, 1}}, nil},
		{"Repeated.Times", Repeated{}, nil},
		{"Repeated.Times", Repeated{Times: 1}, nil},
		{"Repeated.Apart", Repeated{Times: 2, Apart: 5}, nil},
		{"Repeated.Apart", Repeated{Times: 2, Apart: -1}, nil},
		{"Curriculum.Keys", Curriculum{Keys: ones[1:]}, nil},
		{"Curriculum.Keys[3]", Curriculum{Keys: []float64{1, 1, 1, math.NaN()}, Window: 2}, nil},
		{"Curriculum.Start", Curriculum{Keys: ones, Epochs: 2}, nil},
		{"Curriculum.Start", Curriculum{Keys: ones, Start: 1, Epochs: 2}, nil},
		{"Curriculum.Start", Curriculum{Keys: ones, Start: math.NaN(), Epochs: 2}, nil},
		{"Curriculum.Epochs", Curriculum{Keys: ones, Start: 0.5}, nil},
		{"Curriculum.Epochs", Curriculum{Keys: ones, Start: 0.5, Epochs: -1}, nil},
		{"Curriculum.Window", Curriculum{Keys: ones, Start: 0.5, Epochs: 2, Window: 3}, nil},
		{"Curriculum.Window", sorted, nil},
		{"Curriculum.Window", Curriculum{Keys: ones, Window: 2}, func(c *Config) { c.Shuffle = false }},
		{"Shuffle", Curriculum{Keys: ones, Start: 0.5, Epochs: 2}, func(c *Config) { c.Shuffle = false }},
		{"Partition", sorted, func(c *Config) { c.Shuffle, c.Partition = false, ByShard }},
		{"Sampler", Repeated{Times: 2}, func(c *Config) { c.Mode, c.Shuffle, c.Partition = DALI, false, ByShard }},
		{"Sampler", Repeated{Times: 2}, func(c *Config) { c.Sources, c.Weights = []int64{4}, []int64{1} }},
		{"StickToShard", Repeated{Times: 2}, func(c *Config) { c.StickToShard, c.Partition = true, ByShard }},
		{"Block", Repeated{Times: 2}, func(c *Config) { c.Block = 2 }},
		{"BlockGroup", Repeated{Times: 2}, func(c *Config) { c.BlockGroup, c.BlockEnds = 1, []int64{1, c.Samples} }},
	} {
		cfg := base
		cfg.Sampler = c.sampler
		if c.change != nil {
			c.change(&cfg)
		}
		_, err := New(cfg)
		var wrong *ConfigError
		require.ErrorAs(t, err, &wrong, "%+v", cfg)
		require.Equal(t, c.field, wrong.Field, "%v", err)
		require.NotContains(t, err.Error(), "%!")
		require.Less(t, len(err.Error()), 220, "%v", err)
	}
	_, err := New(Config{Samples: 3, Batch: 1, Shards: 1, Shuffle: true, Sampler: Weighted{Weights: []float64{1, -2, 1}}})
	require.EqualError(t, err, "shard: Weighted.Weights[1] is -2; want 0 or more, and finite")
	_, err = New(Config{Samples: 4, Batch: 1, Shards: 1, Sampler: ClassBalanced{Labels: []int32{0, 2, 2, 0}}})
	require.EqualError(t, err, "shard: ClassBalanced.Labels is without a sample of class 1; want at least one of each class, 0 to 2; number the classes that there are")
}

// Planning a batch allocates nothing, but for what an epoch needs once.
func TestSamplersDoNotAllocate(t *testing.T) {
	const n = 5000
	w, labels := make([]float64, n), make([]int32, n)
	for i := range w {
		w[i], labels[i] = float64(i%7), int32(i%7)
	}
	for _, s := range []Sampler{
		Weighted{Weights: w}, Weighted{Weights: w, Once: true, Draws: 1000}, ClassBalanced{Labels: labels}, Subset{Samples: []int64{4, 3, 2, 1, 0, 9, 8, 7}},
		Repeated{Times: 3}, Curriculum{Keys: w, Start: 0.5, Epochs: 9}, Curriculum{Keys: w, Window: 100},
	} {
		p := mustNew(t, Config{Samples: n, Batch: 4, Shards: 2, Shuffle: true, Partition: ByStep, Sampler: s})
		ids := p.AppendBatch(make([]int64, 0, 256), 3, 0, 1)
		alloctest.None(t, 100, func() {
			ids = p.AppendBatch(ids[:0], 3, 0, 1)
			ids = p.AppendEpochs(ids[:0], 3, 0, 1)
			if _, ok := p.Sample(3, 0, 1, 2); !ok {
				t.Fatal("no sample")
			}
		}, s)
	}
}

// Plans may be used by several goroutines, which see what one sees: what is kept of epochs
// and windows is computed again where it has been replaced.
func TestSampledPlansAreConcurrent(t *testing.T) {
	w, lengths := make([]float64, 300), make([]int64, 300)
	for i := range w {
		w[i], lengths[i] = float64(i%7), int64(i%13+1)
	}
	for _, cfg := range []Config{
		{Sampler: Weighted{Weights: w, Once: true, Draws: 200}},
		{Sampler: Repeated{Times: 2}, Groups: &Groups{Lengths: lengths, Window: 64}},
		{Groups: &Groups{Lengths: lengths, Window: 50, Budget: 40, Padded: true}},
	} {
		cfg.Samples, cfg.Batch, cfg.Shards, cfg.Partition, cfg.Shuffle = 300, 4, 2, ByStep, true
		alone, shared := mustNew(t, cfg), mustNew(t, cfg)
		var group sync.WaitGroup
		for i := range int64(4) {
			want := read(alone, i, 0, alone.Steps(i))
			group.Go(func() {
				for range 3 {
					assert.Equal(t, want, read(shared, i, 0, shared.Steps(i)))
				}
			})
		}
		group.Wait()
	}
}
