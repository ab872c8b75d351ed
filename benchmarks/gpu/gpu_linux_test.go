package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens the GPU, or the fake driver if PLANKTON_FAKE says so.
func open(t testing.TB) *cuda.Device {
	var o cuda.Options
	if os.Getenv("PLANKTON_FAKE") != "" {
		o.Library = fakedriver.Open(t).Library
	}
	d, err := cuda.OpenWith(0, o)
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// size is n, or little of it on the fake driver.
func size(n int) int {
	if os.Getenv("PLANKTON_FAKE") != "" {
		return max(n/256, 1)
	}
	return n
}

func memory(t testing.TB, d *cuda.Device, n int) []byte {
	mem, err := d.Memory().Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { d.Memory().Free(mem) })
	return mem
}

func locked(t testing.TB, d *cuda.Device, n int) []byte {
	mem, err := d.HostMemory().Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { d.HostMemory().Free(mem) })
	return mem
}

func stream(t testing.TB, d *cuda.Device) streams.Stream {
	s, err := d.NewStream()
	require.NoError(t, err)
	return s
}

func on(fn func(q *cuda.Queue) error) func(*streams.Context) error {
	return func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return fn(q)
	}
}

// repeat does work b.N times on one stream and reports the rate of bytes by the
// clock of the GPU.
func repeat(b *testing.B, d *cuda.Device, bytes int, work func(q *cuda.Queue) error) {
	s := stream(b, d)
	s.Do(on(work))
	require.NoError(b, s.Synchronize(context.Background()))
	b.ReportAllocs()
	b.ResetTimer()
	begin := s.Record()
	for range b.N {
		s.Do(on(work))
	}
	end := s.Record()
	require.NoError(b, s.Close())
	took, err := end.Elapsed(begin)
	require.NoError(b, err)
	if bytes > 0 {
		b.ReportMetric(float64(bytes)*float64(b.N)/took.Seconds()/1e9, "GB/s")
	}
}

// BenchmarkUpload is the copy of a batch of 64 pictures of 256×256 bytes from
// page-locked memory: in one piece, which is what the bus can do, and as a
// pipeline does it, on a stream that waits for the batch before.
func BenchmarkUpload(b *testing.B) {
	n := size(64 * 256 * 256 * 3)
	b.Run("plain", func(b *testing.B) {
		d := open(b)
		dst, src := memory(b, d, n), locked(b, d, n)
		repeat(b, d, n, func(q *cuda.Queue) error { return q.Copy(dst, src) })
	})
	b.Run("with events", func(b *testing.B) {
		d := open(b)
		dst, src := [2][]byte{memory(b, d, n), memory(b, d, n)}, [2][]byte{locked(b, d, n), locked(b, d, n)}
		s, consumer := stream(b, d), stream(b, d)
		var used [2]streams.Event
		b.ReportAllocs()
		begin := s.Record()
		for i := range b.N {
			slot := i % 2
			if used[slot] != nil {
				s.Wait(used[slot])
			}
			s.Do(on(func(q *cuda.Queue) error { return q.Copy(dst[slot], src[slot]) }))
			consumer.Wait(s.Record())
			used[slot] = consumer.Record()
		}
		end := s.Record()
		require.NoError(b, errors.Join(s.Close(), consumer.Close()))
		took, err := end.Elapsed(begin)
		require.NoError(b, err)
		b.ReportMetric(float64(n)*float64(b.N)/took.Seconds()/1e9, "GB/s")
	})
}

// imageNet is the work of a batch of 64 pictures: 224×224 of 256×256, to float32.
func imageNet(n int) *cuda.CropMirrorNormalize {
	return &cuda.CropMirrorNormalize{
		N: n, SrcH: 256, SrcW: 256, SrcC: 3, H: 224, W: 224, C: 3, Planar: true,
		Scale: [4]float32{0.017, 0.017, 0.017}, Bias: [4]float32{-2, -2, -1.8},
	}
}

