package cuda_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/kernels"
)

func TestWithoutADriver(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libcuda.so.1")
	_, err := cuda.OpenWith(0, cuda.Options{Library: missing})
	require.ErrorIs(t, err, cuda.ErrNoDriver)
	require.ErrorContains(t, err, missing)
	_, err = cuda.OpenWith(0, cuda.Options{Library: "libc.so.6"}) // a library, but not the driver
	require.ErrorIs(t, err, cuda.ErrNoDriver)
	require.ErrorContains(t, err, "has no function cuInit")
}

func TestWrongDevice(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.Devices, 2)
	for _, ordinal := range []int{-1, 2} {
		_, err := cuda.OpenWith(ordinal, cuda.Options{Library: drv.Library})
		require.ErrorIs(t, err, cuda.ErrNoDevice)
		require.ErrorContains(t, err, "the driver has 2, numbered from 0")
	}
	_, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Context: 7})
	require.ErrorContains(t, err, "Options.Context is 7")
	d, err := cuda.OpenWith(1, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	require.Equal(t, "cuda:1 Fake 1", d.Name())
	require.Equal(t, cuda.Info{Ordinal: 1, Name: "Fake 1", Major: 9, Memory: 1 << 30, PCI: "0000:3c:00.0", Driver: 13000, Pools: true}, d.Info())
	require.NoError(t, d.Close())
}

// TestOpenFails lets every call of Open fail once: there must be no goroutine or
// context left, which TestMain and the driver look for.
func TestOpenFails(t *testing.T) {
	drv := fakedriver.Open(t)
	cudatest.Open(t, drv, cuda.Options{}) // the driver is initialised once per process
	pools := drv.Count(fakedriver.OpenPools)
	for _, call := range []string{
		"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
		"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemPoolCreate", "cuMemPoolSetAttribute",
	} {
		drv.Fail(call, 999, 0)
		_, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
		var e *cuda.Error
		require.ErrorAs(t, err, &e, call)
		require.Equal(t, call, e.Call)
		require.EqualValues(t, 999, e.Code)
		require.Equal(t, pools, drv.Count(fakedriver.OpenPools), call)
	}
	drv.Fail("cuCtxCreate_v2", 999, 0)
	_, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Context: cuda.Own})
	require.ErrorContains(t, err, "cuCtxCreate_v2")
}

func TestContexts(t *testing.T) {
	drv := fakedriver.Open(t)
	primary, again, own := cudatest.Open(t, drv, cuda.Options{}), cudatest.Open(t, drv, cuda.Options{}), cudatest.Open(t, drv, cuda.Options{Context: cuda.Own})
	require.Equal(t, primary.Context(), again.Context())
	require.NotEqual(t, primary.Context(), own.Context())
	given := cudatest.Open(t, drv, cuda.Options{Handle: own.Context()})
	require.Equal(t, own.Context(), given.Context())

	// Contexts nest, on one thread, and every device finds its own again.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, primary.Do(func() error {
		s, err := own.NewStream()
		require.NoError(t, err)
		require.NoError(t, s.Synchronize(t.Context()))
		return own.Do(func() error {
			p, err := primary.Adopt(0)
			require.NoError(t, err)
			require.NoError(t, p.Synchronize(t.Context()))
			return s.Close()
		})
	}))
	require.Panics(t, func() { _ = own.Do(func() error { panic("oh") }) })
	require.NoError(t, own.Do(func() error { return nil }))

	// The adopted stream is the driver's default stream, which stays.
	s, err := given.Adopt(0)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, given.Close())
	s, err = own.Adopt(0)
	require.NoError(t, err)
	require.NoError(t, s.Synchronize(t.Context()))
}

// TestAbandon destroys a context in which another device still works. That device
// must not touch it any more, which the driver looks for.
func TestAbandon(t *testing.T) {
	drv := fakedriver.Open(t)
	pools := drv.Count(fakedriver.OpenPools)
	maker, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Context: cuda.Own})
	require.NoError(t, err)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Handle: maker.Context()})
	require.NoError(t, err)
	t.Cleanup(func() {
		err := d.Close()
		require.ErrorIs(t, err, cuda.ErrContext)
		require.NotErrorIs(t, err, cuda.ErrHeld)
		require.Equal(t, pools, drv.Count(fakedriver.OpenPools), "a pool is of no context")
	})
	s, mem, host := cudatest.Stream(t, d), cudatest.Memory(t, d, 100), cudatest.Locked(t, d, 100)
	drv.Pause() // nothing is done before the context ends
	s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(mem, host) }))
	unseen := s.Record()
	issued(s)
	require.NoError(t, maker.Close())
	require.Contains(t, drv.Report(), "a context ends with 1 streams")

	d.Abandon()
	require.True(t, unseen.Query())
	require.ErrorIs(t, unseen.Wait(t.Context()), cuda.ErrContext)
	s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, 1) }))
	require.ErrorIs(t, s.Record().Wait(t.Context()), cuda.ErrContext)
	require.ErrorIs(t, s.Synchronize(t.Context()), cuda.ErrContext)
	_, err = d.Memory().Alloc(1)
	require.ErrorIs(t, err, cuda.ErrContext)
	_, err = d.NewStream()
	require.ErrorIs(t, err, cuda.ErrContext)
}

