package shard

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func sum(all []int64) (total int64) {
	for _, x := range all {
		total += x
	}
	return total
}

// anyWeights draws weights, sometimes too fine for a table.
func anyWeights(t *rapid.T, n int) []int64 {
	largest := rapid.SampledFrom([]int64{3, 1 << 40}).Draw(t, "largest")
	return rapid.SliceOfN(rapid.Int64Range(1, largest), n, n).Draw(t, "weights")
}

// anyShares draws shares with stages, and with mixes down to a depth.
func anyShares(t *rapid.T, c *Config, depth int) *Shares {
	n := rapid.IntRange(1, 4).Draw(t, "entries")
	s := &Shares{Weights: anyWeights(t, n), Mixes: make([]*Shares, n)}
	last := int64(0)
	for range rapid.IntRange(0, 2).Draw(t, "stages") {
		last += rapid.Int64Range(1, 2*c.Samples).Draw(t, "length")
		if c.Partition == ByShard {
			last = ceilDiv(last, c.Samples) * c.Samples
		}
		w := anyWeights(t, n)
		if i := rapid.IntRange(0, n-1).Draw(t, "off"); n > 1 {
			w[i] = 0
		}
		s.Stages = append(s.Stages, Stage{last / c.Samples, last % c.Samples, w})
	}
	for i := range s.Mixes {
		if depth > 0 && rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			s.Mixes[i] = anyShares(t, c, depth-1)
		}
	}
	return s
}

// Of weights too fine for a table every entry has its share to within less than four, and
// what it was given is counted.
func TestHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "entries")
		weights := make([]int64, n)
		for i := range weights {
			weights[i] = rapid.Int64Range(1, 1<<rapid.IntRange(1, 50).Draw(t, "bits")).Draw(t, "weight")
		}
		total := float64(sum(weights))
		h := newHalves(weights)
		for _, from := range []int64{0, rapid.Int64Range(0, 1<<62).Draw(t, "from")} {
			given := h.given(from, n)
			require.Equal(t, from, sum(given))
			begin := slices.Clone(given)
			for k := from; k < from+300; k++ {
				entry, draw := h.at(k)
				require.Equal(t, given[entry], draw)
				given[entry]++
				if from == 0 {
					for i, w := range weights {
						require.InDelta(t, float64(k+1)*float64(w)/total, given[i], 3.9999, "entry %d of %v after %d draws", i, weights, k+1)
					}
				}
			}
			require.Equal(t, given, h.given(from+300, n))
			for i, w := range weights { // of any draws that follow each other, as the difference of two
				require.InDelta(t, 300*float64(w)/total, given[i]-begin[i], 7.9999)
			}
		}
	})
}

func TestMixGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := NewMix(rapid.SliceOfN(rapid.Int64Range(1, 20), 1, 9).Draw(t, "weights")...)
		require.NoError(t, err)
		given := make([]int64, len(m.weights))
		for k := range int64(2*m.Period() + 3) {
			require.Equal(t, given, m.given(k))
			source, _ := m.At(k)
			given[source]++
		}
	})
}

// Each stage gives its entries their shares, each source goes on where it stood, and an
// entry that is a mix gives its sources their shares of what it has had.
func TestSharesOfStagesAndMixes(t *testing.T) {
	s := &Shares{
		Weights: []int64{3, 1}, Mixes: []*Shares{nil, {Weights: []int64{1, 4}, Stages: []Stage{{2, 0, []int64{4, 1}}}}},
		Stages: []Stage{{1, 40, []int64{0, 1}}, {3, 0, []int64{1, 1}}},
	}
	p := mustNew(t, Config{Samples: 100, Batch: 10, Shards: 2, Partition: ByStep, Sources: []int64{1000, 1000, 1000}, Shares: s})
	var all []int64 // sources, by draw
	next := make([]int64, 3)
	for epoch := range int64(5) {
		for _, id := range read(p, epoch, 0, p.Steps(epoch)) {
			require.Equal(t, next[id/1000], id%1000, "in order, each sample once")
			next[id/1000]++
			all = append(all, id/1000)
		}
	}
	for _, c := range []struct {
		from, to int
		want     [3]float64
	}{
		{0, 140, [3]float64{105, 7, 28}},
		{140, 200, [3]float64{0, 12, 48}},   // the first entry has no draws
		{200, 300, [3]float64{0, 80, 20}},   // the mix in the second has other weights
		{300, 500, [3]float64{100, 80, 20}}, // both have
	} {
		for source, want := range c.want {
			n := 0
			for _, drawn := range all[c.from:c.to] {
				if drawn == int64(source) {
					n++
				}
			}
			require.InDelta(t, want, n, 1.0001, "source %d in draws %d to %d", source, c.from, c.to)
		}
	}
	require.Contains(t, p.Fingerprint(), " sources=[1000,1000,1000] weights=[3,1[1,4]@2:0[4,1]]@1:40[0,1]@3:0[1,1]")
}

