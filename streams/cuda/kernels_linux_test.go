package cuda_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// raw returns the memory of a slice.
func raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

func view[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// upload copies to new device memory, download from it to the heap. Both wait.
func upload(t testing.TB, d *cuda.Device, b []byte) []byte {
	mem := cudatest.Memory(t, d, len(b))
	cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Copy(mem, b) })
	return mem
}

func download(t testing.TB, d *cuda.Device, mem []byte) []byte {
	b := make([]byte, len(mem))
	cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Copy(b, mem) })
	return b
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestCropMirrorNormalizeEqualsTheHosts compares bits.
func TestCropMirrorNormalizeEqualsTheHosts(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 60 {
			p := cuda.CropMirrorNormalize{
				N: 1 + rng.IntN(5), SrcH: 1 + rng.IntN(40), SrcW: 1 + rng.IntN(40), SrcC: 1 + rng.IntN(4),
				H: 1 + rng.IntN(40), W: 1 + rng.IntN(70), Planar: rng.IntN(2) == 0, Uint8: rng.IntN(2) == 0,
			}
			p.C = p.SrcC + rng.IntN(5-p.SrcC)
			spec := imaging.CMNSpec{H: p.H, W: p.W, DstCHW: p.Planar, DstC: p.C, Scale: 1 + rng.Float32(), Shift: rng.Float32() - 0.5}
			to, size := datum.Float32, 4
			if p.Uint8 {
				to, size = datum.Uint8, 1
			}
			fill := rng.Float32() * 300
			spec.Fill = []float32{fill}
			for c := range p.SrcC {
				spec.Mean = append(spec.Mean, rng.Float32()*100)
				spec.Std = append(spec.Std, rng.Float32()+0.5)
				p.Scale[c] = spec.Scale / spec.Std[c]
				p.Bias[c] = spec.Shift - float32(spec.Mean[c]*p.Scale[c])
			}
			p.Fill = [4]float32{fill, fill, fill, fill}

			pictures := randomBytes(rng, p.N*p.SrcH*p.SrcW*p.SrcC)
			windows := make([]cuda.Window, p.N)
			sample := p.H * p.W * p.C * size
			want := make([]byte, p.N*sample)
			var work imaging.CropMirrorNormalizer
			for i := range windows {
				if i > 0 && rng.IntN(4) == 0 {
					continue // not valid: zero
				}
				w := cuda.Window{Y: int32(rng.IntN(60) - 30), X: int32(rng.IntN(60) - 30), Mirror: int32(rng.IntN(2)), Valid: 1}
				if rng.IntN(2) == 0 { // inside as far as the sizes allow
					w.Y, w.X = int32(rng.IntN(max(p.SrcH-p.H, 0)+1)), int32(rng.IntN(max(p.SrcW-p.W, 0)+1))
				}
				windows[i] = w
				spec.Y, spec.X, spec.Mirror = int(w.Y), int(w.X), w.Mirror != 0
				n := p.SrcH * p.SrcW * p.SrcC
				src := imaging.Image{Pix: pictures[i*n:][:n], Type: datum.Uint8, H: p.SrcH, W: p.SrcW, C: p.SrcC}
				require.NoError(t, work.Apply(want[i*sample:][:sample], to, &src, &spec))
			}
			dst, src, at := cudatest.Memory(t, d, len(want)), upload(t, d, pictures), upload(t, d, raw(windows))
			cudatest.Run(t, d, func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src, at, &p) })
			require.Equal(t, want, download(t, d, dst), "%+v, windows %v", p, windows)
		}
	})
}

