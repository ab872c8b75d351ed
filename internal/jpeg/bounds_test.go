//go:build unix

package jpeg

import (
	"image"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/guardpage"
)

// atGuards runs f with a function that yields memory at either end of area i.
func atGuards(t *testing.T, f func(mem func(i, n int) []uint8)) {
	var areas [4]*guardpage.Area
	for i := range areas {
		areas[i] = guardpage.New(t, 4096)
	}
	for _, end := range guardpage.Ends {
		f(func(i, n int) []uint8 { return end(areas[i], n) })
	}
}

// TestKernelsStayInBounds runs the kernels on memory that begins or ends at a guard page;
// where it ends at one, each width has another alignment.
func TestKernelsStayInBounds(t *testing.T) {
	atGuards(t, func(mem func(i, n int) []uint8) {
		for n := 1; n <= 70; n++ {
			a, b, c := mem(0, n), mem(1, n), mem(2, n)
			yccToRGB(mem(3, 3*n), a, b, c)
			upsampleH2(mem(3, 2*n), a)
			upsampleH2V2(mem(3, 2*n), a, b)
		}
		b := (*block)(unsafe.Pointer(unsafe.SliceData(mem(0, 2*blockSize))))
		q := (*quantTable)(unsafe.Pointer(unsafe.SliceData(mem(1, 2*blockSize))))
		for _, transform := range []struct {
			size int
			do   func(dst []uint8, stride int, b *block, q *quantTable)
		}{{8, idct8x8}, {4, idct4x4}, {2, idct2x2}} {
			for stride := transform.size; stride <= 70; stride++ {
				transform.do(mem(2, (transform.size-1)*stride+transform.size), stride, b, q)
			}
		}
	})
}

// TestBlocksStayInBounds decodes blocks, some of them flat, likewise.
func TestBlocksStayInBounds(t *testing.T) {
	data := make([]byte, 1<<14)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32()) & 0xFE // no markers
	}
	dc, ac := new(dcTable), new(acTable)
	require.Empty(t, dc.define(standardHuffman[0][0], 15))
	require.Empty(t, ac.define(standardHuffman[1][0], 255))
	dc.build()
	ac.build()
	atGuards(t, func(mem func(i, n int) []uint8) {
		var reader bitReader
		reader.start(data, 0)
		b := (*scratchBlock)(unsafe.Pointer(unsafe.SliceData(mem(0, int(unsafe.Sizeof(scratchBlock{}))))))
		q := (*quantTable)(unsafe.Pointer(unsafe.SliceData(mem(1, 2*blockSize))))
		for stride := 8; stride <= 70; stride++ {
			c := scanComponent{dc: dc, ac: ac, quant: q, stride: stride}
			for range 8 {
				require.True(t, reader.ensure())
				decodeBlock(&reader, &c, b, mem(2, 7*stride+8))
			}
		}
	})
}

// TestPicturesStayInBounds decodes pictures into planes and pixels that are no larger than
// they have to be.
func TestPicturesStayInBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var areas [maxComponents + 1]*guardpage.Area
	for i := range areas {
		areas[i] = guardpage.New(t, 1<<16)
	}
	for _, group := range []map[string][]Sampling{samplings, otherSamplings} {
		for _, sampling := range group {
			for range 10 {
				data := encode(r, randomSpec(r, sampling))
				var d Decoder
				h, err := d.Header(data)
				require.NoError(t, err)
				whole := image.Rect(0, 0, h.Width, h.Height)
				for _, end := range guardpage.Ends {
					place := func(reduce int) {
						g := h.layout(whole, reduce)
						for i := range h.Components {
							d.planes.Plane[i].Pix = end(areas[i], g.comp[i].pixBytes())
						}
					}
					for _, reduce := range []int{1, 2, 4, 8} {
						place(reduce)
						require.NoError(t, d.Planes(&d.planes, data, whole, reduce))
					}
					place(1)
					require.NoError(t, d.RGB(end(areas[maxComponents], 3*h.Width*h.Height), 3*h.Width, data, whole))
				}
			}
		}
	}
}
