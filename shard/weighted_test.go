package shard

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// In every epoch a sample comes as often as its weight says, rounded down or up, and in the
// mean of epochs exactly.
func TestWeightedCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 50).Draw(t, "samples")
		cfg := Config{Samples: n, Batch: 5, Shards: 2, Shuffle: true, Seed: rapid.Uint64().Draw(t, "seed")}
		w := make([]float64, n)
		sum := int64(0)
		for i := range w {
			x := rapid.Int64Range(0, 30).Draw(t, "weight")
			w[i] = float64(x)
			sum += x
		}
		if sum == 0 {
			w[0], sum = 1, 1
		}
		p := mustNew(t, withSampler(cfg, Weighted{Weights: w, Draws: rapid.Int64Range(1, 200).Draw(t, "draws")}))
		total := make([]int64, n)
		const epochs = 30
		for epoch := range int64(epochs) {
			got := counts(read(p, epoch, 0, p.Steps(epoch)))
			for id, x := range w {
				share := p.Draws() * int64(x)
				c := int64(got[int64(id)])
				if c != share/sum && c != ceilDiv(share, sum) { // require is slow
					require.Fail(t, "not its share", "sample %d came %d times, its share is %d/%d", id, c, share, sum)
				}
				total[id] += c
			}
		}
		for id, x := range w {
			// The discrepancy of multiples of the golden ratio grows as the logarithm does.
			require.InDelta(t, float64(epochs*p.Draws())*x/float64(sum), float64(total[id]), 4, "sample %d", id)
		}
	})
}

func withSampler(c Config, s Sampler) Config {
	c.Sampler = s
	return c
}

// Weights of any size keep their proportions, and none that is above 0 is lost.
func TestWeightedExtremes(t *testing.T) {
	for _, w := range [][]float64{
		{1e-300, 3e-300}, {math.MaxFloat64 / 2, 1.5 * math.MaxFloat64 / 2}, {0x1p-1074, 0x1p-1074}, {0, 7, 0}, {1e-9, 1e9},
	} {
		p := mustNew(t, Config{Samples: int64(len(w)), Batch: 1000, Shards: 1, Shuffle: true, Sampler: Weighted{Weights: w, Draws: 1000}})
		sum, largest := 0.0, slices.Max(w)
		for _, x := range w {
			sum += x / largest
		}
		for id, n := range counts(read(p, 0, 0, 1)) {
			require.InDelta(t, 1000*(w[id]/largest/sum), float64(n), 1)
		}
	}
	// Of the largest number of draws the last one is there, too.
	p := mustNew(t, Config{Samples: 3, Batch: 1, Shards: 1, Shuffle: true, Sampler: Weighted{Weights: []float64{1, 0, 2}, Draws: MaxSamples}})
	o := p.order.(*weightedOrder)
	for _, j := range []int64{0, 1, MaxSamples / 3, MaxSamples - 1} {
		for epoch := range int64(5) {
			item := o.find(j, o.first(epoch))
			before := o.before(item, o.first(epoch))
			require.True(t, before <= j, "%d before draw %d", before, j)
		}
	}
}

// The draws of a sample in an epoch are numbered from 0 on.
func TestWeightedVisits(t *testing.T) {
	w := []float64{1, 0, 5, 14}
	p := mustNew(t, Config{Samples: 4, Batch: 40, Shards: 1, Shuffle: true, Sampler: Weighted{Weights: w, Draws: 40}})
	for epoch := range int64(9) {
		next := map[int64][]int64{}
		for _, d := range readDrawn(t, p, epoch, 0, 1) {
			next[d.id] = append(next[d.id], d.epoch-epoch*28)
		}
		for id, visits := range next {
			want := make([]int64, int(w[id])*2)
			for i := range want {
				want[i] = int64(i)
			}
			require.ElementsMatch(t, want, visits)
		}
	}
}

// Without replacement the first draw has the probabilities of the weights, and the second
// those of what is left.
func TestWeightedOnceProbabilities(t *testing.T) {
	w := []float64{1, 2, 0, 5}
	p := mustNew(t, Config{Samples: 4, Batch: 2, Shards: 1, Shuffle: true, Sampler: Weighted{Weights: w, Draws: 2, Once: true}})
	const epochs = 20_000
	pairs := map[[2]int64]float64{}
	for epoch := range int64(epochs) {
		ids := p.AppendBatch(nil, epoch, 0, 0)
		pairs[[2]int64{ids[0], ids[1]}]++
	}
	for a, x := range w {
		for b, y := range w {
			if a != b {
				require.InDelta(t, x/8*y/(8-x), pairs[[2]int64{int64(a), int64(b)}]/epochs, 0.015, "%d, then %d", a, b)
			}
		}
	}
}

func TestExponentialVariates(t *testing.T) {
	random := uniforms(5)
	const n = 100_000
	sum, above := 0.0, 0
	for range n {
		x := random.exponential()
		sum += x
		if x > 2 {
			above++
		}
	}
	require.InDelta(t, 1, sum/n, 0.02)
	require.InDelta(t, math.Exp(-2), float64(above)/n, 0.005)
}

// TestStableSamplers pins orders: stored positions rely on them.
func TestStableSamplers(t *testing.T) {
	w := []float64{1, 0.1, 3, 2, 0, 7}
	for _, c := range []struct {
		sampler Sampler
		want    []int64
	}{
		{Weighted{Weights: w}, []int64{1, 2, 5, 3, 5, 5}},
		{Weighted{Weights: w, Once: true, Draws: 5}, []int64{5, 3, 2, 0, 1}},
		{ClassBalanced{Labels: []int32{0, 0, 1, 2, 2, 2}}, []int64{0, 5, 2, 1, 4, 2}},
		{Subset{Samples: []int64{5, 1, 3}}, []int64{3, 5, 1}},
		{Repeated{Times: 2, Apart: 3}, []int64{2, 0, 1, 2, 0, 1, 5, 4, 3, 5, 4, 3}},
		{Curriculum{Keys: w, Start: 0.5, Epochs: 3}, []int64{3, 3, 4, 0, 1, 4}},
		{Curriculum{Keys: w, Window: 3}, []int64{0, 1, 4, 5, 3, 2}},
	} {
		p := mustNew(t, Config{Samples: 6, Batch: 12, Shards: 1, Partition: ByStep, Shuffle: true, Seed: 1, Sampler: c.sampler})
		require.Equal(t, c.want, p.AppendBatch(nil, 1, 0, 0), "%#v", c.sampler)
	}
}
