package shard

import (
	"math"
	"sync"
)

// Sampler decides what the list of an epoch holds: which samples, how often and in what
// order. A plan without one lists every sample once, or what its Sources give. All else is
// the plan's: it cuts the list into shards or global batches, and stores places in it.
//
// A sampler's slices are not copied. They must not change while a plan of theirs is in use.
type Sampler interface {
	// Order returns the orders of the epochs of a plan over c.Samples samples. The other
	// fields of c that concern it are Seed, Shuffle, whose order is random, and Partition.
	// What the sampler cannot meet is a *ConfigError.
	Order(c Config) (Order, error)
}

// Order is what a [Sampler] makes of a config: a pure function from an epoch and a
// position of its list to a sample. It may be used concurrently, and keeps nothing that it
// could not compute again, as states do not store it.
type Order interface {
	// Len returns the number of positions of a list, 1 to MaxSamples, the same in every epoch.
	Len() int64

	// Samples replaces positions of an epoch's list by the samples there.
	Samples(epoch int64, list []int64)

	// Visits replaces positions of an epoch's list by the visits of the samples there. A
	// visit tells the times apart that a sample comes: no sample has a visit twice, in
	// whatever epochs. It is the epoch where Repeats is false.
	Visits(epoch int64, list []int64)

	// Repeats reports whether a sample may come several times in an epoch, or the number of
	// its visit may differ from that of the epoch.
	Repeats() bool

	// Fingerprint is what a [Plan.Fingerprint] says of the sampler: words of the form
	// name=value, with a blank between them. Orders that differ have others.
	Fingerprint() string
}

// newOrder returns the order of a valid config.
func newOrder(c *Config) (Order, error) {
	switch {
	case c.Sampler != nil:
		return c.Sampler.Order(*c)
	case c.Sources != nil:
		return newMixOrder(c)
	}
	return newPlainOrder(c, c.Shards), nil
}

// Key derives from a plan's seed the key of a [NewPermutation] or of other random numbers,
// one for each name of what it is for and pair of numbers, such as an epoch and a class.
func Key(seed uint64, name string, number, index int64) uint64 {
	h := uint64(golden)
	for _, b := range []byte(name) {
		h = hash64(h ^ uint64(b))
	}
	return deriveKey(seed, purpose(h|1<<32), number, index)
}

// drawOf returns the number of a position's draw, counted on from epoch to epoch of a list
// of n positions. After 2^63 draws the count begins anew.
func drawOf(n, epoch, pos int64) int64 { return (epoch*n + pos) & math.MaxInt64 }

// fill sets all elements of a list.
func fill(list []int64, x int64) {
	for i := range list {
		list[i] = x
	}
}

// perEpoch keeps what an order computes of a whole epoch for the two epochs that were asked
// for last: batches are made ahead across the end of one.
type perEpoch[T any] struct {
	mu    sync.Mutex
	kept  [2]T
	epoch [2]int64
	used  [2]bool
	last  int
}

// get returns what make returns for an epoch. Others who ask wait meanwhile.
func (p *perEpoch[T]) get(epoch int64, make func(epoch int64) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.kept {
		if p.used[i] && p.epoch[i] == epoch {
			p.last = i
			return p.kept[i]
		}
	}
	p.last = 1 - p.last
	p.kept[p.last] = make(epoch)
	p.epoch[p.last], p.used[p.last] = epoch, true
	return p.kept[p.last]
}
