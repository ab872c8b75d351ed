package shard

import (
	"fmt"
	"math/bits"
)

// Permutation is a keyed permutation of 0 to n-1 of which any element is
// computed in constant memory and, expected, constant time.
//
// It is a Feistel network (Luby and Rackoff, "How to construct pseudorandom
// permutations from pseudorandom functions", 1988) over as few bits as hold n,
// split in two, and walked along its cycle until it is back below n
// (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). It
// has six rounds, and halves of at least five bits: with fewer of either, orders
// of few samples are visibly skewed. It is a shuffle, not a cipher.
//
// A Permutation is immutable and may be used concurrently.
type Permutation struct {
	n          uint64
	right      uint // bits of the right half
	rightMask  uint64
	leftShift  uint // keeps as many top bits of a round as the left half has
	rightShift uint
	keys       [rounds]uint64
}

const (
	rounds      = 6
	minHalfBits = 5
)

// NewPermutation returns the permutation of 0 to n-1 that key selects. It panics
// unless n is 1 to MaxSamples.
func NewPermutation(n int64, key uint64) Permutation {
	if n < 1 || n > MaxSamples {
		panic(fmt.Sprintf("shard: NewPermutation(%d): want 1 to %d", n, int64(MaxSamples)))
	}
	width := max(bits.Len64(uint64(n-1)), 2*minHalfBits)
	right := uint(width+1) / 2
	p := Permutation{
		n:          uint64(n),
		right:      right,
		rightMask:  1<<right - 1,
		leftShift:  64 - uint(width) + right,
		rightShift: 64 - right,
	}
	for i := range p.keys {
		key += golden
		p.keys[i] = hash64(key)
	}
	return p
}

// Len returns n.
func (p *Permutation) Len() int64 { return int64(p.n) }

// At returns the element at place i. It panics unless 0 <= i < n.
func (p *Permutation) At(i int64) int64 {
	x := p.check(i)
	for {
		l, r := x>>p.right, x&p.rightMask
		for k := 0; k < rounds; k += 2 {
			l ^= round(r, p.keys[k]) >> p.leftShift
			r ^= round(l, p.keys[k+1]) >> p.rightShift
		}
		if x = l<<p.right | r; x < p.n {
			return int64(x)
		}
	}
}

// IndexOf returns the place of element v, the inverse of [Permutation.At]. It
// panics unless 0 <= v < n.
func (p *Permutation) IndexOf(v int64) int64 {
	x := p.check(v)
	for {
		l, r := x>>p.right, x&p.rightMask
		for k := rounds - 2; k >= 0; k -= 2 {
			r ^= round(l, p.keys[k+1]) >> p.rightShift
			l ^= round(r, p.keys[k]) >> p.leftShift
		}
		if x = l<<p.right | r; x < p.n {
			return int64(x)
		}
	}
}

func (p *Permutation) check(i int64) uint64 {
	if uint64(i) >= p.n {
		panic(fmt.Sprintf("shard: place %d of a permutation of %d", i, p.n))
	}
	return uint64(i)
}

// round is the round function; its top bits are the good ones.
func round(x, key uint64) uint64 {
	x = (x ^ key) * 0xd6e8feb86659fd93
	x ^= x >> 32
	return x * golden
}

// golden is 2^64 divided by the golden ratio, the increment of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// hash64 is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
func hash64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// purpose separates the keys that are derived from one seed.
type purpose uint64

const (
	epochKey purpose = 1 + iota // the order of an epoch
	fixedKey                    // the list that is cut into shards that stick
	shardKey                    // the order within a shard that sticks
	blockKey                    // the order within a block
	groupKey                    // the order within a group of blocks
)

// deriveKey returns the key for one purpose, number and index under a seed.
func deriveKey(seed uint64, p purpose, number, index int64) uint64 {
	h := hash64(seed + uint64(p)*golden)
	h = hash64(h + uint64(number)*golden)
	return hash64(h + uint64(index)*golden)
}
