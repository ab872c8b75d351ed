//go:build unix

package imaging

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/guardpage"
	"github.com/planktonml/plankton/pipeline/datum"
)

// A place yields memory at one end of area i; each test uses as many as it needs.
type place func(i, n int) []byte

func (p place) floats(i, n int) []float32 { return datum.View[float32](p(i, 4*n)) }

// atGuards runs f with memory at the beginning and at the end of areas between guard pages.
func atGuards(t *testing.T, f func(mem place)) {
	var areas [6]*guardpage.Area
	for i := range areas {
		areas[i] = guardpage.New(t, 1<<14)
	}
	for _, end := range guardpage.Ends {
		f(func(i, n int) []byte { return end(areas[i], n) })
	}
}

// TestKernelsStayInBounds runs the kernels on memory that begins or ends at a guard page; where it ends at one, each
// width has another alignment.
func TestKernelsStayInBounds(t *testing.T) {
	var norm norms
	var twist byteTwist
	m := TwistColor(30, 1.2, 0.9, 1.1, 128)
	twist.set(&m)
	require.True(t, twist.narrow)
	atGuards(t, func(mem place) {
		for n := 1; n <= 70; n++ {
			a, b, c := mem.floats(0, n), mem.floats(1, n), mem.floats(2, n)
			affine(mem.floats(3, n), a, 1, 0)
			affineBytes(mem.floats(3, n), mem(4, n), 1, 0)
			quantise(a)
			toBytes(mem(3, n), a)
			joinFloats(mem.floats(3, 3*n), a, b, c)
			split3(mem(0, n), mem(1, n), mem(2, n), mem(3, 3*n))
			join3(mem(3, 3*n), mem(0, n), mem(1, n), mem(2, n))
			toRGB(a, b, c)
			rgb := [3][]float32{mem.floats(3, n), mem.floats(4, n), mem.floats(5, n)}
			toRGBAffine(rgb, a, b, c, &norm, canStream(rgb[0], n))
			twistRows(rgb, [3][]float32{a, b, c}, &twist, &norm, canStream(rgb[0], n))
			twistBytes(mem(3, 3*n), mem(4, 3*n), &twist)
			for h := 1; h <= 3; h++ {
				for _, mirror := range []bool{false, true} {
					s := strip{w: n, h: h, stride: 3*n + h, pitch: n + 8*h, mirror: mirror}
					for c := range rgb {
						rgb[c] = mem.floats(3+c, (h-1)*s.pitch+n)
					}
					s.stream = s.canStream(rgb)
					normalize3(rgb, mem(0, (h-1)*s.stride+3*n), &s, &norm)
				}
			}
			reverse(a)
			touch(mem(0, n))
			for taps := 1; taps <= 7; taps++ {
				rows, weights, dst := mem.floats(0, (taps-1)*n+n), mem.floats(1, taps), mem.floats(2, n)
				vertical(dst, rows, n, weights)
				verticalAffine(dst, rows, n, weights, 1, 0, canStream(dst, n))
				verticalRound(dst, rows, n, weights, 1, 0, canStream(dst, n))
			}
		}
	})
}

func TestHorizontalKernelsStayInBounds(t *testing.T) {
	var x taps
	atGuards(t, func(mem place) {
		rapid.Check(t, func(t *rapid.T) {
			a := drawAxis(t, rapid.IntRange(1, 300).Draw(t, "n"))
			x.buildHorizontal(a)
			horizontal(mem.floats(0, (a.Out+7)&^7), mem(1, a.End), &x)
		})
	})
}

// TestPicturesStayInBounds resizes and normalises pictures that are no larger than they say.
func TestPicturesStayInBounds(t *testing.T) {
	var r Resampler
	var n CropMirrorNormalizer
	atGuards(t, func(mem place) {
		rapid.Check(t, func(t *rapid.T) {
			h, w := rapid.IntRange(1, 40).Draw(t, "h"), rapid.IntRange(1, 60).Draw(t, "w")
			p := drawPlan(t, h, w)
			out := imageNet()
			out.CHW, out.Round = rapid.Bool().Draw(t, "chw"), rapid.Bool().Draw(t, "round")
			planar := &YCbCr{
				H: h, W: w, YStride: w,
				SubV: rapid.IntRange(1, 2).Draw(t, "subV"), SubH: rapid.IntRange(1, 2).Draw(t, "subH"),
			}
			ch, cw := planar.chromaSize()
			planar.CStride = cw
			planar.Y, planar.Cb, planar.Cr = mem(0, h*w), mem(1, ch*cw), mem(2, ch*cw)
			dst := make([]byte, 4*p.Y.Out*p.X.Out*3)
			require.NoError(t, r.ResizeYCbCr(dst, planar, p, &out))
			rgb := &Image{Pix: mem(3, h*w*3), Type: datum.Uint8, H: h, W: w, C: 3}
			require.NoError(t, r.ResizeBytes(dst, rgb, p, &out))
			s := drawWindow(t, rgb)
			require.NoError(t, n.Apply(mem(4, 4*s.H*s.W*s.DstC), datum.Float32, rgb, &s))
		})
	})
}