// windows returns the windows of a batch of valid rows, in device memory.
func windows(t testing.TB, d *cuda.Device, n int) []byte {
	host, mem := make([]cuda.Window, n), memory(t, d, n*int(unsafe.Sizeof(cuda.Window{})))
	for i := range host {
		host[i] = cuda.Window{Y: 16, X: 16, Valid: 1}
	}
	s := stream(t, d)
	s.Do(on(func(q *cuda.Queue) error {
		return q.Copy(mem, unsafe.Slice((*byte)(unsafe.Pointer(&host[0])), len(mem)))
	}))
	require.NoError(t, s.Close())
	return mem
}

// BenchmarkNormalize compares the kernel with what the memory of the device can do:
// bytes are those read and written.
func BenchmarkNormalize(b *testing.B) {
	batch := size(256)
	p := imageNet(batch)
	read, write := batch*224*224*3, batch*224*224*3*4
	b.Run("copy on the device", func(b *testing.B) {
		d := open(b)
		dst, src := memory(b, d, write), memory(b, d, write)
		repeat(b, d, 2*write, func(q *cuda.Queue) error { return q.Copy(dst, src) })
	})
	b.Run("crop_mirror_normalize", func(b *testing.B) {
		d := open(b)
		dst, src, windows := memory(b, d, write), memory(b, d, batch*256*256*3), windows(b, d, batch)
		repeat(b, d, read+write, func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src, windows, p) })
	})
}

// BenchmarkLaunch is what a launch costs on the host, and how long the GPU waits
// from one empty launch to the next.
func BenchmarkLaunch(b *testing.B) {
	d := open(b)
	mem := memory(b, d, 400)
	repeat(b, d, 0, func(q *cuda.Queue) error {
		return q.OneHot(mem[:40], mem[40:80], mem[80:90], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
	})
}

// TestOverlap measures how much of the copies is hidden behind the kernels: 0
// where they take turns, 1 where the shorter of the two costs nothing.
func TestOverlap(t *testing.T) {
	d := open(t)
	batch := size(256)
	p := imageNet(batch)
	n := batch * 256 * 256 * 3
	dst, windows, host := memory(t, d, batch*224*224*3*4), windows(t, d, batch), locked(t, d, n)
	src := [2][]byte{memory(t, d, n), memory(t, d, n)}
	copies, kernels := stream(t, d), stream(t, d)
	const steps = 20
	run := func(copying, computing bool) time.Duration {
		begin := copies.Record()
		kernels.Wait(begin)
		for i := range steps {
			if copying {
				copies.Do(on(func(q *cuda.Queue) error { return q.Copy(src[i%2], host) }))
			}
			if computing {
				for range 4 { // about as long as the copy
					kernels.Do(on(func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src[(i+1)%2], windows, p) }))
				}
			}
			c, k := copies.Record(), kernels.Record()
			copies.Wait(k)
			kernels.Wait(c)
		}
		end := kernels.Record()
		require.NoError(t, errors.Join(end.Wait(t.Context()), copies.Synchronize(t.Context())))
		took, err := end.Elapsed(begin)
		require.NoError(t, err)
		return took
	}
	run(true, true)
	copying, computing, both := run(true, false), run(false, true), run(true, true)
	hidden := float64(copying+computing-both) / float64(min(copying, computing))
	fmt.Printf("overlap: copies %v, kernels %v, both %v: %.0f %% of the shorter is hidden\n", copying/steps, computing/steps, both/steps, 100*hidden)
}

// TestNothingGrows runs a thousand steps and compares the free memory.
func TestNothingGrows(t *testing.T) {
	d := open(t)
	n := size(1 << 20)
	dst, host := memory(t, d, n), locked(t, d, n)
	a, b := stream(t, d), stream(t, d)
	step := func() {
		a.Do(on(func(q *cuda.Queue) error { return q.Copy(dst, host) }))
		b.Wait(a.Record())
		b.Do(on(func(q *cuda.Queue) error {
			scratch, err := q.Alloc(n)
			return errors.Join(err, q.Copy(scratch, dst), q.Free(scratch))
		}))
		a.Wait(b.Record())
		require.NoError(t, b.Synchronize(t.Context()))
	}
	for range 50 {
		step()
	}
	before, _, err := d.FreeMemory()
	require.NoError(t, err)
	for range 1000 {
		step()
	}
	after, total, err := d.FreeMemory()
	require.NoError(t, err)
	require.Equal(t, before, after)
	fmt.Printf("memory: %d of %d bytes free before 1,000 steps and after\n", after, total)
}
