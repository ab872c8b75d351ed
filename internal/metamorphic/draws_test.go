package metamorphic

import "math/rand/v2"

// draws are the random numbers of one part of a case.
type draws struct{ *rand.Rand }

func drawsOf(seed, part uint64) draws { return draws{rand.New(rand.NewPCG(seed, part))} }

// between returns lo … hi.
func (d draws) between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// oneIn is true once in n times.
func (d draws) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d draws, from ...T) T { return from[d.IntN(len(from))] }

// weighted is an entry of a table of what can be drawn.
type weighted[T any] struct {
	name   string
	weight int
	do     T
}

// choose draws an entry of a table, each as often as its weight says.
func choose[T any](d draws, table []weighted[T]) weighted[T] {
	sum := 0
	for _, e := range table {
		sum += e.weight
	}
	n := d.IntN(sum)
	for _, e := range table {
		if n -= e.weight; n < 0 {
			return e
		}
	}
	panic("unreachable")
}

// hash is SplitMix64's finalizer.
func hash(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
