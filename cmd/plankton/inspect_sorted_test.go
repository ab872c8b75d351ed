package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// labelledShards are samples with labels in shards of one size; all else is not asked for.
type labelledShards struct {
	datum.Source
	labels []int32
	size   int
}

func (s labelledShards) Len() int64 { return int64(len(s.labels)) }
func (s labelledShards) Label(i int64) (int32, bool) {
	return s.labels[i], s.labels[i] >= 0
}
func (s labelledShards) ShardEnds() (ends []int64) {
	for end := s.size; end < len(s.labels); end += s.size {
		ends = append(ends, int64(end))
	}
	return append(ends, s.Len())
}

// classes are n labels of so many classes by turns.
func classes(n, of int) (labels []int32) {
	for i := range n {
		labels = append(labels, int32(i%of))
	}
	return labels
}

func warningOf(labels []int32, size int) string {
	l, _ := newLikeness(labelledShards{labels: labels, size: size})
	return l.warning()
}

func TestSortedShardsAreWarnedOf(t *testing.T) {
	sorted := classes(10_000, 10)
	slices.Sort(sorted)
	require.Equal(t, "shards are sorted by class: two samples of one have the same class in 100 % of all cases, any two in 10 %; "+
		"mix the samples when shards are written, or shuffle groups of at least 50 (iterator.Options.ShuffleGroup, bench --shuffle-group), never single blocks", warningOf(sorted, 100))
	require.Contains(t, warningOf(sorted, 400), "or shuffle all samples, never blocks")

	half := slices.Clone(sorted) // half of each shard is at random
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(half); i += 2 {
		half[i] = int32(r.IntN(10))
	}
	require.Contains(t, warningOf(half, 100), "at least 13 ")
}

func TestShardsThatAreMixedAreNotWarnedOf(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, size := 2+r.IntN(2000), 1+r.IntN(40)
		labels := classes(n, 1+r.IntN(20))
		r.Shuffle(n, func(a, b int) { labels[a], labels[b] = labels[b], labels[a] })
		require.Empty(t, warningOf(labels, size), "seed %d", seed)
	}
	sorted := classes(1000, 10)
	slices.Sort(sorted)
	require.Empty(t, warningOf(sorted, 1000), "one shard has no order")
	require.Empty(t, warningOf(sorted, 1), "shards of one sample are shuffled")
	require.Empty(t, warningOf(slices.Repeat([]int32{3}, 100), 10), "one class")
	require.Empty(t, warningOf(slices.Repeat([]int32{-1}, 100), 10), "no label")
	_, ok := newLikeness(struct{ datum.Source }{})
	require.False(t, ok)
}
