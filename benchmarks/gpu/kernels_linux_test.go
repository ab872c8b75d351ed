package gpu

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// imageNet is the work of a batch of n pictures: 224×224 of 256×256, to float32.
func imageNet(n int) *cuda.CropMirrorNormalize {
	return &cuda.CropMirrorNormalize{
		N: n, SrcH: 256, SrcW: 256, SrcC: 3, H: 224, W: 224, C: 3, Planar: true,
		Scale: [4]float32{0.017, 0.017, 0.017}, Bias: [4]float32{-2, -2, -1.8},
	}
}

// windows returns the windows of a batch of valid rows, in device memory.
func windows(t testing.TB, d *cuda.Device, n int) []byte {
	host, mem := make([]cuda.Window, n), cudatest.Memory(t, d, n*int(unsafe.Sizeof(cuda.Window{})))
	for i := range host {
		host[i] = cuda.Window{Y: 16, X: 16, Valid: 1}
	}
	cudatest.Run(t, d, func(q *cuda.Queue) error {
		return q.Copy(mem, unsafe.Slice((*byte)(unsafe.Pointer(&host[0])), len(mem)))
	})
	return mem
}

// TestNormalize compares the kernel with what the memory of the device can do, a
// copy on the device: bytes are those read and written. All of it is far beyond what a
// cache holds.
func TestNormalize(t *testing.T) {
	d := open(t, cuda.Primary)
	batch := size(512, 1)
	read, write := batch*224*224*3, batch*224*224*3*4
	dst, other := cudatest.Memory(t, d, write), cudatest.Memory(t, d, write)
	src, at, p := other[:batch*256*256*3], windows(t, d, batch), imageNet(batch)
	cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Fill(other, 100) })
	memoryRate := rate(2*write, took(t, d, func(q *cuda.Queue) error { return q.Copy(dst, other) }))
	kernel := rate(read+write, took(t, d, func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src, at, p) }))
	atLeast(t, "normalise", kernel/memoryRate, 0.8, fmt.Sprintf("%.0f GB/s for %d pictures, a copy on the GPU %.0f GB/s", kernel, batch, memoryRate))
}

// TestResize tells what a resize costs beside the bytes that it must move.
func TestResize(t *testing.T) {
	d := open(t, cuda.Primary)
	for _, side := range []int{256, 512} {
		batch := size(256, 1)
		plan, err := (&imaging.ResizeSpec{Size: [2]float64{224, 224}}).Resolve(side, side)
		require.NoError(t, err)
		cols, rows, err := plan.Weights(side, side)
		require.NoError(t, err)
		p := &cuda.Resize{N: batch, SrcH: side, SrcW: side, H: 224, W: 224, C: 3, Rows: cuda.Taps(rows), Cols: cuda.Taps(cols)}
		dst, src := cudatest.Memory(t, d, batch*224*224*3), cudatest.Memory(t, d, batch*side*side*3)
		cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Fill(src, 100) })
		cost := took(t, d, func(q *cuda.Queue) error { return q.Resize(dst, src, p) })
		fmt.Printf("resize of %d pictures from %d×%d to 224×224: %v, %.0f GB/s of pictures read and written\n",
			batch, side, side, cost, rate(len(src)+len(dst), cost))
	}
}

// BenchmarkLaunch is what a launch costs on the host.
func BenchmarkLaunch(b *testing.B) {
	d := open(b, cuda.Primary)
	mem, s := cudatest.Memory(b, d, 400), cudatest.Stream(b, d)
	work := cudatest.On(func(q *cuda.Queue) error {
		return q.OneHot(mem[:40], mem[40:80], mem[80:90], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
	})
	b.ReportAllocs()
	for range b.N {
		s.Do(work)
	}
	require.NoError(b, s.Close())
}
