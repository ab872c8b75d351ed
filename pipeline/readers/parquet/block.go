package parquet

import (
	"math"
)

// block is a decoded page: the values of some rows of a column chunk. Of a column with
// lists it is the whole chunk.
type block struct {
	rows int

	// Values lie one after the other, each of the leaf's size in memory. Byte arrays lie
	// anywhere in values: number i from spans[2*i] to spans[2*i+1].
	values []byte
	spans  []uint32

	// Of byte arrays that are written as numbers in a dictionary, ids are the numbers and
	// the arrays those of the dictionary.
	ids        []uint32
	dictionary *entry

	// Of a column with missing values, row i has value at[i], or none.
	at []uint32

	// Of a column with lists, row i has the values first[i] to first[i+1], and the levels
	// of entries begin[i] to begin[i+1].
	first, begin []uint32
	rep, def     []byte

	joined bool // values are copies of those of several pages

	owned [][]byte // memory that can be used again when the block is dropped
}

// own notes memory that the block shows.
func (b *block) own(mem []byte) {
	if !b.owns(mem) {
		b.owned = append(b.owned, mem)
	}
}

// owns reports whether the block shows some memory.
func (b *block) owns(mem []byte) bool {
	for _, m := range b.owned {
		if cap(m) > 0 && cap(mem) > 0 && &m[:1][0] == &mem[:1][0] {
			return true
		}
	}
	return false
}

// missing is the place of a value that is not there.
const missing = math.MaxUint32

// bytes returns how much memory a block takes.
func (b *block) bytes() int64 {
	owned := 0
	for _, mem := range b.owned {
		owned += cap(mem)
	}
	return int64(max(owned, cap(b.values)) + 4*(cap(b.spans)+cap(b.ids)+cap(b.at)+cap(b.first)+cap(b.begin)) + cap(b.rep) + cap(b.def))
}
