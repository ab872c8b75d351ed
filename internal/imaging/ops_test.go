package imaging

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

func TestFloat16RoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		f := fromFloat16(uint16(h))
		if f != f {
			require.Equal(t, uint16(0x7c00), uint16(h)&0x7c00)
			require.NotZero(t, h&0x3ff)
			require.Equal(t, float32(math.Inf(1)), fromFloat16(toFloat16(f)&0x7c00), "a NaN stays one")
			continue
		}
		require.Equal(t, uint16(h), toFloat16(f), "%v", f)
	}
}

func TestToFloat16IsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32Range(-70000, 70000).Draw(t, "f")
		if rapid.Bool().Draw(t, "small") {
			f *= 1e-8
		}
		h := toFloat16(f)
		got := fromFloat16(h)
		if math.Abs(float64(f)) >= 65520 {
			require.Equal(t, math.Copysign(math.Inf(1), float64(f)), float64(got))
			return
		}
		off := math.Abs(float64(got) - float64(f))
		for _, neighbour := range []uint16{h - 1, h + 1} {
			if n := float64(fromFloat16(neighbour)); neighbour&0x7c00 != 0x7c00 && math.Signbit(n) == math.Signbit(float64(f)) {
				require.GreaterOrEqual(t, math.Abs(n-float64(f)), off)
			}
		}
	})
	for f, want := range map[float32]float32{2049: 2050, -2051: -2052, 1.5 / (1 << 24): 2.0 / (1 << 24), 65519: 65504} {
		require.Equal(t, want, fromFloat16(toFloat16(f)), "ties go away from zero")
	}
}

func TestCast(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		to         datum.DType
		give, want []float64
	}{
		{datum.Uint8, []float64{nan, -inf, inf, -0.5, 0.5, 254.5, 255.5, -1}, []float64{0, 0, 255, 0, 1, 255, 255, 0}},
		{datum.Int8, []float64{nan, -inf, inf, -1.5, 127.5, -129}, []float64{0, -128, 127, -2, 127, -128}},
		{datum.Uint16, []float64{nan, 65535.5, -3}, []float64{0, 65535, 0}},
		{datum.Int16, []float64{nan, 32767.6, -32769}, []float64{0, 32767, -32768}},
		{datum.Uint32, []float64{nan, 1e20, -3}, []float64{0, math.MaxUint32, 0}},
		{datum.Int32, []float64{nan, 1e20, -1e20}, []float64{math.MinInt32, math.MaxInt32, math.MinInt32}},
		{datum.Uint64, []float64{nan, 1e20, -3}, []float64{1 << 63, math.MaxUint64, 0}},
		{datum.Int64, []float64{nan, 1e20, -1e20}, []float64{math.MinInt64, math.MaxInt64, math.MinInt64}},
		{datum.Bool, []float64{nan, 0.49, -0.5, 3, 0}, []float64{1, 0, 1, 1, 0}},
		{datum.Float16, []float64{70000, -70000, 1.0 / 3}, []float64{inf, -inf, 0.333251953125}},
		{datum.Float32, []float64{1e-3, 1e39}, []float64{float64(float32(1e-3)), inf}},
	} {
		var src []byte
		for _, v := range c.give {
			src = binary.NativeEndian.AppendUint64(src, math.Float64bits(v))
		}
		dst := make([]byte, len(c.give)*c.to.Size())
		require.NoError(t, Cast(dst, c.to, src, datum.Float64))
		back := make([]byte, len(src))
		require.NoError(t, Cast(back, datum.Float64, dst, c.to))
		require.Equal(t, c.want, datum.View[float64](back), c.to.String())
	}
}

