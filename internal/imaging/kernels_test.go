package imaging

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// guarded returns a slice of n elements at a random offset, so that its alignment varies, and a function that reports
// whether the elements around it have kept their value.
func guarded[T comparable](t *rapid.T, n int, guard T) ([]T, func() bool) {
	at := rapid.IntRange(32, 64).Draw(t, "offset")
	b := make([]T, at+n+64)
	for i := range b {
		b[i] = guard
	}
	return b[at : at+n : at+n], func() bool {
		for i, v := range b {
			if (i < at || i >= at+n) && v != guard {
				return false
			}
		}
		return true
	}
}

func random(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
}

// fillRandom fills row with values that exceed the range of a byte on both sides, some exactly between integers.
func fillRandom(rng *rand.Rand, row []float32) {
	for i := range row {
		switch rng.IntN(8) {
		case 0:
			row[i] = float32(rng.IntN(256)) + 0.5
		case 1:
			row[i] = float32(math.Copysign(0, -1))
		default:
			row[i] = rng.Float32()*400 - 70
		}
	}
}

func requireBits(t require.TestingT, want, got []float32, what string) {
	require.Len(t, got, len(want), what)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			require.Failf(t, "values differ", "%s: element %d of %d is %v, the twin has %v", what, i, len(want), got[i], want[i])
		}
	}
}

// TestKernelsEqualTheirTwins compares what runs on this processor with the plain Go functions, bit for bit, for random
// sizes and alignments, and looks for writes beside the destination.
func TestKernelsEqualTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "n")
		rng := random(t)
		src, _ := guarded[float32](t, n, 0)
		fillRandom(rng, src)
		scale, bias := rng.Float32()*4-2, rng.Float32()*10-5
		want := make([]float32, n)
		dst, intact := guarded[float32](t, n, 7)

		affineGo(want, src, scale, bias)
		affine(dst, src, scale, bias)
		requireBits(t, want, dst, "affine")

		copy(want, src)
		copy(dst, src)
		quantiseGo(want)
		quantise(dst)
		requireBits(t, want, dst, "quantise")

		pixels, _ := guarded[byte](t, 3*n, 0)
		for i := range pixels {
			pixels[i] = byte(rng.Uint32())
		}
		affineBytesGo(want, pixels[:n], scale, bias)
		affineBytes(dst, pixels[:n], scale, bias)
		requireBits(t, want, dst, "affineBytes")
		require.True(t, intact(), "a kernel wrote beside its destination")

		slices.Reverse(want)
		reverse(dst)
		requireBits(t, want, dst, "reverse")
		require.True(t, intact(), "reverse wrote beside the row")

		wantBytes := make([]byte, n)
		bytes, bytesIntact := guarded[byte](t, n, 7)
		toBytesGo(wantBytes, src)
		toBytes(bytes, src)
		require.Equal(t, wantBytes, bytes)
		require.True(t, bytesIntact(), "toBytes wrote beside its destination")

		values, _ := guarded[float32](t, 3*n, 0)
		fillRandom(rng, values)
		wantJoined, joinedValues := make([]float32, 3*n), make([]float32, 3*n)
		joinFloatsGo(wantJoined, values[:n], values[n:2*n], values[2*n:])
		joinFloats(joinedValues, values[:n], values[n:2*n], values[2*n:])
		requireBits(t, wantJoined, joinedValues, "joinFloats")

		var planes, wantPlanes [3][]byte
		var planeIntact [3]func() bool
		for c := range planes {
			planes[c], planeIntact[c] = guarded[byte](t, n, 7)
			wantPlanes[c] = make([]byte, n)
		}
		split3Go(wantPlanes[0], wantPlanes[1], wantPlanes[2], pixels)
		split3(planes[0], planes[1], planes[2], pixels)
		require.Equal(t, wantPlanes, planes)
		joined, joinedIntact := guarded[byte](t, 3*n, 7)
		join3(joined, planes[0], planes[1], planes[2])
		require.Equal(t, pixels, joined)
		require.True(t, planeIntact[0]() && planeIntact[1]() && planeIntact[2]() && joinedIntact(), "split3 or join3 wrote beside its destination")
	})
}

func TestNormalizeKernelsEqualTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strip{w: rapid.IntRange(1, 150).Draw(t, "w"), h: rapid.IntRange(1, 5).Draw(t, "h"), mirror: rapid.Bool().Draw(t, "mirror")}
		s.stride = 3*s.w + rapid.IntRange(0, 9).Draw(t, "gap of pixels")
		s.pitch = s.w + rapid.IntRange(0, 9).Draw(t, "gap of values")
		rng := random(t)
		pixels, _ := guarded[byte](t, (s.h-1)*s.stride+3*s.w, 0)
		for i := range pixels {
			pixels[i] = byte(rng.Uint32())
		}
		var norm norms
		var rgb, want [3][]float32
		var intact [3]func() bool
		for c := range rgb {
			norm.setChannel(c, rng.Float32()*4-2, rng.Float32()*10-5)
			rgb[c], intact[c] = guarded[float32](t, (s.h-1)*s.pitch+s.w, 7)
			want[c] = slices.Clone(rgb[c])
		}
		normalize3Go(want, pixels, &s, &norm)
		s.stream = s.canStream(rgb)
		normalize3(rgb, pixels, &s, &norm)
		for c := range rgb {
			requireBits(t, want[c], rgb[c], "normalize3")
			require.True(t, intact[c](), "normalize3 wrote beside its destination")
		}
		// The twin in its own parts: what it took the place of.
		var planes [3][]byte
		for c := range planes {
			planes[c] = make([]byte, s.w)
		}
		row := make([]float32, s.w)
		for y := range s.h {
			split3Go(planes[0], planes[1], planes[2], pixels[y*s.stride:])
			for c, plane := range planes {
				affineBytesGo(row, plane, norm[c][0][0], norm[c][1][0])
				if s.mirror {
					slices.Reverse(row)
				}
				requireBits(t, want[c][y*s.pitch:][:s.w], row, "split3, affineBytes and reverse")
			}
		}
	})
}

// TestNormalizePastTheCachesEqualsItsTwin draws rows that lie as those of a batch do.
func TestNormalizePastTheCachesEqualsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strip{w: 16 * rapid.IntRange(1, 8).Draw(t, "w"), h: rapid.IntRange(1, 5).Draw(t, "h"), mirror: rapid.Bool().Draw(t, "mirror")}
		s.stride, s.pitch = 3*s.w+rapid.IntRange(0, 9).Draw(t, "gap of pixels"), s.w+8*rapid.IntRange(0, 2).Draw(t, "gap of values")
		pixels := noise((s.h-1)*s.stride+3*s.w, rapid.Uint64().Draw(t, "pixels"))
		norm := norms{}
		norm.set([3]float32{0.01, 0.02, -3}, [3]float32{1, -2, 0})
		size := s.h*s.pitch + 16
		var rgb, want [3][]float32
		all := aligned(3*size, 0)
		for i := range all {
			all[i] = 7
		}
		twins := slices.Clone(all)
		for c := range rgb {
			at := c*size + 8*rapid.IntRange(0, 1).Draw(t, "offset")
			rgb[c], want[c] = all[at:], twins[at:]
		}
		s.stream = s.canStream(rgb)
		require.Equal(t, canStream(all, 16), s.stream)
		normalize3Go(want, pixels, &s, &norm)
		normalize3(rgb, pixels, &s, &norm)
		fence()
		requireBits(t, twins, all, "normalize3")
	})
}

func TestVerticalKernelsEqualTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, taps := rapid.IntRange(1, 150).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "taps")
		pitch := n + rapid.IntRange(0, 9).Draw(t, "gap")
		rng := random(t)
		rows, _ := guarded[float32](t, taps*pitch, 0)
		fillRandom(rng, rows)
		weights := make([]float32, taps)
		for i := range weights {
			weights[i] = rng.Float32() - 0.3
		}
		scale, bias := rng.Float32()*4-2, rng.Float32()*10-5
		want := make([]float32, n)
		dst, intact := guarded[float32](t, n, 7)
		verticalGo(want, rows, pitch, weights)
		vertical(dst, rows, pitch, weights)
		requireBits(t, want, dst, "vertical")
		verticalAffineGo(want, rows, pitch, weights, scale, bias)
		verticalAffine(dst, rows, pitch, weights, scale, bias, canStream(dst, n))
		requireBits(t, want, dst, "verticalAffine")
		verticalRoundGo(want, rows, pitch, weights, scale, bias)
		verticalRound(dst, rows, pitch, weights, scale, bias, canStream(dst, n))
		requireBits(t, want, dst, "verticalRound")
		require.True(t, intact(), "a kernel wrote beside its destination")
	})
}

func TestColourKernelsEqualTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "n")
		rng := random(t)
		var in, want, got, out, wantOut [3][]float32
		var intact [3]func() bool
		for c := range in {
			in[c] = make([]float32, n)
			fillRandom(rng, in[c])
			want[c] = append(want[c], in[c]...)
			got[c], _ = guarded[float32](t, n, 0)
			copy(got[c], in[c])
			out[c], intact[c] = guarded[float32](t, n, 7)
			wantOut[c] = make([]float32, n)
		}
		toRGBGo(want[0], want[1], want[2])
		toRGB(got[0], got[1], got[2])
		for c := range want {
			requireBits(t, want[c], got[c], "toRGB")
			copy(want[c], in[c])
			copy(got[c], in[c])
		}
		var norm norms
		norm.set([3]float32{0.01, 0.02, -3}, [3]float32{1, -2, 0})
		toRGBAffineGo(wantOut, want[0], want[1], want[2], &norm)
		toRGBAffine(out, got[0], got[1], got[2], &norm, canStream(out[0], n) && canStream(out[1], n) && canStream(out[2], n))
		for c := range out {
			requireBits(t, wantOut[c], out[c], "toRGBAffine")
			require.True(t, intact[c](), "toRGBAffine wrote beside its destination")
		}
	})
}

// drawAxis returns an axis of a source of n samples: any filter and scale, any region, also beyond the source.
func drawAxis(t *rapid.T, n int) Axis {
	start := rapid.IntRange(0, n-1).Draw(t, "start")
	a := Axis{
		Out: rapid.IntRange(1, 70).Draw(t, "out"), Start: start, End: rapid.IntRange(start+1, n).Draw(t, "end"),
		Filter: Filter(rapid.IntRange(0, int(numFilters)-1).Draw(t, "filter")), Antialias: rapid.Bool().Draw(t, "antialias"),
	}
	a.Lo = rapid.Float64Range(-5, float64(n)).Draw(t, "lo")
	a.Hi = a.Lo + rapid.Float64Range(0.1, float64(n)+5).Draw(t, "extent")
	if rapid.Bool().Draw(t, "mirrored") {
		return a.Mirror()
	}
	return a
}

// compareHorizontal resamples a random row along a with the kernel and with its twin.
func compareHorizontal(t *rapid.T, x *taps, a Axis) {
	x.buildHorizontal(a)
	rng := random(t)
	row, _ := guarded[byte](t, a.End, 0)
	for i := range row {
		row[i] = byte(rng.Uint32())
	}
	want := make([]float32, a.Out)
	dst, intact := guarded[float32](t, (a.Out+7)&^7, 7)
	horizontalGo(want, row, x)
	horizontal(dst, row, x)
	requireBits(t, want, dst[:a.Out], "horizontal")
	require.True(t, intact(), "horizontal wrote beside its destination")
}

func TestHorizontalKernelsEqualTheirTwins(t *testing.T) {
	var x taps
	for name, c := range map[string]struct {
		axis        Axis
		lanes, wide bool
	}{
		"narrow windows":         {Axis{Out: 40, End: 60, Hi: 60, Filter: Linear, Antialias: true}, true, false},
		"wide windows":           {Axis{Out: 20, End: 200, Hi: 200, Filter: Linear, Antialias: true}, false, true},
		"fewer samples than one": {Axis{Out: 40, End: 5, Hi: 5, Filter: Linear}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compareHorizontal(t, &x, c.axis) })
			require.Equal(t, c.lanes, x.lanes)
			require.Equal(t, c.wide, x.wide)
		})
	}
	rapid.Check(t, func(t *rapid.T) { compareHorizontal(t, &x, drawAxis(t, rapid.IntRange(1, 300).Draw(t, "n"))) })
}
