package shard

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Of the first draws, over all epochs, each class has its share to within one, and within a
// class every sample comes once before any comes again.
func TestClassBalancedCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "samples")
		labels := labelsFor(t, n)
		p := mustNew(t, Config{
			Samples: n, Batch: 7, Shards: 1, Shuffle: rapid.Bool().Draw(t, "shuffle"), Seed: rapid.Uint64().Draw(t, "seed"),
			Sampler: ClassBalanced{Labels: labels, Draws: rapid.Int64Range(1, 90).Draw(t, "draws")},
		})
		sizes := map[int32]int{}
		for _, class := range labels {
			sizes[class]++
		}
		drawn, times, k := map[int32]int{}, map[int64]int{}, 0
		for epoch := range int64(4) {
			for _, id := range read(p, epoch, 0, p.Steps(epoch)) {
				k++
				class := labels[id]
				require.Equal(t, drawn[class]/sizes[class], times[id], "sample %d", id)
				drawn[class]++
				times[id]++
				for class := range sizes {
					require.InDelta(t, float64(k)/float64(len(sizes)), drawn[class], 0.9999)
				}
			}
		}
	})
}

func TestSubsetListsEachSampleOnce(t *testing.T) {
	list := []int64{7, 3, 9, 0}
	for _, shuffle := range []bool{false, true} {
		p := mustNew(t, Config{Samples: 10, Batch: 2, Shards: 3, Shuffle: shuffle, Sampler: Subset{Samples: list}})
		for epoch := range int64(5) {
			require.ElementsMatch(t, list, read(p, epoch, 0, p.Steps(epoch)))
		}
	}
	p := mustNew(t, Config{Samples: 10, Batch: 4, Shards: 1, Sampler: Subset{Samples: list}})
	require.Equal(t, list, p.AppendBatch(nil, 3, 0, 0))
}

// Every sample comes Times times, Apart positions apart but in a short last stretch.
func TestRepeatedCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 50).Draw(t, "samples")
		r := Repeated{Times: rapid.IntRange(2, 5).Draw(t, "times"), Apart: rapid.Int64Range(1, n).Draw(t, "apart")}
		p := mustNew(t, Config{Samples: n, Batch: int(n) * r.Times, Shards: 1, Shuffle: rapid.Bool().Draw(t, "shuffle"), Sampler: r})
		at := map[int64][]int64{}
		for pos, id := range p.AppendBatch(nil, 2, 0, 0) {
			at[id] = append(at[id], int64(pos))
		}
		require.Len(t, at, int(n))
		for id, places := range at {
			require.Len(t, places, r.Times)
			apart := r.Apart
			if places[0] >= n/r.Apart*r.Apart*int64(r.Times) {
				apart = n % r.Apart
			}
			for i, place := range places[1:] {
				require.Equal(t, apart, place-places[i], "sample %d at %v", id, places)
			}
		}
	})
}

// By shard the copies of a sample are read in the same step by different ranks, by step in
// one global batch by different ranks.
func TestRepeatedCopiesAreSpreadOverRanks(t *testing.T) {
	for _, cfg := range []Config{
		{Samples: 40, Batch: 5, Shards: 4, Shuffle: true, Sampler: Repeated{Times: 2}},
		{Samples: 40, Batch: 5, Shards: 4, Shuffle: true, Partition: ByStep, Sampler: Repeated{Times: 2, Apart: 10}},
	} {
		p := mustNew(t, cfg)
		for step := range p.Steps(1) {
			ranks := map[int64][]int{}
			for rank := range 4 {
				for _, id := range p.AppendBatch(nil, 1, step, rank) {
					ranks[id] = append(ranks[id], rank)
				}
			}
			for id, of := range ranks {
				require.Len(t, of, 2, "sample %d of step %d", id, step)
				require.NotEqual(t, of[0], of[1])
			}
		}
	}
}

// A paced epoch draws from the easiest samples alone, each as often as the others to within one.
func TestCurriculumPaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 60).Draw(t, "samples")
		cfg := Config{Samples: n, Batch: 7, Shards: 2, Shuffle: true, Seed: rapid.Uint64().Draw(t, "seed")}
		k := Curriculum{Keys: keysFor(t, &cfg), Start: 0.25, Epochs: 3}
		p := mustNew(t, withSampler(cfg, k))
		order := mustNew(t, Config{Samples: n, Batch: int(n), Shards: 1, Partition: ByStep, Sampler: Curriculum{Keys: k.Keys}}).AppendBatch(nil, 5, 0, 0)
		require.True(t, slices.IsSortedFunc(order, func(a, b int64) int {
			if k.Keys[a] != k.Keys[b] {
				return map[bool]int{true: -1, false: 1}[k.Keys[a] < k.Keys[b]]
			}
			return int(a - b)
		}))
		for epoch, quarters := range []int64{1, 2, 3, 4, 4} {
			easy := ceilDiv(quarters*n, 4)
			got := counts(read(p, int64(epoch), 0, p.Steps(0)))
			for i, id := range order {
				c := int64(got[id])
				if int64(i) < easy {
					require.True(t, c == n/easy || c == ceilDiv(n, easy), "sample %d: %d of %d/%d", id, c, n, easy)
				} else {
					require.Zero(t, c)
				}
			}
		}
	})
}

// A sorted epoch with a window has each sample once, and within a window of its place.
func TestCurriculumWindows(t *testing.T) {
	keys := make([]float64, 103)
	for i := range keys {
		keys[i] = -float64(i)
	}
	p := mustNew(t, Config{Samples: 103, Batch: 103, Shards: 1, Shuffle: true, Partition: ByStep, Sampler: Curriculum{Keys: keys, Window: 10}})
	for epoch := range int64(3) {
		ids := p.AppendBatch(nil, epoch, 0, 0)
		require.Len(t, counts(ids), 103)
		for i, id := range ids {
			require.Equal(t, int64(i/10), (102-id)/10)
		}
	}
	require.NotEqual(t, p.AppendBatch(nil, 0, 0, 0), p.AppendBatch(nil, 1, 0, 0))
}