// TestResizeEqualsTheHosts compares bits.
func TestResizeEqualsTheHosts(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		rng := rand.New(rand.NewPCG(2, 2))
		filters := []imaging.Filter{imaging.Nearest, imaging.Linear, imaging.Cubic, imaging.Lanczos3, imaging.Gaussian}
		for i := range 60 {
			p := cuda.Resize{
				N: 1 + rng.IntN(3), SrcH: 1 + rng.IntN(40), SrcW: 1 + rng.IntN(40), H: 1 + rng.IntN(40), W: 1 + rng.IntN(300), C: 1 + rng.IntN(4),
				Float32: rng.IntN(2) == 0, SrcFloat32: rng.IntN(2) == 0,
			}
			size := [2]float64{float64(p.H), float64(p.W)}
			switch i % 4 {
			case 0: // so much smaller that sums along rows are formed of eight
				p.SrcW, p.W, p.SrcFloat32 = 96, 1+rng.IntN(4), false
				size[1] = float64(p.W)
			case 1:
				size[rng.IntN(2)] *= -1 // mirrors
			}
			filter := filters[rng.IntN(len(filters))]
			spec := imaging.ResizeSpec{Size: size, Min: filter, Mag: filter}
			plan, err := spec.Resolve(p.SrcH, p.SrcW)
			require.NoError(t, err)
			cols, rows, err := plan.Weights(p.SrcH, p.SrcW)
			require.NoError(t, err)
			if i%4 == 0 && filter != imaging.Nearest {
				require.True(t, rows.Wide)
			}
			p.Rows, p.Cols = cuda.Taps(rows), cuda.Taps(cols)
			n := p.SrcH * p.SrcW * p.C
			pictures, from := randomBytes(rng, p.N*n), datum.Uint8
			if p.SrcFloat32 {
				floats := make([]float32, p.N*n)
				for i := range floats {
					floats[i] = rng.Float32() * 255
				}
				pictures, from, n = raw(floats), datum.Float32, 4*n
			}
			to, bytes := datum.Uint8, 1
			if p.Float32 {
				to, bytes = datum.Float32, 4
			}
			sample := p.H * p.W * p.C * bytes
			want := make([]byte, p.N*sample)
			var work imaging.Resampler
			for i := range p.N {
				src := imaging.Image{Pix: pictures[i*n:][:n], Type: from, H: p.SrcH, W: p.SrcW, C: p.C}
				require.NoError(t, work.Resize(want[i*sample:][:sample], to, &src, plan))
			}
			dst, src := cudatest.Memory(t, d, len(want)), upload(t, d, pictures)
			cudatest.Run(t, d, func(q *cuda.Queue) error {
				return errors.Join(q.Resize(dst, src, &p), q.Fill(dst, 0), q.Resize(dst, src, &p))
			})
			require.Equal(t, want, download(t, d, dst), "%dx%dx%d to %dx%d", p.SrcH, p.SrcW, p.C, p.H, p.W)
		}
	})
}

// TestResizeOfARegion compares bits: a region of a picture, with weights that the caller
// brought to the device, becomes what a picture of the region's own becomes.
func TestResizeOfARegion(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		rng := rand.New(rand.NewPCG(3, 3))
		for range 20 {
			const c = 3
			h, w := 1+rng.IntN(40), 1+rng.IntN(90)
			p := cuda.Resize{N: 1, SrcH: 1 + rng.IntN(h), SrcW: 1 + rng.IntN(w), Pitch: w, H: 1 + rng.IntN(20), W: 1 + rng.IntN(20), C: c}
			y, x := rng.IntN(h-p.SrcH+1), rng.IntN(w-p.SrcW+1)
			plan, err := (&imaging.ResizeSpec{Size: [2]float64{float64(p.H), float64(p.W)}, Min: imaging.Linear, Mag: imaging.Linear}).Resolve(p.SrcH, p.SrcW)
			require.NoError(t, err)
			cols, rows, err := plan.Weights(p.SrcH, p.SrcW)
			require.NoError(t, err)
			p.Rows, p.Cols = cuda.Taps{N: rows.N, Wide: rows.Wide}, cuda.Taps{N: cols.N}
			p.Weights = upload(t, d, slices.Concat(raw(rows.First), raw(rows.Weight), raw(cols.First), raw(cols.Weight)))
			picture := randomBytes(rng, h*w*c)
			var region []byte
			for row := range p.SrcH {
				region = append(region, picture[((y+row)*w+x)*c:][:p.SrcW*c]...)
			}
			want := make([]byte, p.H*p.W*c)
			src := imaging.Image{Pix: region, Type: datum.Uint8, H: p.SrcH, W: p.SrcW, C: c}
			require.NoError(t, new(imaging.Resampler).Resize(want, datum.Uint8, &src, plan))
			dst, whole := cudatest.Memory(t, d, len(want)), upload(t, d, append(picture, make([]byte, w*c)...))
			from := whole[(y*w+x)*c:][:p.SrcH*w*c]
			cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Resize(dst, from, &p) })
			require.Equal(t, want, download(t, d, dst))
			cudatest.Run(t, d, func(q *cuda.Queue) error {
				two, narrow, short := p, p, p
				two.N, narrow.Pitch, short.Weights = 2, p.SrcW-1, p.Weights[4:]
				if narrow.Pitch == 0 {
					narrow.Pitch = -1
				}
				require.ErrorContains(t, q.Resize(dst, from, &two), "2 regions")
				require.ErrorContains(t, q.Resize(dst, from, &narrow), "regions of")
				require.ErrorContains(t, q.Resize(dst, from, &short), "bytes of weights")
				return nil
			})
		}
	})
}

