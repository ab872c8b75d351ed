//go:build unix

package png

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/guardpage"
)

// atGuards runs f with a function that yields memory at either end of area i.
func atGuards(t *testing.T, f func(mem func(i, n int) []byte)) {
	var areas [3]*guardpage.Area
	for i := range areas {
		areas[i] = guardpage.New(t, 4096)
	}
	for _, end := range guardpage.Ends {
		f(func(i, n int) []byte { return end(areas[i], n) })
	}
}

// Kernels are what their twins are, on memory that begins or ends at a guard page.
func TestFiltersAgainstTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	atGuards(t, func(mem func(i, n int) []byte) {
		for _, f := range filters {
			for _, step := range []int{1, 2, 3, 4, 6, 8} {
				for n := 1; n <= 150; n++ {
					row, above, raw := random(r, mem(0, step+n)), random(r, mem(1, step+n)), random(r, mem(2, n))
					twin, before := bytes.Clone(row), bytes.Clone(row)
					f.kernel(row, above, raw, step)
					f.twin(twin, above, raw, step)
					require.Equal(t, twin, row, "%s of %d bytes, pixels of %d", f.name, n, step)
					require.Equal(t, before[:step], row[:step])
				}
			}
		}
	})
}

func TestNarrowAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	atGuards(t, func(mem func(i, n int) []byte) {
		for n := range 100 {
			dst, src, twin := mem(0, n), random(r, mem(1, 2*n)), make([]byte, n)
			narrow(dst, src)
			narrowGeneric(twin, src)
			require.True(t, bytes.Equal(twin, dst))
		}
	})
}

func TestAdlerAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	atGuards(t, func(mem func(i, n int) []byte) {
		for n := range 300 {
			p, start := random(r, mem(0, n)), r.Uint32N(adlerMod)<<16|r.Uint32N(adlerMod)
			require.Equal(t, adler32Generic(start, p), adler32(start, p), "%d bytes", n)
		}
	})
	large := bytes.Repeat([]byte{255}, 100_000) // the largest sums
	require.Equal(t, adler32Generic((adlerMod-1)<<16|adlerMod-1, large), adler32((adlerMod-1)<<16|adlerMod-1, large))
}

func TestShuffleAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	atGuards(t, func(mem func(i, n int) []byte) {
		for _, k := range kinds {
			for _, f := range []Format{FormatRGB, FormatBGR} {
				var c colors
				c.set(&scanner{Header: Header{Color: k.color, Depth: k.depth}}, f)
				if c.how != shuffled {
					continue
				}
				for n := range 60 {
					dst, px, twin := mem(0, 3*n), random(r, mem(1, n*c.step)), make([]byte, 3*n)
					c.shuffle(dst, px)
					c.shuffleGeneric(twin, px)
					require.True(t, bytes.Equal(twin, dst))
				}
			}
		}
	})
}
