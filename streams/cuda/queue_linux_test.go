package cuda_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// on makes work of a function that uses the queue.
func on(fn func(q *cuda.Queue) error) func(*streams.Context) error {
	return func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return fn(q)
	}
}

// memory returns n bytes of device memory that are freed with the device's test.
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

// onEachOpen is onEach with one device, which is closed after what the test frees.
func onEachOpen(t *testing.T, test func(t *testing.T, d *cuda.Device)) {
	onEach(t, func(t *testing.T, open func(t testing.TB) *cuda.Device) {
		d := open(t)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		test(t, d)
	})
}

func TestCopies(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		const n = 100_000
		up, down, a, b := locked(t, d, n), locked(t, d, n), memory(t, d, n), memory(t, d, n)
		for i := range up {
			up[i] = byte(i * i >> 3)
		}
		first, second := stream(t, d), stream(t, d)
		first.Do(on(func(q *cuda.Queue) error { return errors.Join(q.Copy(a, up), q.Copy(b, a), q.Fill(b[n/2:], 9)) }))
		second.Wait(first.Record())
		second.Do(on(func(q *cuda.Queue) error { return q.Copy(down, b) }))
		require.NoError(t, second.Record().Wait(t.Context()))
		require.Equal(t, up[:n/2], down[:n/2])
		require.Equal(t, bytes.Repeat([]byte{9}, n/2), down[n/2:])

		heap := make([]byte, n) // ordinary memory: the call waits
		first.Do(on(func(q *cuda.Queue) error {
			return errors.Join(q.Copy(a, down), q.Copy(heap, a), q.Copy(nil, nil), q.Fill(nil, 1))
		}))
		require.NoError(t, first.Synchronize(t.Context()))
		require.Equal(t, down, heap)
		first.Do(on(func(q *cuda.Queue) error { return q.Copy(a[:3], b) }))
		require.ErrorContains(t, first.Synchronize(t.Context()), "a copy of 100000 bytes to 3 bytes")
	})
}

func TestStreamOrderedMemory(t *testing.T) {
	for _, pools := range []int{0, 1} {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.Pools, pools)
		drv.Set(fakedriver.DelayUS, 50)
		d := open(t, drv, cuda.Options{})
		require.Equal(t, pools == 1, d.Info().Pools)
		s := stream(t, d)
		out := locked(t, d, 64)
		before := drv.Count(fakedriver.Allocations)
		for i := range 20 {
			s.Do(on(func(q *cuda.Queue) error {
				a, err := q.Alloc(64 - i)
				require.NoError(t, err)
				b, err := q.Alloc(32)
				require.NoError(t, err)
				none, err := q.Alloc(0)
				require.NoError(t, err)
				require.Empty(t, none)
				return errors.Join(q.Fill(a, byte(i)), q.Copy(out[:64-i], a), q.Free(a), q.Free(b), q.Free(none))
			}))
			require.NoError(t, s.Synchronize(t.Context()))
			require.EqualValues(t, i, out[0])
		}
		if pools == 0 {
			require.Equal(t, 2, drv.Count(fakedriver.Allocations)-before, "blocks are used again")
		}
		require.NoError(t, s.Close())
	}
}

func TestDeviceMemoryIsOutOfReach(t *testing.T) {
	drv := fakedriver.Open(t)
	d := open(t, drv, cuda.Options{})
	mem := memory(t, d, 10)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	require.Panics(t, func() { mem[0]++ })
}

func TestNotCUDA(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	s, err := host.NewStream()
	require.NoError(t, err)
	s.Do(on(func(*cuda.Queue) error { return nil }))
	require.ErrorIs(t, s.Synchronize(t.Context()), cuda.ErrNotCUDA)
	_, err = cuda.QueueOf(nil)
	require.ErrorIs(t, err, cuda.ErrNotCUDA)
}

func TestGoexitOfWork(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		s := stream(t, d)
		s.Do(func(*streams.Context) error { runtime.Goexit(); return nil })
		var p *streams.PanicError
		require.ErrorAs(t, s.Synchronize(t.Context()), &p)
		ran := false
		s.Do(func(*streams.Context) error { ran = true; return nil })
		require.NoError(t, s.Synchronize(t.Context()))
		require.True(t, ran)
	})
}