// TestCastOfIntegersSaturates compares all pairs of integer types with arithmetic that cannot overflow.
func TestCastOfIntegersSaturates(t *testing.T) {
	types := []datum.DType{datum.Uint8, datum.Int8, datum.Uint16, datum.Int16, datum.Uint32, datum.Int32, datum.Uint64, datum.Int64}
	ranges := map[datum.DType][2]float64{
		datum.Uint8: {0, math.MaxUint8}, datum.Int8: {math.MinInt8, math.MaxInt8}, datum.Uint16: {0, math.MaxUint16}, datum.Int16: {math.MinInt16, math.MaxInt16},
		datum.Uint32: {0, math.MaxUint32}, datum.Int32: {math.MinInt32, math.MaxInt32}, datum.Uint64: {0, math.MaxUint64}, datum.Int64: {math.MinInt64, math.MaxInt64},
	}
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.SampledFrom(types).Draw(t, "from"), rapid.SampledFrom(types).Draw(t, "to")
		var word [8]byte
		binary.NativeEndian.PutUint64(word[:], rapid.Uint64().Draw(t, "bits"))
		src := word[:from.Size()]
		var wide, got, back [8]byte
		require.NoError(t, Cast(wide[:], datum.Float64, src, from))
		require.NoError(t, Cast(got[:to.Size()], to, src, from))
		require.NoError(t, Cast(back[:], datum.Float64, got[:to.Size()], to))
		v := datum.View[float64](wide[:])[0]
		require.Equal(t, min(max(v, ranges[to][0]), ranges[to][1]), datum.View[float64](back[:])[0], "%v %v to %v", v, from, to)
	})
}

func TestCastRefuses(t *testing.T) {
	require.Error(t, Cast(make([]byte, 3), datum.Uint8, make([]byte, 4), datum.Uint8))
	require.Error(t, Cast(make([]byte, 4), 0, make([]byte, 4), datum.Uint8))
	require.Error(t, Cast(make([]byte, 4), datum.Uint8, make([]byte, 4), datum.Bool+1))
}

// walk calls f with every index of shape in row-major order.
func walk(shape []int, f func(at []int)) {
	at := make([]int, len(shape))
	for range elements(shape) {
		f(at)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
}

func offset(shape, at []int) int {
	n := 0
	for i, a := range at {
		n = n*shape[i] + a
	}
	return n
}

func TestSliceAgreesWithIndexing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "dims")
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
		srcShape, start, shape := make([]int, d), make([]int, d), make([]int, d)
		for i := range d {
			srcShape[i] = rapid.IntRange(0, 5).Draw(t, "extent")
			shape[i], start[i] = srcShape[i], 0
			if rapid.Bool().Draw(t, "cut") {
				shape[i], start[i] = rapid.IntRange(0, 6).Draw(t, "n"), rapid.IntRange(-4, 6).Draw(t, "start")
			}
		}
		fillDim := rapid.IntRange(0, d-1).Draw(t, "fill dim")
		fill := noise(size*rapid.SampledFrom([]int{0, 1, max(1, shape[fillDim])}).Draw(t, "fills"), 3)
		src := noise(elements(srcShape)*size, 1)
		dst := make([]byte, elements(shape)*size)
		require.NoError(t, Slice(dst, src, size, srcShape, start, shape, fill, fillDim))
		walk(shape, func(at []int) {
			want := make([]byte, size)
			from, inside := make([]int, d), true
			for i := range d {
				from[i] = at[i] + start[i]
				inside = inside && from[i] >= 0 && from[i] < srcShape[i]
			}
			switch n := len(fill) / size; {
			case inside:
				o := offset(srcShape, from) * size
				want = src[o : o+size]
			case n == 1:
				want = fill
			case n > 1:
				want = fill[at[fillDim]*size:][:size]
			}
			o := offset(shape, at) * size
			require.Equal(t, want, dst[o:o+size], "at %v", at)
		})
	})
}

func TestSliceRefuses(t *testing.T) {
	b := make([]byte, 6)
	for name, err := range map[string]error{
		"dimensions":  Slice(b, b, 1, []int{6}, []int{0, 0}, []int{6}, nil, 0),
		"source size": Slice(b, b, 1, []int{5}, []int{0}, []int{6}, nil, 0),
		"output size": Slice(b, b, 1, []int{6}, []int{0}, []int{5}, nil, 0),
		"fill values": Slice(b, b, 1, []int{2, 3}, []int{1, 0}, []int{2, 3}, []byte{1, 2}, 1),
		"no shape":    Slice(b[:1], b[:1], 1, nil, nil, nil, nil, 0),
	} {
		var bad *ArgumentError
		require.ErrorAs(t, err, &bad, name)
	}
}

