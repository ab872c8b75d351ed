package imaging

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/datum"
)

// referenceResize resamples channel c of src in float64, vertically first.
func referenceResize(src *Image, p Plan, c int) [][]float64 {
	row := make([]byte, src.W*src.C*8)
	rows := make([][]float64, src.H)
	for y := range rows {
		convert(row, datum.Float64, src.row(y), src.Type)
		for x := range src.W {
			rows[y] = append(rows[y], datum.View[float64](row)[x*src.C+c])
		}
	}
	out := make([][]float64, p.Y.Out)
	for x := range src.W {
		column := reference(p.Y, func(y int) float64 { return rows[y][x] })
		for y, v := range column {
			out[y] = append(out[y], v)
		}
	}
	for y := range out {
		line := out[y]
		out[y] = reference(p.X, func(x int) float64 { return line[x] })
	}
	return out
}

func drawImage(t *rapid.T, types ...datum.DType) *Image {
	m := &Image{
		Type: rapid.SampledFrom(types).Draw(t, "type"),
		H:    rapid.IntRange(1, 60).Draw(t, "h"), W: rapid.IntRange(1, 60).Draw(t, "w"), C: rapid.IntRange(1, 5).Draw(t, "c"),
	}
	m.Stride = m.W*m.C*m.Type.Size() + 8*rapid.IntRange(0, 3).Draw(t, "gap")
	rng := random(t)
	pixels := make([]float32, m.W*m.C)
	m.Pix = make([]byte, m.H*m.Stride)
	for y := range m.H {
		for i := range pixels {
			pixels[i] = float32(rng.IntN(256))
		}
		castFrom(m.row(y), m.Type, pixels)
	}
	return m
}

func drawPlan(t *rapid.T, h, w int) Plan { return Plan{Y: drawAxis(t, h), X: drawAxis(t, w)} }

func TestResizeAgreesWithReference(t *testing.T) {
	var r Resampler // shared, so that what one call leaves behind meets the next
	rapid.Check(t, func(t *rapid.T) {
		src := drawImage(t, datum.Uint8, datum.Float32, datum.Int16, datum.Float16)
		p := drawPlan(t, src.H, src.W)
		if nearEdge(p.Y) || nearEdge(p.X) {
			t.Skip("rounding decides")
		}
		out := make([]float32, p.Y.Out*p.X.Out*src.C)
		require.NoError(t, r.Resize(datum.BytesOf(out), datum.Float32, src, p))
		bytes := make([]byte, len(out))
		require.NoError(t, r.Resize(bytes, datum.Uint8, src, p))
		for c := range src.C {
			for y, row := range referenceResize(src, p, c) {
				for x, want := range row {
					i := (y*p.X.Out+x)*src.C + c
					require.InDelta(t, want, out[i], 0.5, "row %d column %d channel %d", y, x, c)
					require.Equal(t, byte(min(max(out[i], 0), 255)+0.5), bytes[i])
				}
			}
		}
	})
}

// TestFusedEqualsSteps compares the fused path with a resize followed by CropMirrorNormalize, on all layouts and types.
func TestFusedEqualsSteps(t *testing.T) {
	var r Resampler
	var n CropMirrorNormalizer
	rapid.Check(t, func(t *rapid.T) {
		src := drawImage(t, datum.Uint8)
		if src.C != 1 && src.C != 3 {
			t.Skip("the fused path is for one or three channels")
		}
		p := drawPlan(t, src.H, src.W)
		out := Output{
			Type: rapid.SampledFrom([]datum.DType{datum.Uint8, datum.Float32}).Draw(t, "output"), CHW: rapid.Bool().Draw(t, "chw"), Channels: src.C, Round: true,
		}
		mean, std := [3]float32{123, 116, 103}, [3]float32{58, 57, 56}
		out.NormalizeBy(mean, std, 2, 3)
		size := p.Y.Out * p.X.Out * src.C
		resized := make([]byte, size)
		require.NoError(t, r.Resize(resized, datum.Uint8, src, p))
		got, want := make([]byte, size*out.Type.Size()), make([]byte, size*out.Type.Size())
		require.NoError(t, r.ResizeBytes(got, src, p, &out))
		s := CMNSpec{H: p.Y.Out, W: p.X.Out, Scale: 1, DstCHW: out.CHW, DstC: src.C}
		if out.Type == datum.Float32 {
			s.Mean, s.Std, s.Scale, s.Shift = mean[:src.C], std[:src.C], 2, 3
		}
		require.NoError(t, n.Apply(want, out.Type, &Image{Pix: resized, Type: datum.Uint8, H: s.H, W: s.W, C: src.C}, &s))
		if out.Type == datum.Uint8 {
			require.Equal(t, want, got)
			return
		}
		require.InDeltaSlice(t, datum.View[float32](want), datum.View[float32](got), 1e-4)
	})
}

