package shard

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// onceOrder is the order of weighted draws without replacement. Every sample gets an
// exponential variate divided by its weight, and those with the smallest are drawn.
type onceOrder struct {
	draws   int64
	weights []float64
	largest float64
	mask    uint64 // of the bits that hold a sample
	seed    uint64
	hash    uint64
	epochs  perEpoch[[]uint64]
}

func newOnceOrder(w Weighted, c *Config, largest float64) *onceOrder {
	return &onceOrder{
		draws: w.Draws, weights: w.Weights, largest: largest, mask: 1<<bits.Len64(uint64(c.Samples-1)) - 1, seed: c.Seed, hash: hashFloats(w.Weights),
	}
}

// Len implements [Order].
func (o *onceOrder) Len() int64 { return o.draws }

// Repeats implements [Order].
func (o *onceOrder) Repeats() bool { return false }

// Fingerprint implements [Order].
func (o *onceOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=weighted-once draws=%d weights=%016x", o.draws, o.hash)
}

// Visits implements [Order].
func (o *onceOrder) Visits(epoch int64, list []int64) { fill(list, epoch) }

// Samples implements [Order].
func (o *onceOrder) Samples(epoch int64, list []int64) {
	drawn := o.epochs.get(epoch, o.draw)
	for i, pos := range list {
		list[i] = int64(drawn[pos] & o.mask)
	}
}

// draw returns the samples of an epoch in the order of their variates, whose low bits they
// take: numbers above 0 are sorted as their bits are.
func (o *onceOrder) draw(epoch int64) []uint64 {
	key := Key(o.seed, "weighted once", epoch, 0)
	all := make([]uint64, 0, len(o.weights))
	for i, w := range o.weights {
		if w > 0 {
			random := uniforms(hash64(key ^ hash64(uint64(i)+golden)))
			all = append(all, math.Float64bits(random.exponential()/(w/o.largest))&^o.mask|uint64(i))
		}
	}
	slices.Sort(all)
	if o.draws < int64(len(all))/2 {
		return slices.Clone(all[:o.draws])
	}
	return all[:o.draws]
}

// uniforms is the state of SplitMix64.
type uniforms uint64

// next returns a number from 0 to 1, which is left out.
func (u *uniforms) next() float64 {
	*u += golden
	return float64(hash64(uint64(*u))>>11) * 0x1p-53
}

// exponential returns an exponential variate of mean 1. It compares uniform numbers and
// takes no logarithm, whose last bit differs between machines (von Neumann, "Various
// techniques used in connection with random digits", 1951).
func (u *uniforms) exponential() float64 {
	for whole := 0.0; ; whole++ {
		first := u.next()
		run, last := 1, first
		for next := u.next(); next < last; next = u.next() {
			run, last = run+1, next
		}
		if run%2 == 1 {
			return whole + first
		}
	}
}
