package shard

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPermutationIsOne(t *testing.T) {
	for n := int64(1); n <= 70; n++ {
		for key := range uint64(20) {
			p := NewPermutation(n, key)
			require.Equal(t, n, p.Len())
			seen := make([]bool, n)
			for i := range n {
				v := p.At(i)
				require.False(t, seen[v], "n=%d key=%d", n, key)
				seen[v] = true
				require.Equal(t, i, p.IndexOf(v))
			}
		}
	}
}

func TestPermutationInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, MaxSamples).Draw(t, "n")
		p := NewPermutation(n, rapid.Uint64().Draw(t, "key"))
		i := rapid.Int64Range(0, n-1).Draw(t, "i")
		v := p.At(i)
		require.True(t, v >= 0 && v < n)
		require.Equal(t, i, p.IndexOf(v))
	})
}

func TestPermutationPanics(t *testing.T) {
	p := NewPermutation(5, 1)
	require.Panics(t, func() { p.At(5) })
	require.Panics(t, func() { p.At(-1) })
	require.Panics(t, func() { p.IndexOf(5) })
	require.Panics(t, func() { NewPermutation(0, 1) })
	require.Panics(t, func() { NewPermutation(MaxSamples+1, 1) })
}

// requireUniform fails where counts deviate from equal ones by more than chance
// does once in some 10⁵ tests. Their chi-square has df degrees of freedom; Wilson
// and Hilferty's cube root makes it nearly normal.
func requireUniform(t *testing.T, what string, counts []int, df int, spread float64) {
	t.Helper()
	total := 0
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	require.GreaterOrEqual(t, expected, 5.0, "too few draws for a chi-square test")
	chi2 := 0.0
	for _, c := range counts {
		d := float64(c) - expected
		chi2 += d * d / expected
	}
	chi2 /= spread
	v := 2 / (9 * float64(df))
	z := (math.Cbrt(chi2/float64(df)) - (1 - v)) / math.Sqrt(v)
	require.Less(t, math.Abs(z), 4.3, "%s: chi-square %.1f with %d degrees of freedom", what, chi2, df)
}

// epochOrders calls f with the orders of successive epochs, as a plan makes them.
func epochOrders(n int64, epochs int64, f func(epoch int64, order []int64)) {
	p, err := New(Config{Samples: n, Batch: int(n), Shards: 1, Shuffle: true, Seed: 42})
	if err != nil {
		panic(err)
	}
	for e := range epochs {
		f(e, p.AppendBatch(nil, e, 0, 0))
	}
}

// TestOrdersOfFew counts every order of few samples.
func TestOrdersOfFew(t *testing.T) {
	for _, n := range []int64{2, 3, 4, 5, 6} {
		orders := 1
		for i := int64(2); i <= n; i++ {
			orders *= int(i)
		}
		counts := make([]int, orders)
		epochOrders(n, int64(orders)*60, func(_ int64, order []int64) {
			// the order's number in the factorial system
			number := 0
			for i, v := range order {
				smaller := 0
				for _, w := range order[i+1:] {
					if w < v {
						smaller++
					}
				}
				number = number*(int(n)-i) + smaller
			}
			counts[number]++
		})
		requireUniform(t, "orders", counts, orders-1, 1)
	}
}

// TestPositionsAndPairs counts which sample comes where, and which two follow
// each other.
func TestPositionsAndPairs(t *testing.T) {
	for _, c := range []struct{ n, bins int }{{6, 6}, {33, 33}, {50, 10}, {300, 20}} {
		n, bin := c.n, func(v int64) int { return int(v) * c.bins / c.n }
		epochs := int64(300_000 / n)
		if testing.Short() {
			epochs /= 4
		}
		positions, successors := make([]int, c.bins*c.bins), make([]int, n-1)
		next := 0
		epochOrders(int64(n), epochs, func(_ int64, order []int64) {
			for i, v := range order {
				positions[bin(int64(i))*c.bins+bin(v)]++
				if i == 0 {
					continue
				}
				d := int(v-order[i-1]+int64(n)) % n
				successors[d-1]++
				if v == order[i-1]+1 {
					next++
				}
			}
		})
		// Each order puts one sample in each place: that spreads the counts n/(n-1)
		// times as much as independent draws.
		requireUniform(t, "positions", positions, (c.bins-1)*(c.bins-1), float64(n)/float64(n-1))
		requireUniform(t, "cyclic distance of neighbours", successors, n-2, 1)
		// n-1 neighbours, of which one pair in n has a successor next to it
		expected := float64(epochs) * float64(n-1) / float64(n)
		require.InDelta(t, expected, next, 4.3*math.Sqrt(expected), "n=%d: next = previous + 1", n)
	}
}

// TestEpochsAreUnrelated looks for a pattern between one epoch's order and the next's.
func TestEpochsAreUnrelated(t *testing.T) {
	const n, epochs = 50, 8000
	shift, stays := make([]int, n), 0
	var before []int64
	epochOrders(n, epochs, func(_ int64, order []int64) {
		place := make([]int, n)
		for i, v := range order {
			place[v] = i
		}
		for i, v := range before {
			shift[(place[v]-i+n)%n]++
			if place[v] == i {
				stays++
			}
		}
		before = order
	})
	requireUniform(t, "shift of a sample from epoch to epoch", shift, n-1, float64(n)/(n-1))
	require.InDelta(t, epochs, stays, 4.3*math.Sqrt(epochs), "one sample stays in place on average")
}

// TestSeedsAreUnrelated does so between neighbouring seeds.
func TestSeedsAreUnrelated(t *testing.T) {
	const n, seeds = 64, 4000
	shift := make([]int, n)
	var before []int64
	for seed := range uint64(seeds) {
		p := mustNew(t, Config{Samples: n, Batch: n, Shards: 1, Shuffle: true, Seed: seed})
		order := p.AppendBatch(nil, 0, 0, 0)
		for i, v := range before {
			shift[(order[i]-v+n)%n]++
		}
		before = order
	}
	requireUniform(t, "difference between seeds", shift, n-1, float64(n)/(n-1))
}