// TestPlanarAgreesWithRGB compares the planar path on planes of full resolution with a conversion before the resize.
// Colours that need no clamping make the order of the two steps irrelevant.
func TestPlanarAgreesWithRGB(t *testing.T) {
	var r Resampler
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 50).Draw(t, "h"), rapid.IntRange(1, 50).Draw(t, "w")
		p := drawPlan(t, h, w)
		for _, a := range []*Axis{&p.Y, &p.X} {
			if a.Filter == Cubic || a.Filter == Lanczos3 {
				a.Filter = Linear // no overshoot
			}
		}
		rng := random(t)
		src := &YCbCr{YStride: w, CStride: w, H: h, W: w, SubH: 1, SubV: 1}
		rgb := &Image{Type: datum.Float32, H: h, W: w, C: 3}
		for range h * w {
			y, cb, cr := 100+rng.IntN(56), 100+rng.IntN(56), 100+rng.IntN(56)
			src.Y, src.Cb, src.Cr = append(src.Y, byte(y)), append(src.Cb, byte(cb)), append(src.Cr, byte(cr))
			v := []float32{
				float32(float64(y) + 1.402*float64(cr-128)),
				float32(float64(y) - 0.344136286*float64(cb-128) - 0.714136286*float64(cr-128)),
				float32(float64(y) + 1.772*float64(cb-128)),
			}
			rgb.Pix = append(rgb.Pix, datum.BytesOf(v)...)
		}
		out := Output{Type: datum.Float32, CHW: rapid.Bool().Draw(t, "chw"), Channels: 3, Scale: [3]float32{1, 1, 1}}
		n := p.Y.Out * p.X.Out * 3
		got, want := make([]float32, n), make([]float32, n)
		require.NoError(t, r.ResizeYCbCr(datum.BytesOf(got), src, p, &out))
		require.NoError(t, r.Resize(datum.BytesOf(want), datum.Float32, rgb, p))
		if out.CHW {
			hwc := slices.Clone(want)
			require.NoError(t, Transpose(datum.BytesOf(want), datum.BytesOf(hwc), 4, []int{p.Y.Out, p.X.Out, 3}, []int{2, 0, 1}))
		}
		require.InDeltaSlice(t, want, got, 2e-3)

		out.Type = datum.Uint8
		bytes := make([]byte, n)
		require.NoError(t, r.ResizeYCbCr(bytes, src, p, &out))
		for i, v := range want {
			require.InDelta(t, min(max(v, 0), 255), bytes[i], 0.51)
		}
	})
}

// gradient returns planes of a picture whose luma grows to the right and whose chroma grows downwards and to the right,
// each sample having the value at its centre.
func gradient(h, w, subV, subH int) *YCbCr {
	p := &YCbCr{H: h, W: w, YStride: w + 3, SubH: subH, SubV: subV}
	ch, cw := p.chromaSize()
	p.CStride = cw + 1
	p.Y, p.Cb, p.Cr = make([]byte, h*p.YStride), make([]byte, ch*p.CStride), make([]byte, ch*p.CStride)
	for y := range h {
		for x := range w {
			p.Y[y*p.YStride+x] = byte(x + 20)
		}
	}
	for y := range ch {
		for x := range cw {
			p.Cb[y*p.CStride+x] = byte(math.Round(60 + (float64(y)+0.5)*float64(subV)))
			p.Cr[y*p.CStride+x] = byte(math.Round(60 + (float64(x)+0.5)*float64(subH)))
		}
	}
	return p
}