func TestBound(t *testing.T) {
	for _, c := range []struct {
		b                   Bounds
		start, n, in        int
		wantStart, wantSize int
	}{
		{BoundsError, 2, 3, 5, 2, 3}, {BoundsPad, -2, 9, 5, -2, 9}, {BoundsTrim, -2, 9, 5, 0, 5}, {BoundsTrim, 7, 2, 5, 5, 0}, {BoundsTrim, 3, 4, 5, 3, 2},
	} {
		start, n, err := c.b.Bound(c.start, c.n, c.in)
		require.NoError(t, err)
		require.Equal(t, [2]int{c.wantStart, c.wantSize}, [2]int{start, n})
	}
	_, _, err := BoundsError.Bound(3, 3, 5)
	require.Error(t, err)
	_, _, err = BoundsPad.Bound(0, -1, 5)
	require.Error(t, err)
}

func TestCropAnchor(t *testing.T) {
	require.Equal(t, 3, CropAnchor(0.5, 10, 5, false), "2.5 rounds away from zero")
	require.Equal(t, 2, CropAnchor(0.5, 10, 5, true))
	require.Equal(t, -3, CropAnchor(0.5, 5, 10, false))
	require.Equal(t, -2, CropAnchor(0.5, 5, 10, true))
}

func TestFlip(t *testing.T) {
	src := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11} // 2×3×2
	dst := make([]byte, 12)
	require.NoError(t, Flip(dst, src, 1, 2, 3, 2))
	require.Equal(t, []byte{4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7}, dst)
	require.NoError(t, Flip(dst, src, 2, 1, 2, 3))
	require.Equal(t, []byte{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}, dst)
	require.Error(t, Flip(dst, src[1:], 1, 2, 3, 2))
}

func TestTransposeAgreesWithIndexing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "dims")
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), d, d).Draw(t, "shape")
		perm := make([]int, d)
		for i := range perm {
			perm[i] = i
		}
		perm = rapid.Permutation(perm).Draw(t, "perm")
		size := rapid.SampledFrom([]int{1, 4}).Draw(t, "size")
		src := noise(elements(shape)*size, 1)
		dst := make([]byte, len(src))
		require.NoError(t, Transpose(dst, src, size, shape, perm))
		out, from := make([]int, d), make([]int, d)
		for i, p := range perm {
			out[i] = shape[p]
		}
		walk(out, func(at []int) {
			for i, p := range perm {
				from[p] = at[i]
			}
			s, o := offset(shape, from)*size, offset(out, at)*size
			require.Equal(t, src[s:s+size], dst[o:o+size])
		})
	})
	b := make([]byte, 6)
	require.Error(t, Transpose(b, b, 1, []int{2, 3}, []int{0, 0}))
	require.Error(t, Transpose(b, b, 1, []int{2, 3}, []int{0}))
	require.Error(t, Transpose(b, b, 1, []int{2, 2}, []int{1, 0}))
}

func TestOneHot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outer, inner, classes := rapid.IntRange(0, 4).Draw(t, "outer"), rapid.IntRange(1, 4).Draw(t, "inner"), rapid.IntRange(0, 5).Draw(t, "classes")
		labels := rapid.SliceOfN(rapid.Int64Range(-2, 7), outer*inner, outer*inner).Draw(t, "labels")
		off := rapid.SampledFrom([]float32{0, -1}).Draw(t, "off")
		dst := make([]float32, outer*inner*classes)
		for i := range dst {
			dst[i] = 9
		}
		require.NoError(t, OneHot(dst, labels, classes, inner, 3, off))
		walk([]int{outer, classes, inner}, func(at []int) {
			want := off
			if labels[at[0]*inner+at[2]] == int64(at[1]) {
				want = 3
			}
			require.Equal(t, want, dst[offset([]int{outer, classes, inner}, at)])
		})
	})
	require.Error(t, OneHot(make([]int32, 5), []int64{1}, 4, 1, 1, 0))
}