// TestWeightsAreUploadedOnce counts copies, and what is held when the stream ends.
func TestWeightsAreUploadedOnce(t *testing.T) {
	for _, pools := range []int{0, 1} {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.Pools, pools)
		d := cudatest.Open(t, drv, cuda.Options{})
		plan, err := (&imaging.ResizeSpec{Size: [2]float64{2, 3}}).Resolve(4, 5)
		require.NoError(t, err)
		cols, rows, err := plan.Weights(4, 5)
		require.NoError(t, err)
		p := cuda.Resize{N: 1, SrcH: 4, SrcW: 5, H: 2, W: 3, C: 1, Rows: cuda.Taps(rows), Cols: cuda.Taps(cols)}
		dst, src := cudatest.Memory(t, d, 6), cudatest.Memory(t, d, 20)
		before := drv.Count(fakedriver.Copies)
		s := cudatest.Stream(t, d)
		for range 3 {
			s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Resize(dst, src, &p) }))
		}
		require.NoError(t, s.Close())
		require.Equal(t, 4, drv.Count(fakedriver.Copies)-before, "first samples and weights of two axes")
	}
}

func TestOneHotEqualsTheHosts(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		rng := rand.New(rand.NewPCG(3, 3))
		for range 40 {
			p := cuda.OneHot{N: 1 + rng.IntN(20), Labels: 1 + rng.IntN(3), Classes: 1 + rng.IntN(30), Int64: rng.IntN(2) == 0, On: rng.Float32(), Off: rng.Float32()}
			valid, labels := make([]byte, p.N), make([]int64, p.N*p.Labels)
			for i := range labels {
				labels[i] = int64(rng.IntN(p.Classes+4) - 2)
			}
			want := make([]float32, len(labels)*p.Classes)
			require.NoError(t, imaging.OneHot(want, labels, p.Classes, 1, p.On, p.Off))
			for i := range valid {
				if valid[i] = byte(rng.IntN(2)); valid[i] == 0 {
					clear(want[i*p.Labels*p.Classes:][:p.Labels*p.Classes])
				}
			}
			mem := raw(labels)
			if !p.Int64 {
				short := make([]int32, len(labels))
				for i, l := range labels {
					short[i] = int32(l)
				}
				mem = raw(short)
			}
			dst, src, mask := cudatest.Memory(t, d, 4*len(want)), upload(t, d, mem), upload(t, d, valid)
			cudatest.Run(t, d, func(q *cuda.Queue) error { return q.OneHot(dst, src, mask, &p) })
			require.Equal(t, want, view[float32](download(t, d, dst)))
		}
	})
}

// TestKernelsRefuse gives kernels memory and sizes that do not fit.
func TestKernelsRefuse(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		mem := cudatest.Memory(t, d, 4000)
		for want, call := range map[string]func(q *cuda.Queue) error{
			"5 channels from 3": func(q *cuda.Queue) error {
				return q.CropMirrorNormalize(mem, mem, mem, &cuda.CropMirrorNormalize{N: 1, SrcH: 1, SrcW: 1, SrcC: 3, H: 1, W: 1, C: 5})
			},
			"0 samples": func(q *cuda.Queue) error {
				return q.CropMirrorNormalize(mem, mem, mem, &cuda.CropMirrorNormalize{SrcH: 1, SrcW: 1, SrcC: 3, H: 1, W: 1, C: 3})
			},
			"[4000 4000 4000] bytes": func(q *cuda.Queue) error {
				return q.OneHot(mem, mem, mem, &cuda.OneHot{N: 4, Labels: 1, Classes: 10})
			},
			"outputs of 2 taps": func(q *cuda.Queue) error {
				return q.Resize(mem[:4], mem[:1], &cuda.Resize{N: 1, SrcH: 1, SrcW: 1, H: 1, W: 1, C: 1, Float32: true, Rows: cuda.Taps{N: 2}})
			},
		} {
			s := cudatest.Stream(t, d)
			s.Do(cudatest.On(call))
			require.ErrorContains(t, s.Close(), want)
		}
	})
}
