package cuda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

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
		up, down, a, b := cudatest.Locked(t, d, n), cudatest.Locked(t, d, n), cudatest.Memory(t, d, n), cudatest.Memory(t, d, n)
		for i := range up {
			up[i] = byte(i * i >> 3)
		}
		first, second := cudatest.Stream(t, d), cudatest.Stream(t, d)
		first.Do(cudatest.On(func(q *cuda.Queue) error { return errors.Join(q.Copy(a, up), q.Copy(b, a), q.Fill(b[n/2:], 9)) }))
		second.Wait(first.Record())
		second.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(down, b) }))
		require.NoError(t, second.Record().Wait(t.Context()))
		require.Equal(t, up[:n/2], down[:n/2])
		require.Equal(t, bytes.Repeat([]byte{9}, n/2), down[n/2:])

		first.Do(cudatest.On(func(q *cuda.Queue) error { return errors.Join(q.Copy(nil, nil), q.Fill(nil, 1)) }))
		require.NoError(t, first.Synchronize(t.Context()))
		first.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(a[:3], b) }))
		require.ErrorContains(t, first.Synchronize(t.Context()), "a copy of 100000 bytes to 3 bytes")
	})
}

// TestCopiesOfOrdinaryMemory uses memory that is not page-locked as soon as the copy
// returns, for which the driver need not have waited.
func TestCopiesOfOrdinaryMemory(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		mem, s := cudatest.Memory(t, d, 8), cudatest.Stream(t, d)
		for i := range byte(50) {
			s.Do(cudatest.On(func(q *cuda.Queue) error {
				there, back := [8]byte{7: i}, [8]byte{}
				if err := q.Copy(mem, there[:]); err != nil {
					return err
				}
				there[7]++
				if err := q.Copy(back[:], mem); err != nil {
					return err
				}
				if back[7] != i {
					return fmt.Errorf("%d came back as %d", i, back[7])
				}
				return nil
			}))
		}
		require.NoError(t, s.Close())
	})
}

func TestStreamOrderedMemory(t *testing.T) {
	for _, pools := range []int{0, 1} {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.Pools, pools)
		drv.Set(fakedriver.DelayUS, 50)
		others := drv.Count(fakedriver.OpenPools)
		t.Run(fmt.Sprint(pools), func(t *testing.T) { testStreamOrderedMemory(t, drv, pools, others) })
		require.Equal(t, others, drv.Count(fakedriver.OpenPools), "what was freed does not stay in the process")
	}
}

func testStreamOrderedMemory(t *testing.T, drv *fakedriver.Driver, pools, others int) {
	d := cudatest.Open(t, drv, cuda.Options{})
	require.Equal(t, pools == 1, d.Info().Pools)
	require.Equal(t, others+pools, drv.Count(fakedriver.OpenPools))
	s := cudatest.Stream(t, d)
	out := cudatest.Locked(t, d, 64)
	before := drv.Count(fakedriver.Allocations)
	for i := range 20 {
		s.Do(cudatest.On(func(q *cuda.Queue) error {
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

func TestDeviceMemoryIsOutOfReach(t *testing.T) {
	drv := fakedriver.Open(t)
	d := cudatest.Open(t, drv, cuda.Options{})
	mem := cudatest.Memory(t, d, 10)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	require.Panics(t, func() { mem[0]++ })
}

func TestNotCUDA(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	s, err := host.NewStream()
	require.NoError(t, err)
	s.Do(cudatest.On(func(*cuda.Queue) error { return nil }))
	require.ErrorIs(t, s.Synchronize(t.Context()), cuda.ErrNotCUDA)
	_, err = cuda.QueueOf(nil)
	require.ErrorIs(t, err, cuda.ErrNotCUDA)
}

func TestGoexitOfWork(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		s := cudatest.Stream(t, d)
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
	d := cudatest.Open(t, drv, cuda.Options{})
	s := cudatest.Stream(t, d)
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

// TestLostContext lets a kernel fail while it runs: everything fails from then on,
// and nothing hangs or counts as held.
func TestLostContext(t *testing.T) {
	drv := fakedriver.Open(t)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	a, s := cudatest.Stream(t, d), cudatest.Stream(t, d)
	mem, err := d.Memory().Alloc(400)
	require.NoError(t, err)
	const illegalAddress = 700
	a.Do(cudatest.On(func(q *cuda.Queue) error { // what it keeps on the device is lost with it
		taps := cuda.Taps{N: 1, First: make([]int32, 2), Weight: make([]float32, 2)}
		return q.Resize(mem[:12], mem[12:24], &cuda.Resize{N: 1, SrcH: 2, SrcW: 2, H: 2, W: 2, C: 3, Rows: taps, Cols: taps})
	}))
	require.NoError(t, a.Synchronize(t.Context()))
	quiet := cudatest.Stream(t, d)
	drv.Pause()
	quiet.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, 1) }))
	unseen := quiet.Record() // about which nobody asks before the device is closed
	issued(quiet)
	drv.Fail("kernel", illegalAddress, 0)
	a.Do(cudatest.On(func(q *cuda.Queue) error {
		return q.OneHot(mem[:40], mem[40:80], mem[80:90], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
	}))
	s.Wait(a.Record())
	issued(a)
	drv.Resume()
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
	err = d.Close()
	require.ErrorAs(t, err, &e)
	require.NotErrorIs(t, err, cuda.ErrHeld)
	told := false
	unseen.Then(func(err error) { told = errors.As(err, &e) })
	require.True(t, told, "Close has failed what nobody asked about")

	_, err = cuda.OpenWith(0, cuda.Options{Library: drv.Library}) // a new context is of no use
	require.ErrorAs(t, err, &e)
	drv = fakedriver.Open(t) // a new process is
	d, err = cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	s = cudatest.Stream(t, d)
	require.NoError(t, s.Synchronize(t.Context()))
	require.NoError(t, d.Close())
}

// TestBadAddresses launches kernels on memory that they cannot use as it is.
func TestBadAddresses(t *testing.T) {
	drv := fakedriver.Open(t)
	d, other := cudatest.Open(t, drv, cuda.Options{}), cudatest.Open(t, drv, cuda.Options{Context: cuda.Own})
	mem, foreign := cudatest.Memory(t, d, 100), cudatest.Memory(t, other, 100)
	for report, labels := range map[string][]byte{"is not aligned to 4 bytes": mem[41:81], "is no memory of 40 bytes in this context": foreign[:40]} {
		s := cudatest.Stream(t, d)
		s.Do(cudatest.On(func(q *cuda.Queue) error {
			return q.OneHot(mem[:40], labels, mem[90:], &cuda.OneHot{N: 10, Labels: 1, Classes: 1})
		}))
		require.ErrorContains(t, s.Close(), "cuLaunchKernel")
		require.Contains(t, drv.Report(), report)
	}
}

// TestSteadyState runs many steps and looks for what grows.
func TestSteadyState(t *testing.T) {
	drv := fakedriver.Open(t)
	d := cudatest.Open(t, drv, cuda.Options{})
	a, b := cudatest.Stream(t, d), cudatest.Stream(t, d)
	mem, host := cudatest.Memory(t, d, 4096), cudatest.Locked(t, d, 4096)
	step := func() {
		a.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(mem, host) }))
		b.Wait(a.Record())
		b.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, 1) }))
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
	d := cudatest.Open(b, drv, cuda.Options{})
	s, other := cudatest.Stream(b, d), cudatest.Stream(b, d)
	mem := cudatest.Memory(b, d, 400)
	launch := cudatest.On(func(q *cuda.Queue) error {
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