func TestNormalizeGivesMomentsAskedFor(t *testing.T) {
	var n Normalizer
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "shape")
		var axes []int
		for i := range shape {
			if rapid.Bool().Draw(t, "reduce") {
				axes = append(axes, i)
			}
		}
		rng := random(t)
		x := make([]float32, elements(shape))
		for i := range x {
			x[i] = rng.Float32()*100 + 50
		}
		out := make([]float32, len(x))
		s := NormalizeSpec{Axes: axes, Scale: 3, Shift: 10}
		require.NoError(t, n.Apply(datum.BytesOf(out), datum.Float32, datum.BytesOf(x), datum.Float32, shape, &s))
		groups := map[string][]float64{}
		walk(shape, func(at []int) {
			key := slices.Clone(at)
			for i := range key {
				if axes == nil || slices.Contains(axes, i) {
					key[i] = 0
				}
			}
			k := string(noiseKey(key))
			groups[k] = append(groups[k], float64(out[offset(shape, at)]))
		})
		for _, g := range groups {
			mean, square := 0.0, 0.0
			for _, v := range g {
				mean += v / float64(len(g))
			}
			for _, v := range g {
				square += (v - mean) * (v - mean) / float64(len(g))
			}
			require.InDelta(t, 10, mean, 1e-3)
			if len(g) > 1 {
				require.InDelta(t, 9, square, 1e-2)
			}
		}
	})
	one := float32(1)
	three := []float32{1, 2, 6}
	out := make([]float32, 3)
	require.NoError(t, n.Apply(datum.BytesOf(out), datum.Float32, datum.BytesOf(three), datum.Float32, []int{3}, &NormalizeSpec{Mean: &one, Scale: 1, DDoF: 1}))
	require.InDeltaSlice(t, []float32{0, 0.277350, 1.386750}, out, 1e-5, "the deviation is about the given mean")
	require.NoError(t, n.Apply(datum.BytesOf(out), datum.Float32, datum.BytesOf(three), datum.Float32, []int{3}, &NormalizeSpec{StdDev: &one, Scale: 1, Epsilon: 3}))
	require.InDeltaSlice(t, []float32{-1, -0.5, 1.5}, out, 1e-5, "epsilon also counts for the given deviation")
	half := float32(-0.5)
	require.NoError(t, n.Apply(datum.BytesOf(out), datum.Float32, datum.BytesOf(three), datum.Float32, []int{3}, &NormalizeSpec{StdDev: &half, Scale: 1}))
	require.Equal(t, []float32{4, 2, -6}, out, "a negative deviation keeps its sign")
	b := make([]byte, 4)
	require.Error(t, n.Apply(b, datum.Uint8, b, datum.Uint8, []int{2, 2}, &NormalizeSpec{Axes: []int{2}}))
	require.Error(t, n.Apply(b, datum.Uint8, b, datum.Uint8, []int{2, 2}, &NormalizeSpec{Axes: []int{1, 1}}))
	require.Error(t, n.Apply(b, datum.Uint8, b, datum.Uint8, []int{2, 2}, &NormalizeSpec{Axes: []int{1}, Mean: &one, StdDev: &one}))
	require.Error(t, n.Apply(b, datum.Uint8, b, datum.Uint8, []int{2, 3}, &NormalizeSpec{}))
	require.NoError(t, n.Apply(nil, datum.Float32, nil, datum.Float32, []int{2, 0}, &NormalizeSpec{Axes: []int{0}}))
}

func noiseKey(at []int) []byte {
	b := make([]byte, len(at))
	for i, a := range at {
		b[i] = byte(a)
	}
	return b
}

