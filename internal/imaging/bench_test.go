package imaging

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/planktonml/plankton/pipeline/datum"
)

// noise returns n random bytes.
func noise(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func imageNet() (o Output) {
	o = Output{Type: datum.Float32, CHW: true, Channels: 3}
	o.NormalizeBy([3]float32{123.675, 116.28, 103.53}, [3]float32{58.395, 57.12, 57.375}, 1, 0)
	return o
}

// crops are what the fused paths are measured with: the typical area of a random resized crop from a photograph of
// 500×375 pixels, and all of it.
var crops = []struct{ y, x, h, w int }{{60, 90, 237, 316}, {0, 0, 375, 500}}

// plans returns a plan for the crop and for a neighbour of the same size, so that tables are built for every picture.
func plans(y, x, h, w int) (p [2]Plan) {
	for i := range p {
		p[i] = Plan{
			Y: Axis{Out: 224, Lo: float64(y), Hi: float64(y + h), Start: y, End: y + h, Antialias: true},
			X: Axis{Out: 224, Lo: float64(x), Hi: float64(x + w - i), Start: x, End: x + w - i, Antialias: true},
		}
	}
	return p
}

const slots = 64 // rows of a batch, which is larger than the caches

func BenchmarkFused(b *testing.B) {
	planar := &YCbCr{Y: noise(512*376, 1), Cb: noise(256*188, 2), Cr: noise(256*188, 3), YStride: 512, CStride: 256, H: 375, W: 500, SubH: 2, SubV: 2}
	rgb := &Image{Pix: noise(375*500*3, 4), Type: datum.Uint8, H: 375, W: 500, C: 3}
	batch := make([]float32, slots*3*224*224)
	out := imageNet()
	rounded := out
	rounded.Round = true
	for _, c := range crops {
		p := plans(c.y, c.x, c.h, c.w)
		run := func(name string, rows int, f func(r *Resampler, dst []byte, p Plan) error) {
			b.Run(fmt.Sprintf("%s/%dx%d/batch%d", name, c.h, c.w, rows), func(b *testing.B) {
				var r Resampler
				b.ReportAllocs()
				n := 3 * 224 * 224
				for i := 0; b.Loop(); i++ {
					k := i % rows
					if err := f(&r, datum.BytesOf(batch[k*n:(k+1)*n]), p[i%2]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N), "µs/image")
			})
		}
		for _, rows := range []int{1, slots} {
			run("planar", rows, func(r *Resampler, dst []byte, p Plan) error { return r.ResizeYCbCr(dst, planar, p, &out) })
			run("rgb", rows, func(r *Resampler, dst []byte, p Plan) error { return r.ResizeBytes(dst, rgb, p, &rounded) })
		}
	}
}

func BenchmarkTaps(b *testing.B) {
	p := plans(0, 0, 237, 316)
	var x, y taps
	for i := 0; b.Loop(); i++ {
		x.buildHorizontal(p[i%2].X)
		y.axis = Axis{}
		y.buildVertical(p[i%2].Y)
	}
}

func BenchmarkAffineBytes(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 25} {
		b.Run(fmt.Sprintf("%dkB", n*4/1024), func(b *testing.B) {
			src, dst := noise(n, 1), make([]float32, n)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				affineBytes(dst, src, 1.0/255, 0)
			}
		})
	}
}

