package datum

import (
	"math"
	"math/bits"
)

// Random names the random numbers of one operator of a pipeline. What it yields for a
// sample depends on the pipeline's seed, the epoch, the sample and this name alone. It does
// not depend on workers, on prefetching, on the batch that the sample is in, or on restarts.
type Random struct{ instance uint64 }

// NewRandom returns the source with the number instance. In a pipeline the method NewRandom
// of pipeline.Graph gives each operator a source of its own.
func NewRandom(instance uint64) Random { return Random{instance} }

// At returns the random numbers for a sample, from the first one on.
func (r Random) At(s *Sample) Rand {
	return Rand{hash64(s.key + r.instance*golden)}
}

// AtBatch returns the numbers for a step of an epoch, which are others than those of any
// sample.
func (r Random) AtBatch(seed uint64, epoch, step int64) Rand {
	return Rand{hash64(hash64(sampleKey(seed, epoch, step)^golden) + r.instance*golden)}
}

// Rand is a stream of random numbers: SplitMix64 (Steele, Lea, Flood: Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014) from a hashed key.
type Rand struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

// hash64 is the finalizer of SplitMix64, a bijection whose every output bit
// depends on every input bit.
func hash64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// sampleKey hashes what the random numbers of a sample depend on; id is that of Batch.IDs.
func sampleKey(seed uint64, epoch, id int64) uint64 {
	k := hash64(seed + golden)
	k = hash64(k ^ uint64(epoch) + golden)
	return hash64(k ^ uint64(id) + golden)
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return hash64(r.state)
}

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// Range returns a number in [lo, hi).
func (r *Rand) Range(lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }

// IntN returns a number in [0, n), each equally often (Lemire: Fast Random
// Integer Generation in an Interval, 2019). n must be positive.
func (r *Rand) IntN(n int) int {
	hi, lo := bits.Mul64(r.Uint64(), uint64(n))
	if lo < uint64(n) {
		for limit := -uint64(n) % uint64(n); lo < limit; {
			hi, lo = bits.Mul64(r.Uint64(), uint64(n))
		}
	}
	return int(hi)
}

// Normal returns a number of the standard normal distribution (Box and Muller).
func (r *Rand) Normal() float64 {
	u := 1 - r.Float64() // in (0, 1]
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*r.Float64())
}
