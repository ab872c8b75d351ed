package cudatest

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// Open opens device 0 of a fake driver. The end of the test closes it.
func Open(t testing.TB, drv *fakedriver.Driver, o cuda.Options) *cuda.Device {
	t.Helper()
	o.Library = drv.Library
	d, err := cuda.OpenWith(0, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// OpenNVJPEG opens a fake driver with delays, a device of it and a decoder there. The
// end of the test closes both.
func OpenNVJPEG(t testing.TB) (*fakedriver.Driver, *cuda.Device, *nvjpeg.Decoder) {
	t.Helper()
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 100)
	d := Open(t, drv, cuda.Options{})
	dec, err := nvjpeg.Open(d, nvjpeg.Options{Library: drv.Library})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dec.Close()) })
	return drv, d, dec
}

// OpenGPU opens the first GPU, which the caller closes. It skips the test where there
// is none, unless PLANKTON_CUDA=1 makes that a failure.
func OpenGPU(t testing.TB, o cuda.Options) *cuda.Device {
	t.Helper()
	d, err := cuda.OpenWith(0, o)
	if os.Getenv("PLANKTON_CUDA") == "" && (errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice)) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return d
}

// Memory returns n bytes of device memory, which the end of the test frees.
func Memory(t testing.TB, d *cuda.Device, n int) []byte {
	t.Helper()
	mem, err := d.Memory().Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { d.Memory().Free(mem) })
	return mem
}

// Locked returns n bytes of page-locked memory, which the end of the test frees.
func Locked(t testing.TB, d *cuda.Device, n int) []byte {
	t.Helper()
	mem, err := d.HostMemory().Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { d.HostMemory().Free(mem) })
	return mem
}

// Stream returns a stream, which ends with its device.
func Stream(t testing.TB, d streams.Device) streams.Stream {
	t.Helper()
	s, err := d.NewStream()
	require.NoError(t, err)
	return s
}

// On makes work for a stream of a function that uses its queue.
func On(fn func(q *cuda.Queue) error) func(*streams.Context) error {
	return func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return fn(q)
	}
}

// Run does work on a stream of its own and waits for it.
func Run(t testing.TB, d *cuda.Device, work func(q *cuda.Queue) error) {
	t.Helper()
	s := Stream(t, d)
	s.Do(On(work))
	require.NoError(t, s.Close())
}

// Download returns what is in device memory, after what was issued on s before.
func Download(t testing.TB, s streams.Stream, mem []byte) []byte {
	t.Helper()
	got := make([]byte, len(mem))
	s.Do(On(func(q *cuda.Queue) error { return q.Copy(got, mem) }))
	require.NoError(t, s.Synchronize(t.Context()))
	return got
}
