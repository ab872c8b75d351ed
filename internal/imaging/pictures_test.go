package imaging

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

func TestBorders(t *testing.T) {
	for b, want := range map[Border][]int{ // of four samples, from place -6 on
		Reflect101:   {0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1},
		Reflect1001:  {2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0},
		Wrap:         {2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3},
		Clamp:        {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3},
		BorderFilled: {-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1},
	} {
		for i, w := range want {
			require.Equal(t, w, b.at(i-6, 4), "border %d, place %d", b, i-6)
		}
		require.Equal(t, 0, b.at(0, 1))
	}
	require.Equal(t, 0, Reflect101.at(-5, 1))
}

func TestWindows(t *testing.T) {
	require.Equal(t, []float32{1, 4, 6, 4, 1}, BinomialWindow(nil, 5, false))
	require.Equal(t, []float32{1, -2, 1}, BinomialWindow(nil, 3, true))
	require.Equal(t, []float32{9, 1, 0, -2, 0, 1}, BinomialWindow([]float32{9}, 5, true))
	sum := 0.
	for _, w := range GaussianWindow(nil, 7, 1.3) {
		sum += float64(w)
	}
	require.InDelta(t, 1, sum, 1e-6)
}

// arrayOf draws an array of floats and its shape, height, width and channels.
func arrayOf(t *rapid.T) (x []float32, shape []int) {
	for range 3 {
		shape = append(shape, rapid.IntRange(1, 6).Draw(t, "extent"))
	}
	for range elements(shape) {
		x = append(x, float32(rapid.IntRange(-50, 50).Draw(t, "element")))
	}
	return x, shape
}

// A filter is the sum that its definition says, whatever the shape, the anchor and the border.
func TestFilterIsItsDefinition(t *testing.T) {
	var k Convolver
	rapid.Check(t, func(t *rapid.T) {
		x, shape := arrayOf(t)
		h, w, c := shape[0], shape[1], shape[2]
		f := Kernel2{H: rapid.IntRange(1, 5).Draw(t, "rows"), W: rapid.IntRange(1, 5).Draw(t, "columns"), Fill: 7}
		for range f.H * f.W {
			f.Weights = append(f.Weights, float32(rapid.IntRange(-3, 3).Draw(t, "weight")))
		}
		f.AnchorY, f.AnchorX = rapid.IntRange(0, f.H-1).Draw(t, "anchor"), rapid.IntRange(0, f.W-1).Draw(t, "anchor")
		f.Border = Border(rapid.IntRange(0, int(BorderFilled)).Draw(t, "border"))
		f.Valid = f.H <= h && f.W <= w && rapid.Bool().Draw(t, "valid")
		dh, dw := f.Result(h, w)
		got := make([]float32, dh*dw*c)
		require.NoError(t, k.Filter(datum.BytesOf(got), datum.Float32, datum.BytesOf(x), datum.Float32, 1, h, w, c, &f))
		ay, ax := f.AnchorY, f.AnchorX
		if f.Valid {
			ay, ax = 0, 0
		}
		for i := range got {
			y, p, ch := i/c/dw, i/c%dw, i%c
			want := float32(0)
			for j, weight := range f.Weights {
				sy, sx := f.Border.at(y+j/f.W-ay, h), f.Border.at(p+j%f.W-ax, w)
				v := f.Fill
				if sy >= 0 && sx >= 0 {
					v = x[(sy*w+sx)*c+ch]
				}
				want += weight * v
			}
			require.Equal(t, want, got[i], "element %d", i)
		}
	})
}

// A separable filter is the filter of two dimensions whose weights are the products.
func TestSeparableIsTheFilterOfTheProducts(t *testing.T) {
	var k Convolver
	rapid.Check(t, func(t *rapid.T) {
		x, shape := arrayOf(t)
		h, w, c := shape[0], shape[1], shape[2]
		a := BinomialWindow(nil, 2*rapid.IntRange(0, 3).Draw(t, "window")+1, false)
		b := BinomialWindow(nil, 2*rapid.IntRange(1, 3).Draw(t, "window")+1, true)
		f := Kernel2{H: len(a), W: len(b), AnchorY: len(a) / 2, AnchorX: len(b) / 2}
		for _, v := range a {
			for _, u := range b {
				f.Weights = append(f.Weights, u*v)
			}
		}
		want, got := make([]float32, len(x)), make([]float32, len(x))
		require.NoError(t, k.Filter(datum.BytesOf(want), datum.Float32, datum.BytesOf(x), datum.Float32, 1, h, w, c, &f))
		require.NoError(t, k.Separable(datum.BytesOf(got), datum.Float32, datum.BytesOf(x), datum.Float32, shape, []int{0, 1}, [][]float32{a, b}))
		require.Equal(t, want, got, "small integers are exact")
	})
}

func TestFillRegionFillsTheRegionAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, shape := arrayOf(t)
		start, end := make([]int, 3), make([]int, 3)
		for i := range start {
			start[i] = rapid.IntRange(-2, 6).Draw(t, "start")
			end[i] = rapid.IntRange(-2, 8).Draw(t, "end")
			if rapid.Bool().Draw(t, "whole") {
				start[i], end[i] = 0, shape[i]
			}
		}
		fill := make([]byte, 1)
		if rapid.Bool().Draw(t, "per channel") {
			fill = make([]byte, shape[2])
		}
		for i := range fill {
			fill[i] = byte(i + 1)
		}
		got := make([]byte, elements(shape))
		require.NoError(t, FillRegion(got, 1, shape, start, end, fill, 2))
		for i, v := range got {
			at := [3]int{i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]}
			inside := true
			for d := range at {
				inside = inside && at[d] >= start[d] && at[d] < end[d]
			}
			want := byte(0)
			if inside {
				want = fill[min(at[2], len(fill)-1)]
			}
			require.Equal(t, want, v, "element %d", i)
		}
	})
}

// Turning by a hue and by its opposite, and scaling saturation up and down again, is no change.
func TestTwistsCancel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hue, s := float32(rapid.IntRange(-360, 360).Draw(t, "hue")), float32(rapid.IntRange(1, 8).Draw(t, "saturation"))/4
		there, back := TwistColor(hue, s, 1, 1, 0.5), TwistColor(-hue, 1/s, 1, 1, 0.5)
		x := []float32{0.1, 0.7, 0.4}
		y, z := make([]float32, 3), make([]float32, 3)
		require.NoError(t, there.Apply(datum.BytesOf(y), datum.Float32, datum.BytesOf(x), datum.Float32))
		require.NoError(t, back.Apply(datum.BytesOf(z), datum.Float32, datum.BytesOf(y), datum.Float32))
		for i := range x {
			require.InDelta(t, x[i], z[i], 1e-5)
		}
	})
}

// A warp by whole pixels moves pixels, in both filters and all types alike.
func TestWarpByWholePixels(t *testing.T) {
	src := Image{Pix: []byte{1, 2, 3, 4, 5, 6}, Type: datum.Uint8, H: 2, W: 3, C: 1}
	var k Warper
	for _, nearest := range []bool{false, true} {
		s := WarpSpec{M: [6]float64{1, 0, 1, 0, 1, -1}, Nearest: nearest, Constant: true, Fill: 9}
		got := make([]byte, 6)
		require.NoError(t, k.Apply(got, datum.Uint8, 2, 3, &src, &s))
		require.Equal(t, []byte{9, 9, 9, 2, 3, 9}, got)
		wide := make([]float32, 6)
		require.NoError(t, k.Apply(datum.BytesOf(wide), datum.Float32, 2, 3, &src, &s))
		require.Equal(t, []float32{9, 9, 9, 2, 3, 9}, wide)
		s.Constant = false
		require.NoError(t, k.Apply(got, datum.Uint8, 2, 3, &src, &s))
		require.Equal(t, []byte{2, 3, 3, 2, 3, 3}, got)
	}
	m, ok := Inverse([6]float64{2, 1, 3, 1, 1, 4})
	require.True(t, ok)
	require.Equal(t, [6]float64{1, -1, 1, -1, 2, -5}, m)
	_, ok = Inverse([6]float64{1, 2, 0, 2, 4, 0})
	require.False(t, ok)
	require.Error(t, k.Apply(make([]byte, 6), datum.Uint8, 2, 3, &src, &WarpSpec{M: [6]float64{1, 0, math.Inf(1)}}))
}

func TestRotatedSize(t *testing.T) {
	for angle, want := range map[float64][2]int{0: {6, 8}, 30: {10, 10}, 90: {8, 6}, 180: {6, 8}} {
		sin, cos := math.Sincos(angle * math.Pi / 180)
		h, w := RotatedSize(6, 8, sin, cos)
		require.Equal(t, want, [2]int{h, w}, "%g°", angle)
	}
}

func TestReplace(t *testing.T) {
	table := []byte{10, 11, 12, 99}
	dst := make([]byte, 4)
	require.NoError(t, Replace(dst, table, 1, []byte{0, 2, 3, 255}, datum.Int8))
	require.Equal(t, []byte{10, 12, 99, 99}, dst)
	wide := slices.Concat([]byte{1, 0}, []byte{200, 0}, []byte{0, 0}, []byte{255, 255})
	require.NoError(t, Replace(dst, table, 1, wide, datum.Uint16))
	require.Equal(t, []byte{11, 99, 10, 99}, dst)
}
