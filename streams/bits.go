package streams

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }

func (b bitset) union(o bitset) {
	for w, x := range o {
		b[w] |= x
	}
}

func (b bitset) intersect(o bitset) {
	for w := range b {
		b[w] &= o[w]
	}
}

// fill adds lo … hi-1.
func (b bitset) fill(lo, hi int) {
	for i := lo; i < hi; {
		if i%64 == 0 && hi-i >= 64 {
			b[i/64] = ^uint64(0)
			i += 64
			continue
		}
		b.add(i)
		i++
	}
}

// matrix is a list of equally long bitsets in one block of memory.
type matrix struct {
	words int
	bits  []uint64
}

func newMatrix(rows, columns int) matrix {
	words := (columns + 63) / 64
	return matrix{words, make([]uint64, rows*words)}
}

func (m matrix) row(i int) bitset { return m.bits[i*m.words : (i+1)*m.words : (i+1)*m.words] }