// TestSubsampledChromaIsInPlace resizes gradients: wherever chroma is sampled, the colours must be those of the place
// in the picture.
func TestSubsampledChromaIsInPlace(t *testing.T) {
	var r Resampler
	out := Output{Type: datum.Float32, CHW: true, Channels: 3, Scale: [3]float32{1, 1, 1}}
	for _, sub := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 4}} {
		src := gradient(100, 120, sub[0], sub[1])
		p := Plan{
			Y: Axis{Out: 30, Lo: 20.5, Hi: 80, Start: 20, End: 80, Antialias: true},
			X: Axis{Out: 40, Lo: 90, Hi: 24, Start: 24, End: 90, Antialias: true},
		}
		got := make([]float32, 3*30*40)
		require.NoError(t, r.ResizeYCbCr(datum.BytesOf(got), src, p, &out))
		for y := 4; y < 26; y++ {
			for x := 4; x < 36; x++ {
				py, px := 20.5+(float64(y)+0.5)*59.5/30, 90-(float64(x)+0.5)*66/40
				luma, cb, cr := px-0.5+20, 60+py-128, 60+px-128
				at := y*40 + x
				require.InDelta(t, luma+1.402*cr, got[at], 1.5, "%v red at %d,%d", sub, y, x)
				require.InDelta(t, luma-0.344*cb-0.714*cr, got[1200+at], 1.5, "%v green at %d,%d", sub, y, x)
				require.InDelta(t, max(0, luma+1.772*cb), got[2400+at], 1.5, "%v blue at %d,%d", sub, y, x)
			}
		}
	}
}

func TestGreyPlanes(t *testing.T) {
	var r Resampler
	colour := gradient(30, 40, 2, 2)
	grey := &YCbCr{Y: colour.Y, YStride: colour.YStride, H: 30, W: 40}
	p := Plan{Y: Axis{Out: 10, Hi: 30, End: 30}, X: Axis{Out: 16, Hi: 40, End: 40}}
	one, three, luma := make([]byte, 160), make([]byte, 480), make([]byte, 160)
	out := Output{Type: datum.Uint8, Channels: 1}
	require.NoError(t, r.ResizeYCbCr(one, grey, p, &out))
	require.NoError(t, r.ResizeYCbCr(luma, colour, p, &out))
	require.Equal(t, one, luma, "the luma of a colour picture")
	out.Channels = 3
	require.NoError(t, r.ResizeYCbCr(three, grey, p, &out))
	for i, v := range one {
		require.Equal(t, []byte{v, v, v}, three[3*i:3*i+3])
	}

	// As float32 planes, from planes and from bytes, rounded so that the values are those above.
	out = Output{Type: datum.Float32, CHW: true, Channels: 3, Scale: [3]float32{1, 2, 3}, Bias: [3]float32{0, 1, 2}, Round: true}
	dst := make([]float32, 480)
	bytes := &Image{Pix: grey.Y, Stride: grey.YStride, Type: datum.Uint8, H: 30, W: 40, C: 1}
	for _, resize := range []func() error{
		func() error { return r.ResizeYCbCr(datum.BytesOf(dst), grey, p, &out) },
		func() error { return r.ResizeBytes(datum.BytesOf(dst), bytes, p, &out) },
	} {
		clear(dst)
		require.NoError(t, resize())
		for c := range 3 {
			for i, v := range one {
				require.Equal(t, float32(v)*out.Scale[c]+out.Bias[c], dst[c*160+i])
			}
		}
	}
}

// TestRoundedPlanar compares rounded float32 values of the planar path with its bytes.
func TestRoundedPlanar(t *testing.T) {
	var r Resampler
	src := gradient(60, 70, 2, 2)
	p := Plan{Y: Axis{Out: 21, Hi: 60, End: 60, Antialias: true}, X: Axis{Out: 33, Hi: 70, End: 70, Antialias: true}}
	for _, chw := range []bool{false, true} {
		values, bytes := make([]float32, 3*21*33), make([]byte, 3*21*33)
		out := Output{Type: datum.Float32, CHW: chw, Channels: 3, Scale: [3]float32{1, 1, 1}, Round: true}
		require.NoError(t, r.ResizeYCbCr(datum.BytesOf(values), src, p, &out))
		out.Type = datum.Uint8
		require.NoError(t, r.ResizeYCbCr(bytes, src, p, &out))
		for i, v := range bytes {
			require.Equal(t, float32(v), values[i])
		}
	}
}