// TestTimes lets the clock of events run so fast that the anchor has to move.
func TestTimes(t *testing.T) {
	const scale = 10_000
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.TimeScale, scale)
	d := open(t, drv, cuda.Options{})
	s := stream(t, d)
	var events []streams.Event
	begin := time.Now()
	for range 20 {
		s.Do(func(*streams.Context) error { time.Sleep(time.Millisecond); return nil })
		events = append(events, s.Record())
		require.NoError(t, s.Synchronize(t.Context()))
	}
	atMost := time.Since(begin) * scale
	for i := 1; i < len(events); i++ {
		step, err := events[i].Elapsed(events[i-1])
		require.NoError(t, err)
		require.Positive(t, step)
	}
	all, err := events[len(events)-1].Elapsed(events[0])
	require.NoError(t, err)
	require.Greater(t, all, 19*time.Millisecond*scale-time.Millisecond)
	require.LessOrEqual(t, all, atMost)
}

// TestLostContext lets a kernel fail while it runs: everything in the context
// fails from then on, and nothing hangs.
func TestLostContext(t *testing.T) {
	drv := fakedriver.Open(t)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	a, s := stream(t, d), stream(t, d)
	mem, err := d.Memory().Alloc(400)
	require.NoError(t, err)
	const illegalAddress = 700
	drv.Fail("kernel", illegalAddress, 0)
	a.Do(on(func(q *cuda.Queue) error {
		return q.OneHot(mem[:40], mem[40:80], mem[80:90], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
	}))
	s.Wait(a.Record())
	var e *cuda.Error
	require.ErrorAs(t, s.Record().Wait(t.Context()), &e)
	require.EqualValues(t, illegalAddress, e.Code)
	require.ErrorAs(t, s.Synchronize(t.Context()), &e)
	require.ErrorAs(t, a.Record().Wait(t.Context()), &e)
	_, err = d.Memory().Alloc(1)
	require.ErrorAs(t, err, &e)
	_, err = d.NewStream()
	require.ErrorAs(t, err, &e)
	d.Memory().Free(mem)
	require.ErrorAs(t, d.Close(), &e)

	d, err = cuda.OpenWith(0, cuda.Options{Library: drv.Library}) // a new context
	require.NoError(t, err)
	s = stream(t, d)
	require.NoError(t, s.Synchronize(t.Context()))
	require.NoError(t, d.Close())
}

// TestSteadyState runs many steps and looks for what grows.
func TestSteadyState(t *testing.T) {
	drv := fakedriver.Open(t)
	d := open(t, drv, cuda.Options{})
	a, b := stream(t, d), stream(t, d)
	mem, host := memory(t, d, 4096), locked(t, d, 4096)
	step := func() {
		a.Do(on(func(q *cuda.Queue) error { return q.Copy(mem, host) }))
		b.Wait(a.Record())
		b.Do(on(func(q *cuda.Queue) error { return q.Fill(mem, 1) }))
		a.Wait(b.Record())
		require.NoError(t, b.Synchronize(context.Background()))
	}
	for range 10 {
		step()
	}
	events, blocks := drv.Count(fakedriver.Events), drv.Count(fakedriver.Allocations)
	for range 1000 {
		step()
	}
	require.LessOrEqual(t, drv.Count(fakedriver.Events)-events, 8)
	require.Equal(t, blocks, drv.Count(fakedriver.Allocations))
}

func BenchmarkStream(b *testing.B) {
	drv := fakedriver.Open(b)
	d := open(b, drv, cuda.Options{})
	s, other := stream(b, d), stream(b, d)
	mem := memory(b, d, 400)
	launch := on(func(q *cuda.Queue) error {
		return q.OneHot(mem[:40], mem[40:80], mem[80:90], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
	})
	for name, one := range map[string]func(){
		"launch":          func() { s.Do(launch) },
		"record and wait": func() { other.Wait(s.Record()) },
		"synchronize":     func() { _ = s.Synchronize(context.Background()) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				one()
			}
			require.NoError(b, s.Synchronize(context.Background()))
			require.NoError(b, other.Synchronize(context.Background()))
		})
	}
}