// Weights in a plan may be as fine as they like.
func TestMixOfFineWeights(t *testing.T) {
	p := mustNew(t, Config{Samples: 1000, Batch: 1000, Shards: 1, Sources: []int64{5, 7, 9}, Weights: []int64{1 << 55, 1<<50 + 1, 1 << 54}})
	given := map[int64]float64{}
	for _, id := range p.AppendBatch(nil, 0, 0, 0) {
		given[map[bool]int64{true: 0, false: 1}[id < 5]+map[bool]int64{true: 0, false: 1}[id < 12]]++
	}
	for i, w := range p.cfg.Weights {
		require.InDelta(t, 1000*float64(w)/float64(sum(p.cfg.Weights)), given[int64(i)], 4)
	}
}

func TestSharesErrors(t *testing.T) {
	base := func() Config {
		return Config{Samples: 10, Batch: 2, Shards: 1, Sources: []int64{5, 2}, Shares: &Shares{Weights: []int64{3, 1}, Stages: []Stage{{Epoch: 2, Weights: []int64{1, 1}}}}}
	}
	for _, c := range []struct {
		field  string
		change func(*Config)
	}{
		{"Weights", func(c *Config) { c.Weights = []int64{1, 1} }},
		{"Weights", func(c *Config) { c.Shares.Weights = []int64{-1, 1} }},
		{"Weights", func(c *Config) { c.Shares.Weights = []int64{0, 0} }},
		{"Weights", func(c *Config) { c.Shares.Stages[0].Weights = []int64{0, 0} }},
		{"Weights", func(c *Config) { c.Shares.Stages[0].Weights = []int64{-2, 3} }},
		{"Weights", func(c *Config) { c.Shares.Weights, c.Shares.Stages = []int64{0, 1}, nil }},
		{"Weights", func(c *Config) { c.Shares.Weights = []int64{MaxSamples, 1} }},
		{"Shares", func(c *Config) { c.Sources = []int64{1, 2, 3} }},
		{"Shares", func(c *Config) { c.Sources = nil }},
		{"Shares.Mixes", func(c *Config) { c.Shares.Mixes = []*Shares{nil} }},
		{"Shares.Stages[0]", func(c *Config) { c.Shares.Stages[0].Epoch = 0 }},
		{"Shares.Stages[0]", func(c *Config) { c.Shares.Stages[0].Epoch = -1 }},
		{"Shares.Stages[0]", func(c *Config) { c.Shares.Stages[0].Epoch = 1 << 62 }},
		{"Shares.Stages[0]", func(c *Config) { c.Shares.Stages[0].Draw, c.Partition = 10, ByStep }},
		{"Shares.Stages[1]", func(c *Config) { c.Shares.Stages = append(c.Shares.Stages, c.Shares.Stages[0]) }},
		{"Shares.Stages[0].Weights", func(c *Config) { c.Shares.Stages[0].Weights = []int64{1} }},
		{"Partition", func(c *Config) { c.Shares.Stages[0].Draw = 3 }},
		{"StickToShard", func(c *Config) { c.StickToShard = true }},
		{"Sources", func(c *Config) { c.Mode = DALI }},
	} {
		cfg := base()
		mustNew(t, cfg)
		c.change(&cfg)
		_, err := New(cfg)
		var wrong *ConfigError
		require.ErrorAs(t, err, &wrong, "%+v", cfg)
		require.Equal(t, c.field, wrong.Field, "%v", err)
		require.NotContains(t, err.Error(), "%!")
	}
	p := mustNew(t, base())
	for _, change := range []func(*Config){
		func(c *Config) { c.Shares.Stages[0].Epoch++ },
		func(c *Config) { c.Shares.Stages[0].Weights[1]++ },
		func(c *Config) { c.Shares.Stages = nil },
		func(c *Config) { c.Shares, c.Weights = nil, []int64{3, 1} },
		func(c *Config) {
			c.Shares.Mixes = []*Shares{{Weights: []int64{1, 1}}, nil}
			c.Sources = []int64{2, 3, 2}
		},
	} {
		other := base()
		change(&other)
		require.Error(t, mustNew(t, other).CheckFingerprint(p.Fingerprint()))
	}
	cfg := base()
	own := mustNew(t, cfg)
	want := own.AppendBatch(nil, 3, 0, 0)
	cfg.Shares.Stages[0].Weights[0] = 9
	own.Config().Shares.Weights[0] = 9
	require.Equal(t, want, own.AppendBatch(nil, 3, 0, 0))
	require.Equal(t, int64(1), own.Config().Shares.Stages[0].Weights[0])
}

func TestSharesAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyShares(t, &Config{Samples: 10, Partition: ByStep}, 2)
		text := s.String()
		read, err := ParseShares(text)
		require.NoError(t, err)
		require.Equal(t, text, read.String())
		require.Equal(t, s.sources(), read.sources())
	})
	for _, text := range []string{"", "[", "[]", "3,1", "[3,1", "[3,]", "[3 1]", "[3]x", "[3]@", "[3]@1[2]", "[3]@1:2", "[3]@1:2[1[1]]", "[99999999999999999999]", "[1[2]"} {
		_, err := ParseShares(text)
		require.ErrorContains(t, err, "shard: Shares is \""+text+"\"; want weights such as [3,1]")
	}
}

// What can be read is written as it was read.
func FuzzParseShares(f *testing.F) {
	for _, text := range []string{"[3,1[1,4]@2:0[4,1]]@1:40[0,1]@3:0[1,1]", "[-1]", "[1[2]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShares(text)
		if err != nil {
			return
		}
		again, err := ParseShares(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