// aligned returns n values whose first is so many bytes after a multiple of 64.
func aligned(n, after int) []float32 {
	b := make([]float32, n+32)
	for int(uintptr(unsafe.Pointer(&b[0])))%64 != after {
		b = b[1:]
	}
	return b[:n]
}

// TestStreamedOutputIsTheSame compares outputs that can be written past the caches with outputs that cannot.
func TestStreamedOutputIsTheSame(t *testing.T) {
	var r Resampler
	src := &Image{Pix: noise(90*120*3, 1), Type: datum.Uint8, H: 90, W: 120, C: 3}
	planar := gradient(90, 120, 2, 2)
	p := Plan{Y: Axis{Out: 176, Hi: 90, End: 90}, X: Axis{Out: 168, Hi: 120, End: 120}}
	n := 3 * 176 * 168
	fast, slow := aligned(n, 0), aligned(n, 4)
	out := imageNet()
	for _, out.Round = range []bool{true, false} {
		require.NoError(t, r.ResizeBytes(datum.BytesOf(fast), src, p, &out))
		require.NoError(t, r.ResizeBytes(datum.BytesOf(slow), src, p, &out))
		requireBits(t, slow, fast, "ResizeBytes")
		require.NoError(t, r.ResizeYCbCr(datum.BytesOf(fast), planar, p, &out))
		require.NoError(t, r.ResizeYCbCr(datum.BytesOf(slow), planar, p, &out))
		requireBits(t, slow, fast, "ResizeYCbCr")
	}
	require.False(t, out.stream(datum.BytesOf(slow), 168))
	require.Equal(t, canStream(fast, 168), out.stream(datum.BytesOf(fast), 168))
}

func TestMirroredPlanIsMirroredOutput(t *testing.T) {
	var r Resampler
	src := &Image{Pix: noise(37*53*3, 5), Type: datum.Uint8, H: 37, W: 53, C: 3}
	p := Plan{Y: Axis{Out: 24, Hi: 37, End: 37, Antialias: true}, X: Axis{Out: 20, Hi: 53, End: 53, Antialias: true}}
	plain, mirrored, want := make([]byte, 24*20*3), make([]byte, 24*20*3), make([]byte, 24*20*3)
	require.NoError(t, r.Resize(plain, datum.Uint8, src, p))
	require.NoError(t, r.Resize(mirrored, datum.Uint8, src, Plan{Y: p.Y.Mirror(), X: p.X.Mirror()}))
	require.NoError(t, Flip(want, plain, 3, 1, 24*20, 1))
	for i := range want {
		require.InDelta(t, want[i], mirrored[i], 1)
	}
}

func TestResamplerDoesNotAllocateOnceWarm(t *testing.T) {
	var r Resampler
	var n CropMirrorNormalizer
	src := &Image{Pix: noise(90*120*3, 1), Type: datum.Uint8, H: 90, W: 120, C: 3}
	planar := gradient(90, 120, 2, 2)
	out := imageNet()
	dst := make([]byte, 3*32*32*4)
	cmn := CMNSpec{Y: 5, X: 6, H: 32, W: 32, Scale: 1, DstCHW: true, DstC: 3}
	width := 0
	alloctest.None(t, 20, func() {
		width = (width + 1) % 8
		p := Plan{
			Y: Axis{Out: 32, Hi: float64(80 - width), End: 80 - width, Antialias: true},
			X: Axis{Out: 32, Hi: float64(110 - width), End: 110 - width, Antialias: true},
		}
		if r.ResizeYCbCr(dst, planar, p, &out) != nil || r.ResizeBytes(dst, src, p, &out) != nil ||
			r.Resize(dst[:3*32*32], datum.Uint8, src, p) != nil || n.Apply(dst, datum.Float32, src, &cmn) != nil {
			panic("refused")
		}
	})
}