// TestCropMirrorNormalizeAgreesWithIndexing compares with one expression per element, for all layouts.
func TestCropMirrorNormalizeAgreesWithIndexing(t *testing.T) {
	var n CropMirrorNormalizer
	rapid.Check(t, func(t *rapid.T) {
		src := drawImage(t, datum.Uint8, datum.Float32, datum.Int16)
		s := CMNSpec{
			Y: rapid.IntRange(-3, src.H+2).Draw(t, "y"), X: rapid.IntRange(-3, src.W+2).Draw(t, "x"),
			H: rapid.IntRange(1, 40).Draw(t, "rows"), W: rapid.IntRange(1, 40).Draw(t, "columns"),
			Mirror: rapid.Bool().Draw(t, "mirror"), Scale: 2, Shift: 1,
			SrcCHW: rapid.Bool().Draw(t, "source chw"), DstCHW: rapid.Bool().Draw(t, "chw"), DstC: src.C + rapid.IntRange(0, 1).Draw(t, "padding"),
		}
		if rapid.Bool().Draw(t, "per channel") {
			for c := range src.C {
				s.Mean, s.Std, s.Fill = append(s.Mean, float32(10*c)), append(s.Std, float32(c+1)), append(s.Fill, float32(c))
			}
		}
		if s.SrcCHW {
			src.Stride = 0
			src.Pix = src.Pix[:src.H*src.W*src.C*src.Type.Size()]
		}
		if len(s.Fill) > 1 {
			s.DstC = src.C
		}
		values := make([]float32, src.H*src.W*src.C)
		for y := range src.H {
			convert(datum.BytesOf(values[y*src.W*src.C:][:src.W*src.C]), datum.Float32, src.row(y), src.Type)
		}
		got := make([]float32, s.H*s.W*s.DstC)
		require.NoError(t, n.Apply(datum.BytesOf(got), datum.Float32, src, &s))
		walk([]int{s.H, s.W, s.DstC}, func(at []int) {
			y, x, c := at[0], at[1], at[2]
			if s.Mirror {
				x = s.W - 1 - x
			}
			want := pick(s.Fill, c, 0)
			sy, sx := s.Y+y, s.X+x
			if sy >= 0 && sy < src.H && sx >= 0 && sx < src.W && c < src.C {
				v := values[offset([]int{src.H, src.W, src.C}, []int{sy, sx, c})]
				if s.SrcCHW {
					v = values[offset([]int{src.C, src.H, src.W}, []int{c, sy, sx})]
				}
				want = (v-pick(s.Mean, c, 0))/pick(s.Std, c, 1)*s.Scale + s.Shift
			}
			i := offset([]int{s.H, s.W, s.DstC}, at)
			if s.DstCHW {
				i = offset([]int{s.DstC, s.H, s.W}, []int{c, y, at[1]})
			}
			require.InDelta(t, want, got[i], 1e-3, "%v", at)
		})
	})
}

// drawWindow draws what becomes of pictures of three bytes a pixel in one pass. An output has at most 14 kB.
func drawWindow(t *rapid.T, src *Image) CMNSpec {
	s := CMNSpec{
		Y: rapid.IntRange(-3, src.H+2).Draw(t, "y"), X: rapid.IntRange(-3, src.W+2).Draw(t, "x"),
		H: rapid.IntRange(1, 9).Draw(t, "rows"), W: rapid.IntRange(1, 100).Draw(t, "columns"),
		Mean: []float32{123.675, 116.28, 103.53}, Std: []float32{58.395, 57.12, 57.375},
		Mirror: rapid.Bool().Draw(t, "mirror"), Scale: 3, Shift: rapid.Float32Range(-1, 1).Draw(t, "shift"),
		DstCHW: true, DstC: rapid.IntRange(3, 4).Draw(t, "channels"),
	}
	if rapid.Bool().Draw(t, "fill") {
		s.Fill = []float32{7}
	}
	return s
}

// onePass compares pictures of three bytes a pixel that become planes of float32 with one expression per element, to
// the bit.
func onePass(t *rapid.T) {
	src := &Image{Type: datum.Uint8, H: rapid.IntRange(1, 9).Draw(t, "h"), W: rapid.IntRange(1, 100).Draw(t, "w"), C: 3}
	src.Pix = noise(src.H*src.W*3, rapid.Uint64().Draw(t, "pixels"))
	s := drawWindow(t, src)
	got := make([]float32, s.H*s.W*s.DstC)
	var n CropMirrorNormalizer
	if err := n.Apply(datum.BytesOf(got), datum.Float32, src, &s); err != nil {
		t.Fatal(err)
	}
	requireBits(t, indexed(src, &s), got, "one pass")
}

// indexed is what CropMirrorNormalizer makes of bytes in planes of float32.
func indexed(src *Image, s *CMNSpec) []float32 {
	want := make([]float32, 0, s.H*s.W*s.DstC)
	for c := range s.DstC {
		for y := range s.H {
			for x := range s.W {
				if s.Mirror {
					x = s.W - 1 - x
				}
				sy, sx := s.Y+y, s.X+x
				v := pick(s.Fill, c, 0)
				if c < src.C && sy >= 0 && sy < src.H && sx >= 0 && sx < src.W {
					scale, bias := s.affine(c)
					v = float32(float32(src.Pix[(sy*src.W+sx)*src.C+c])*scale) + bias
				}
				want = append(want, v)
			}
		}
	}
	return want
}

