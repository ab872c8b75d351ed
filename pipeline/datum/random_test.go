package datum

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// SplitMix64 from state 0 must yield the numbers of its published reference
// implementation (Vigna, splitmix64.c).
func TestRandIsSplitMix64(t *testing.T) {
	r := Rand{}
	for _, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		require.Equal(t, want, r.Uint64())
	}
}

func sample(seed uint64, epoch, index int64) *Sample {
	s := NewSample(context.Background(), nil, seed, epoch, index)
	return &s
}

func TestWhatIsDrawnDependsOnSeedEpochSampleAndOperator(t *testing.T) {
	draw := func(seed uint64, epoch, index int64, instance uint64) uint64 {
		r := Random{instance}.At(sample(seed, epoch, index))
		return r.Uint64()
	}
	seen := map[uint64]bool{}
	for seed := range uint64(8) {
		for epoch := range int64(8) {
			for index := range int64(16) {
				for instance := range uint64(8) {
					x := draw(seed, epoch, index, instance)
					require.Equal(t, x, draw(seed, epoch, index, instance))
					require.False(t, seen[x], "two draws are alike")
					seen[x] = true
				}
			}
		}
	}
}

func TestOperatorsDrawIndependently(t *testing.T) {
	a, b := NewRandom(1), NewRandom(2)
	const n = 20000
	var both, first, second int
	for i := range int64(n) {
		x, y := a.At(sample(1, 0, i)), b.At(sample(1, 0, i))
		p, q := x.Float64() < 0.5, y.Float64() < 0.5
		if p {
			first++
		}
		if q {
			second++
		}
		if p && q {
			both++
		}
	}
	sigma := math.Sqrt(n * 0.25)
	require.InDelta(t, n/2, first, 4*sigma)
	require.InDelta(t, n/2, second, 4*sigma)
	require.InDelta(t, n/4, both, 4*sigma)
}

func TestIntNIsUniformAndInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rand{rapid.Uint64().Draw(t, "state")}
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		x := r.IntN(n)
		require.True(t, 0 <= x && x < n)
	})
	r, counts := Rand{}, make([]int, 7)
	for range 70000 {
		counts[r.IntN(7)]++
	}
	for _, c := range counts {
		require.InDelta(t, 10000, c, 4*math.Sqrt(10000))
	}
}

func TestMomentsOfTheDistributions(t *testing.T) {
	const n = 100000
	r := Rand{state: 42}
	var sum, squares, lowest, highest float64
	for range n {
		x := r.Range(-1, 3)
		sum += x
		lowest, highest = min(lowest, x), max(highest, x)
	}
	require.InDelta(t, 1, sum/n, 0.02)
	require.True(t, -1 <= lowest && lowest < -0.99 && 2.99 < highest && highest < 3)
	sum = 0
	for range n {
		x := r.Normal()
		require.False(t, math.IsNaN(x) || math.IsInf(x, 0))
		sum += x
		squares += x * x
	}
	require.InDelta(t, 0, sum/n, 0.02)
	require.InDelta(t, 1, squares/n, 0.03)
}

// A batch's numbers depend on seed, epoch, step and operator, and are no sample's.
func TestNumbersOfABatch(t *testing.T) {
	seen := map[uint64]bool{}
	once := func(r Rand) {
		x := r.Uint64()
		require.False(t, seen[x])
		seen[x] = true
	}
	for seed := range uint64(3) {
		for epoch := range int64(3) {
			for step := range int64(3) {
				for instance := range uint64(3) {
					r := NewRandom(instance)
					once(r.AtBatch(seed, epoch, step))
					again := r.AtBatch(seed, epoch, step)
					require.True(t, seen[again.Uint64()])
					c := NewSample(t.Context(), nil, seed, epoch, step)
					once(r.At(&c))
				}
			}
		}
	}
}