// BenchmarkCropMirrorNormalize turns pictures of bytes into planes of float32, in a row that stays in the caches and in
// the rows of a batch, which do not, in turns with setting the same memory to zero. Reported are medians: the time for a
// picture, and the time as a multiple of that for zeroes.
func BenchmarkCropMirrorNormalize(b *testing.B) {
	const size = 3 * 224 * 224
	src := &Image{Pix: noise(size*slots, 1), Type: datum.Uint8, H: 224 * slots, W: 224, C: 3}
	batch := make([]float32, slots*size)
	for _, rows := range []int{1, slots} {
		for _, mirror := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch%d/mirror=%v", rows, mirror), func(b *testing.B) {
				var n CropMirrorNormalizer
				s := CMNSpec{H: 224, W: 224, Mean: []float32{123, 116, 103}, Std: []float32{58, 57, 56}, Scale: 1, Mirror: mirror, DstCHW: true, DstC: 3}
				var times, ratios []float64
				for b.Loop() {
					began := time.Now()
					for i := range slots {
						clear(batch[i%rows*size:][:size])
					}
					zeroes := time.Since(began)
					began = time.Now()
					for i := range slots {
						k := i % rows
						s.Y = 224 * k
						if err := n.Apply(datum.BytesOf(batch[k*size:][:size]), datum.Float32, src, &s); err != nil {
							b.Fatal(err)
						}
					}
					took := time.Since(began)
					times, ratios = append(times, took.Seconds()*1e6/slots), append(ratios, took.Seconds()/zeroes.Seconds())
				}
				slices.Sort(times)
				slices.Sort(ratios)
				b.ReportMetric(times[len(times)/2], "µs/image")
				b.ReportMetric(ratios[len(ratios)/2], "time/zeroes")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkSteps measures the operators that are not fused, on pictures of 256×256 pixels.
func BenchmarkSteps(b *testing.B) {
	src := &Image{Pix: noise(256*256*3, 1), Type: datum.Uint8, H: 256, W: 256, C: 3}
	dst := make([]byte, 256*256*3*4)
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	var n CropMirrorNormalizer
	for _, mirror := range []bool{false, true} {
		for _, chw := range []bool{false, true} {
			s := CMNSpec{Y: 16, X: 16, H: 224, W: 224, Mean: []float32{123, 116, 103}, Std: []float32{58, 57, 56}, Scale: 1, Mirror: mirror, DstCHW: chw, DstC: 3}
			run(fmt.Sprintf("cmn/mirror=%v/chw=%v", mirror, chw), func() error { return n.Apply(dst[:224*224*3*4], datum.Float32, src, &s) })
		}
	}
	var r Resampler
	p := Plan{Y: Axis{Out: 224, Hi: 256, End: 256, Antialias: true}, X: Axis{Out: 224, Hi: 256, End: 256, Antialias: true}}
	run("resize/uint8", func() error { return r.Resize(dst[:224*224*3], datum.Uint8, src, p) })
	run("resize/float32", func() error { return r.Resize(dst[:224*224*3*4], datum.Float32, src, p) })
	run("flip", func() error { return Flip(dst[:256*256*3], src.Pix, 1, 256, 256, 3) })
	run("transpose", func() error { return Transpose(dst[:256*256*3], src.Pix, 1, []int{256, 256, 3}, []int{2, 0, 1}) })
	labels := make([]int64, 64)
	run("one_hot/64x1000", func() error { return OneHot(datum.View[float32](dst)[:64000], labels, 1000, 1, 1, 0) })
}

// BenchmarkPictures measures what augmentations cost on a picture of 224×224 pixels.
func BenchmarkPictures(b *testing.B) {
	const h, w = 224, 224
	src := Image{Pix: make([]byte, h*w*3), Type: datum.Uint8, H: h, W: w, C: 3}
	for i := range src.Pix {
		src.Pix[i] = byte(i * 7)
	}
	dst := make([]byte, len(src.Pix))
	var warper Warper
	var convolver Convolver
	twist := TwistColor(30, 1.2, 0.9, 1.1, 128)
	sin, cos := math.Sincos(0.4)
	turn := WarpSpec{M: Rotation(h, w, h, w, sin, cos), Constant: true}
	window := GaussianWindow(nil, 7, 1)
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"color_twist", func() error { return twist.Apply(dst, datum.Uint8, src.Pix, datum.Uint8) }},
		{"brightness_contrast", func() error { return MultiplyAdd(dst, datum.Uint8, src.Pix, datum.Uint8, 1.2, 3) }},
		{"rotate", func() error { return warper.Apply(dst, datum.Uint8, h, w, &src, &turn) }},
		{"gaussian_blur", func() error {
			return convolver.Separable(dst, datum.Uint8, src.Pix, datum.Uint8, []int{h, w, 3}, []int{0, 1}, [][]float32{window, window})
		}},
		{"erase", func() error {
			return FillRegion(dst, 1, []int{h, w, 3}, []int{20, 30, 0}, []int{100, 90, 3}, []byte{1, 2, 3}, 2)
		}},
		{"equalize", func() error { return Equalize(dst, src.Pix, h*w, 3, 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(src.Pix)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