func TestOnePassIsTheSameToTheBit(t *testing.T) { rapid.Check(t, onePass) }

// TestLargeOnePassIsTheSameToTheBit compares pictures that are large enough to be written past the caches: whole ones, and
// regions in part beyond the picture, some of rows that cannot.
func TestLargeOnePassIsTheSameToTheBit(t *testing.T) {
	var n CropMirrorNormalizer
	src := &Image{Pix: noise(180*200*3, 1), Type: datum.Uint8, H: 180, W: 200, C: 3}
	twist := TwistColor(30, 1.2, 0.9, 1.1, 128)
	mapped := *src
	mapped.Pix = make([]byte, len(src.Pix))
	require.NoError(t, twist.Apply(mapped.Pix, datum.Uint8, src.Pix, datum.Uint8))
	for _, at := range []struct{ y, x, h, w int }{{0, 0, 180, 200}, {3, 5, 160, 176}, {20, 10, 150, 160}, {-2, -8, 150, 184}, {50, 40, 160, 176}, {4, 4, 170, 190}} {
		for _, mirror := range []bool{false, true} {
			s := CMNSpec{Y: at.y, X: at.x, H: at.h, W: at.w, Mirror: mirror, Mean: []float32{123, 116, 103}, Std: []float32{58, 57, 56}, Fill: []float32{7}, Scale: 1, DstCHW: true, DstC: 3}
			got := aligned(3*at.h*at.w, 0)
			require.GreaterOrEqual(t, 4*len(got), streamBytes)
			for _, from := range []*Image{src, &mapped} {
				n.Color = nil
				if from == &mapped {
					n.Color = &twist
				}
				require.NoError(t, n.Apply(datum.BytesOf(got), datum.Float32, src, &s))
				requireBits(t, indexed(from, &s), got, fmt.Sprintf("%+v, colours mapped: %t", s, n.Color != nil))
			}
		}
	}
}

func FuzzOnePass(f *testing.F) { f.Fuzz(rapid.MakeFuzz(onePass)) }

func TestCropMirrorNormalizeRefuses(t *testing.T) {
	var n CropMirrorNormalizer
	image := Image{Pix: make([]byte, 48), Type: datum.Uint8, H: 4, W: 4, C: 3}
	dst := make([]byte, 12)
	good := CMNSpec{H: 2, W: 2, DstC: 3, Scale: 1}
	require.NoError(t, n.Apply(dst, datum.Uint8, &image, &good))
	for name, change := range map[string]func(*CMNSpec, *Image){
		"fill":     func(s *CMNSpec, _ *Image) { s.H, s.W, s.DstC, s.Fill = 1, 3, 4, []float32{1, 2, 3} },
		"size":     func(s *CMNSpec, _ *Image) { s.H = 3 },
		"nothing":  func(s *CMNSpec, _ *Image) { s.H = 0 },
		"channels": func(s *CMNSpec, _ *Image) { s.DstC = 2 },
		"means":    func(s *CMNSpec, _ *Image) { s.Mean = []float32{1, 2} },
		"short":    func(_ *CMNSpec, m *Image) { m.H = 5 },
		"planes":   func(s *CMNSpec, m *Image) { s.SrcCHW, m.Stride = true, 12 },
	} {
		s, m := good, image
		change(&s, &m)
		var bad *ArgumentError
		require.ErrorAs(t, n.Apply(dst, datum.Uint8, &m, &s), &bad, name)
	}
}

func TestScaleBytes(t *testing.T) {
	src := noise(100, 1)
	dst := make([]float32, 100)
	require.NoError(t, ScaleBytes(dst, src, 2, 1))
	for i, v := range src {
		require.Equal(t, float32(v)*2+1, dst[i])
	}
	require.Error(t, ScaleBytes(dst[1:], src, 1, 0))
}

func TestNames(t *testing.T) {
	require.Equal(t, "lanczos3", Lanczos3.String())
	require.Equal(t, "Filter(99)", Filter(99).String())
	require.Equal(t, "not_smaller", ResizeNotSmaller.String())
	require.Equal(t, "ResizeMode(99)", ResizeMode(99).String())
	require.ErrorContains(t, &ArgumentError{Op: "crop", What: "4 of 3"}, "crop: 4 of 3")
}
