package imaging

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTransposePlane(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		h, w := 1+rnd.IntN(40), 1+rnd.IntN(40)
		srcStride, dstStride := w+rnd.IntN(5), h+rnd.IntN(5)
		src, dst := make([]byte, h*srcStride), make([]byte, w*dstStride)
		for i := range src {
			src[i] = byte(rnd.Uint32())
		}
		for i := range dst {
			dst[i] = 0xee
		}
		TransposePlane(dst, dstStride, src, srcStride, h, w)
		for x := range w {
			for y := range h {
				require.Equal(t, src[y*srcStride+x], dst[x*dstStride+y], "%d×%d at %d, %d", h, w, y, x)
			}
			for y := h; y < dstStride && x*dstStride+y < len(dst); y++ {
				require.EqualValues(t, 0xee, dst[x*dstStride+y], "between rows")
			}
		}
	}
}

// Pixels go where the two steps say.
func TestTurn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		h, w, c := 1+rnd.IntN(80), 1+rnd.IntN(80), 1+rnd.IntN(4)
		src := make([]byte, h*w*c)
		for i := range src {
			src[i] = byte(rnd.Uint32())
		}
		origin, right, down := 0, c, w*c // as it is
		if rnd.IntN(2) == 0 {            // transposed: h columns of w
			right, down = h*c, c
		}
		if rnd.IntN(2) == 0 {
			origin, right = origin+(w-1)*right, -right
		}
		if rnd.IntN(2) == 0 {
			origin, down = origin+(h-1)*down, -down
		}
		dst := make([]byte, h*w*c)
		Turn(dst, h, w, c, src, origin, right, down)
		for y := range h {
			for x := range w {
				at := origin + y*down + x*right
				require.Equal(t, src[at:at+c], dst[(y*w+x)*c:][:c])
			}
		}
	}
}

func BenchmarkTransposePlane(b *testing.B) {
	const h, w = 375, 500
	src, dst := make([]byte, h*w), make([]byte, h*w)
	b.SetBytes(h * w)
	for b.Loop() {
		TransposePlane(dst, h, src, w, h, w)
	}
}

func BenchmarkTurn(b *testing.B) {
	const h, w = 500, 375
	src, dst := make([]byte, h*w*3), make([]byte, h*w*3)
	b.SetBytes(h * w * 3)
	for b.Loop() {
		Turn(dst, h, w, 3, src, (w-1)*h*3, -h*3, 3)
	}
}
