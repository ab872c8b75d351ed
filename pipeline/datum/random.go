package datum

import (
	"math"
	"math/bits"
)

// Random names one source of random numbers of a pipeline: one operator's.
// What it yields for a sample depends on the pipeline's seed, the epoch, the
// sample and this name alone: not on workers, prefetching, the batch that the
// sample is in, or restarts.
type Random struct{ instance uint64 }

// NewRandom returns the source with the number instance. In a pipeline the method NewRandom
// of pipeline.Graph gives each operator a source of its own.
func NewRandom(instance uint64) Random { return Random{instance} }

// At returns the numbers for the sample of c.
func (r Random) At(c *Sample) Rand {
	return Rand{mix(c.key + r.instance*golden)}
}

// Rand is a stream of random numbers: SplitMix64 (Steele, Lea, Flood: Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014) from a hashed key.
type Rand struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of SplitMix64, a bijection whose every output bit
// depends on every input bit.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// sampleKey hashes what identifies a sample's draw; id is that of Batch.IDs.
func sampleKey(seed uint64, epoch, id int64) uint64 {
	k := mix(seed + golden)
	k = mix(k ^ uint64(epoch) + golden)
	return mix(k ^ uint64(id) + golden)
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return mix(r.state)
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