func TestResizeRefuses(t *testing.T) {
	var r Resampler
	good := Plan{Y: Axis{Out: 2, Hi: 4, End: 4}, X: Axis{Out: 2, Hi: 4, End: 4}}
	image := Image{Pix: make([]byte, 48), Type: datum.Uint8, H: 4, W: 4, C: 3}
	planes := YCbCr{Y: make([]byte, 16), Cb: make([]byte, 4), Cr: make([]byte, 4), YStride: 4, CStride: 2, H: 4, W: 4, SubH: 2, SubV: 2}
	out := Output{Type: datum.Uint8, Channels: 3}
	dst := make([]byte, 12)
	require.NoError(t, r.Resize(dst, datum.Uint8, &image, good))
	require.NoError(t, r.ResizeYCbCr(dst, &planes, good, &out))

	refused := func(name string, err error) {
		var bad *ArgumentError
		require.ErrorAs(t, err, &bad, name)
	}
	for name, change := range map[string]func(*Plan){
		"no output":        func(p *Plan) { p.X.Out = 0 },
		"beyond the end":   func(p *Plan) { p.Y.End = 5 },
		"nothing to read":  func(p *Plan) { p.Y.Start = 4 },
		"empty region":     func(p *Plan) { p.X.Hi = 0 },
		"infinite":         func(p *Plan) { p.X.Hi = math.Inf(1) },
		"unknown filter":   func(p *Plan) { p.X.Filter = numFilters },
		"below the source": func(p *Plan) { p.X.Start = -1 },
	} {
		p := good
		change(&p)
		refused(name, r.Resize(dst, datum.Uint8, &image, p))
		refused(name, r.ResizeYCbCr(dst, &planes, p, &out))
	}
	refused("short output", r.Resize(dst[1:], datum.Uint8, &image, good))
	refused("unknown type", r.Resize(dst, 99, &image, good))
	refused("short output", r.ResizeBytes(dst[1:], &image, good, &out))
	refused("two channels", r.ResizeBytes(dst[:8], &image, good, &Output{Type: datum.Uint8, Channels: 2}))
	refused("other type", r.ResizeBytes(make([]byte, 24), &image, good, &Output{Type: datum.Int16, Channels: 3}))
	short := image
	short.Pix = short.Pix[1:]
	refused("short source", r.Resize(dst, datum.Uint8, &short, good))
	grey := Image{Pix: make([]byte, 32), Type: datum.Uint8, H: 4, W: 4, C: 2}
	refused("channels", r.ResizeBytes(dst, &grey, good, &out))
	for name, change := range map[string]func(*YCbCr){
		"short luma":   func(p *YCbCr) { p.Y = p.Y[1:] },
		"one chroma":   func(p *YCbCr) { p.Cb = nil },
		"short chroma": func(p *YCbCr) { p.Cr = p.Cr[1:] },
		"stride":       func(p *YCbCr) { p.YStride = 3 },
		"subsampling":  func(p *YCbCr) { p.SubV = 0 },
	} {
		p := planes
		change(&p)
		refused(name, r.ResizeYCbCr(dst, &p, good, &out))
	}
}

// FuzzResize looks for panics and writes beside the output for any geometry that the checks let through.
func FuzzResize(f *testing.F) {
	f.Add(uint8(20), uint8(30), uint8(10), uint8(12), 0.0, 20.0, 30.0, 0.0, uint8(0), true)
	f.Add(uint8(1), uint8(1), uint8(70), uint8(3), -3.5, 1e6, 0.0, 1.0, uint8(4), false)
	var r Resampler
	f.Fuzz(func(t *testing.T, h, w, oh, ow uint8, y0, y1, x0, x1 float64, filter uint8, antialias bool) {
		src := &Image{Pix: noise(int(h)*int(w)*3, 1), Type: datum.Uint8, H: int(h), W: int(w), C: 3}
		p := Plan{
			Y: Axis{Out: int(oh), Lo: y0, Hi: y1, End: int(h), Filter: Filter(filter), Antialias: antialias},
			X: Axis{Out: int(ow), Lo: x0, Hi: x1, End: int(w), Filter: Filter(filter), Antialias: antialias},
		}
		n := int(oh) * int(ow) * 3
		dst := make([]byte, n+32)
		if err := r.Resize(dst[:n:n], datum.Uint8, src, p); err != nil {
			return
		}
		for _, v := range dst[n:] {
			require.Zero(t, v)
		}
	})
}