// TestAbandonUnderWork abandons a context while work is on its way, with the
// context current on the thread of a stream: that thread has no context
// afterwards, and neither what the work still asks for nor what follows reaches
// the driver.
func TestAbandonUnderWork(t *testing.T) {
	drv := fakedriver.Open(t)
	maker, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Context: cuda.Own})
	require.NoError(t, err)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Handle: maker.Context()})
	require.NoError(t, err)
	t.Cleanup(func() { require.ErrorIs(t, d.Close(), cuda.ErrContext) })
	s, err := d.NewStream()
	require.NoError(t, err)
	mem, host := cudatest.Memory(t, d, 100), cudatest.Locked(t, d, 100)
	begun, abandoned := make(chan struct{}), make(chan struct{})
	s.Do(cudatest.On(func(q *cuda.Queue) error {
		close(begun)
		<-abandoned
		_, alloc := q.Alloc(100)
		for _, err := range []error{q.Fill(mem, 1), q.Copy(mem, host), alloc, q.Record().Wait(context.Background())} {
			assert.Equal(t, cuda.ErrContext, err)
		}
		return nil
	}))
	s.Do(func(*streams.Context) error { t.Error("ran without a context"); return nil })
	<-begun
	require.NoError(t, maker.Close())
	require.Contains(t, drv.Report(), "a context ends with 1 streams")
	d.Abandon()
	close(abandoned)
	require.Equal(t, cuda.ErrContext, s.Synchronize(t.Context()))
	s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, 1) }))
	require.Equal(t, cuda.ErrContext, s.Synchronize(t.Context()))
	require.ErrorIs(t, s.Close(), cuda.ErrContext)
}

func TestPriorities(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t testing.TB) *cuda.Device) {
		d := open(t)
		least, greatest, err := d.Priorities()
		require.NoError(t, err)
		require.LessOrEqual(t, greatest, least)
		s, err := d.NewStreamWithPriority(greatest)
		require.NoError(t, err)
		require.NoError(t, s.Synchronize(t.Context()))
		require.NoError(t, d.Close())
	})
}

func TestCloseWaitsForMemory(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t testing.TB) *cuda.Device) {
		d := open(t)
		mem, err := d.Memory().Alloc(1000)
		require.NoError(t, err)
		locked, err := d.HostMemory().Alloc(24)
		require.NoError(t, err)
		locked[0] = 1
		err = d.Close()
		require.ErrorIs(t, err, cuda.ErrHeld)
		require.ErrorContains(t, err, "1024 bytes")
		_, err = d.NewStream()
		require.ErrorIs(t, err, streams.ErrClosed)
		d.Memory().Free(mem)
		d.HostMemory().Free(locked)
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
	})
}

// TestMemoryAfterClose keeps the primary context alive, so that the driver itself would
// still allocate.
func TestMemoryAfterClose(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t testing.TB) *cuda.Device) {
		other, d := open(t), open(t)
		require.NoError(t, d.Close())
		for _, from := range []memstats.Allocator{d.Memory(), d.HostMemory()} {
			_, err := from.Alloc(1)
			require.ErrorIs(t, err, streams.ErrClosed)
		}
		require.NoError(t, d.Close(), "nothing is held")
		require.NoError(t, other.Close())
	})
}

func TestOutOfMemory(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.Memory, 1<<20)
	drv.Set(fakedriver.HostMemory, 1<<20)
	d := cudatest.Open(t, drv, cuda.Options{})
	first, err := d.Memory().Alloc(1 << 19)
	require.NoError(t, err)
	defer d.Memory().Free(first)

	_, err = d.Memory().Alloc(1<<19 + 1)
	var e *cuda.MemoryError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, cuda.ErrMemory)
	require.Equal(t, cuda.MemoryError{Kind: memstats.Device, Asked: 1<<19 + 1, Free: 1 << 19, Total: 1 << 20, Err: e.Err}, *e)
	require.ErrorContains(t, err, "524289 bytes of device memory were asked for, 524288 of 1048576 are free")

	_, err = d.HostMemory().Alloc(1<<20 + 1)
	require.ErrorIs(t, err, cuda.ErrMemory)
	require.ErrorContains(t, err, "1048577 bytes of page-locked memory")

	s, err := d.NewStream()
	require.NoError(t, err)
	s.Do(func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		require.NoError(t, err)
		_, err = q.Alloc(1 << 20)
		require.ErrorAs(t, err, &e)
		require.EqualValues(t, 1<<19, e.Free)
		return q.Fill(first, 7) // what was there before stays valid
	})
	require.NoError(t, s.Close())
}

func TestModules(t *testing.T) {
	drv := fakedriver.Open(t)
	d := cudatest.Open(t, drv, cuda.Options{})
	_, err := d.Load("not PTX")
	require.ErrorIs(t, err, cuda.ErrModule)
	require.ErrorContains(t, err, "missing .version directive")

	m, err := d.Load(kernels.PTX)
	require.NoError(t, err)
	_, err = m.Kernel("nobody")
	require.ErrorContains(t, err, `no kernel "nobody"`)

	for code, hint := range map[int]string{221: "libnvidia-ptxjitcompiler.so is missing", 223: "CUDA_DISABLE_PTX_JIT"} {
		drv.Fail("cuModuleLoadDataEx", code, 0)
		_, err = d.Load(kernels.PTX)
		require.ErrorIs(t, err, cuda.ErrModule)
		require.ErrorContains(t, err, hint)
	}

	drv.Set(fakedriver.Version, 11070)
	old := cudatest.Open(t, drv, cuda.Options{})
	_, err = old.Load(kernels.PTX)
	require.ErrorIs(t, err, cuda.ErrModule)
	require.ErrorContains(t, err, "PTX version 7.8 for sm_60; the driver implements CUDA 11.7")
	require.ErrorContains(t, err, "the driver is too old")

	drv.Set(fakedriver.Version, 13000)
	drv.Set(fakedriver.Capability, 52)
	small := cudatest.Open(t, drv, cuda.Options{})
	_, err = small.Load(kernels.PTX)
	require.ErrorIs(t, err, cuda.ErrModule)
	require.ErrorContains(t, err, "compute capability 5.2")
}
