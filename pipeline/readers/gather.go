package readers

import (
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// touchAhead is how many rows ahead gather asks for memory: more than the processor waits for
// by itself.
const touchAhead = 8

// gather copies rows of all, which lie there one behind the other, to the rows of to. It does
// nothing where to is nil. There are as many rows in to as indices.
func gather(to, all []byte, index []int64) {
	if len(to) == 0 {
		return
	}
	switch size := len(to) / len(index); size {
	case 1:
		pick(to, all, index)
	case 4:
		pick(datum.View[uint32](to), datum.View[uint32](all), index)
	case 8:
		pick(datum.View[uint64](to), datum.View[uint64](all), index)
	default:
		gatherRows(to, all, size, index)
	}
}

// pick is gather for rows of one number. The processor has many of them on their way at once
// without being asked.
func pick[T any](to, all []T, index []int64) {
	to = to[:len(index)]
	for i, x := range index {
		to[i] = all[x]
	}
}

func gatherRows(to, all []byte, size int, index []int64) {
	row := func(x int64) []byte { return all[int(x)*size:][:size:size] }
	ahead := min(touchAhead, len(index))
	for _, x := range index[:ahead] {
		imaging.Touch(row(x))
	}
	for i, x := range index {
		if ahead < len(index) {
			imaging.Touch(row(index[ahead]))
			ahead++
		}
		copy(to[i*size:][:size], row(x))
	}
}
