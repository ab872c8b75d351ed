package png

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// filters are the kernels of filters beside their twins.
var filters = []struct {
	name         string
	kernel, twin func(row, above, raw []byte, step int)
}{
	{"sub", func(row, _, raw []byte, step int) { addLeft(row, raw, step) },
		func(row, _, raw []byte, step int) { addLeftGeneric(row, raw, step) }},
	{"up", func(row, above, raw []byte, step int) { addBytes(row[step:], above[step:], raw) },
		func(row, above, raw []byte, step int) { addBytesGeneric(row[step:], above[step:], raw) }},
	{"average", addAverage, addAverageGeneric},
	{"paeth", addPaeth, addPaethGeneric},
}

// The predictor is that of the specification for all that it may see.
func TestPaethPredictor(t *testing.T) {
	const step = 8
	predictor := func(left, up, corner int) int {
		p := left + up - corner
		toLeft, toUp, toCorner := max(p-left, left-p), max(p-up, up-p), max(p-corner, corner-p)
		switch {
		case toLeft <= toUp && toLeft <= toCorner:
			return left
		case toUp <= toCorner:
			return up
		}
		return corner
	}
	var row, above [2 * step]byte
	var raw [step]byte
	for corner := range 256 {
		for up := range 256 {
			for i := range step {
				above[i], above[step+i] = byte(corner), byte(up)
			}
			for left := range 256 {
				row[left%step] = byte(left)
				if left%step < step-1 {
					continue
				}
				addPaeth(row[:], above[:], raw[:], step)
				for i, got := range row[step:] {
					if left := int(row[i]); predictor(left, up, corner) != int(got) {
						require.Equal(t, predictor(left, up, corner), int(got), "%d, %d, %d", left, up, corner)
					}
				}
			}
		}
	}
}

// random fills memory.
func random(r *rand.Rand, mem []byte) []byte {
	for i := range mem {
		mem[i] = byte(r.Uint32())
	}
	return mem
}

// A row may be made in pieces.
func TestRowsInPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for filter := range byte(paeth + 1) {
		for _, step := range []int{1, 2, 3, 4, 6, 8} {
			n := 40 * step
			above, raw := random(r, make([]byte, step+n)), random(r, make([]byte, n))
			whole, pieces := make([]byte, step+n), make([]byte, step+n)
			unfilter(filter, whole, above, raw, step)
			for at := 0; at < n; {
				size := min(n-at, step*(1+r.IntN(9)))
				unfilter(filter, pieces[at:at+step+size], above[at:], raw[at:at+size], step)
				at += size
			}
			require.Equal(t, whole, pieces, "filter %d, %d bytes", filter, step)
		}
	}
}
