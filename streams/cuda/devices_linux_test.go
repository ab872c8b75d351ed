package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/kernels/elementwise"
)

// twoGPUs is an all-reduce of float32 numbers over two GPUs, as a program.
type twoGPUs struct {
	devices []*cuda.Device
	add     []*cuda.Kernel
	pools   executor.Pools
	program *executor.Program
}

const reduced = 1000 // numbers

// openTwo opens two GPUs of the driver, which the end of the test closes.
func openTwo(t *testing.T, drv *fakedriver.Driver) *twoGPUs {
	drv.Set(fakedriver.Devices, 2)
	two := &twoGPUs{}
	pool := func(kind memstats.Kind, a memstats.Allocator) *memstats.Pool {
		p, err := memstats.NewPool(memstats.PoolOptions{Kind: kind, Allocator: a})
		require.NoError(t, err)
		t.Cleanup(func() { p.Trim() })
		return p
	}
	for i := range 2 {
		d, err := cuda.OpenWith(i, cuda.Options{Library: drv.Library})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		m, err := d.Load(elementwise.Binary.PTX)
		require.NoError(t, err)
		add, err := m.Kernel("add_vv_f32")
		require.NoError(t, err)
		two.devices, two.add = append(two.devices, d), append(two.add, add)
		two.pools.Devices = append(two.pools.Devices, pool(memstats.Device, d.Memory()))
	}
	two.pools.PageLocked = pool(memstats.PageLocked, two.devices[0].HostMemory())
	var err error
	two.program, err = executor.Compile(two.graph(), executor.CompileOptions{ForceDeviceCompatible: true})
	require.NoError(t, err)
	return two
}

// graph uploads numbers to each GPU, adds them up on both, and downloads from each what the
// other one has made.
func (two *twoGPUs) graph() *executor.Graph {
	g := executor.NewGraph()
	size := reduced * 4
	var ups []executor.Output
	for i := range 2 {
		data := g.Add(fmt.Sprint("data", i), executor.Op{Outputs: 1, Run: func(_ context.Context, c *executor.Call) error {
			b, err := c.Alloc(0, size)
			if err != nil {
				return err
			}
			for k, numbers := 0, view[float32](b.Bytes()); k < reduced; k++ {
				numbers[k] = float32(k + 1000*i + int(c.Root()))
			}
			return nil
		}})
		ups = append(ups, g.Add(fmt.Sprint("up", i), executor.Op{Outputs: 1, Backend: executor.Mixed, Devices: []int{i}, Run: func(_ context.Context, c *executor.Call) error {
			return two.copy(c, size)
		}}, data.Out(0)).Out(0))
	}
	reduce := g.Add("reduce", executor.Op{Outputs: 4, Backend: executor.Device, Devices: []int{0, 1}, OutputDevices: []int{0, 1, 0, 1}, Run: func(_ context.Context, c *executor.Call) error {
		for i := range 2 {
			sum, err := c.Alloc(i, size)
			if err != nil {
				return err
			}
			far, err := c.Alloc(2+i, size)
			if err != nil {
				return err
			}
			own, other := c.In(i).Buffer().Bytes(), c.In(1-i).Buffer().Bytes()
			c.IssueOn(i, cudatest.On(func(q *cuda.Queue) error {
				if q.Device() != two.devices[i] {
					return fmt.Errorf("work for device %d is on %s", i, q.Device().Name())
				}
				return errors.Join(q.Copy(far.Bytes(), other), q.Copy(sum.Bytes(), own),
					q.Launch(two.add[i], cuda.Dim{X: 4, Y: 1, Z: 1}, cuda.Dim{X: 256, Y: 1, Z: 1}, 0,
						cuda.Address(sum.Bytes()), cuda.Address(far.Bytes()), cuda.Int64(reduced)))
			}))
		}
		return nil
	}}, ups...)
	for i := range 2 {
		down := g.Add(fmt.Sprint("down", i), executor.Op{Outputs: 1, Backend: executor.Device, Devices: []int{i}, HostOutputs: []int{0}, Run: func(_ context.Context, c *executor.Call) error {
			return two.copy(c, size)
		}}, reduce.Out(1-i))
		g.Output(fmt.Sprint("sum", i), down.Out(0))
	}
	return g
}

// copy copies the input of a node to its output.
func (two *twoGPUs) copy(c *executor.Call, size int) error {
	out, err := c.Alloc(0, size)
	if err != nil {
		return err
	}
	in := c.In(0).Buffer().Bytes()
	c.Issue(cudatest.On(func(q *cuda.Queue) error { return q.Copy(out.Bytes(), in) }))
	return nil
}

// check compares the sums of a run, and gives them back.
func (two *twoGPUs) check(t *testing.T, drv *fakedriver.Driver, root int64, sums ...executor.Value) {
	for _, s := range sums {
		b := s.Buffer()
		drv.Access(b.Bytes(), false)
		for k, got := range view[float32](b.Bytes()) {
			require.Equal(t, float32(2*k+1000+2*int(root)), got, k)
		}
	}
}

// TestAllReduceOnTwoGPUs runs a program on two GPUs, whose memory is of each one's own pool,
// and a loop whose iterations overlap. The driver must find no race.
func TestAllReduceOnTwoGPUs(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 50)
	two := openTwo(t, drv)
	x, err := executor.New(two.program, executor.Options{
		Devices: []streams.Device{two.devices[0], two.devices[1]}, Allocator: two.pools, StreamPolicy: streams.Optimal,
	})
	require.NoError(t, err)
	for range 20 {
		out := make([]executor.Value, 2)
		require.NoError(t, x.Run(t.Context(), executor.Args{Out: out}))
		two.check(t, drv, 0, out...)
		for _, o := range out {
			o.Buffer().Release()
		}
	}
	l, err := x.Loop(t.Context(), executor.LoopOptions{Slots: 3, Limit: 40})
	require.NoError(t, err)
	for root := range int64(40) {
		r, err := l.Next(t.Context())
		require.NoError(t, err)
		two.check(t, drv, root, r.Output(0), r.Output(1))
		r.Release()
	}
	l.Close()
	require.NoError(t, x.Close())
	for i, p := range two.pools.Devices {
		require.Positive(t, p.Stats().Allocations, "of device %d", i)
		require.Equal(t, p.Stats().Live, p.Stats().Idle, "of device %d", i)
	}
	require.Empty(t, drv.Report())
}

// lessOne leaves out one wait of the streams of two GPUs for each other.
type lessOne struct {
	streams.Device
	waits *struct{ seen, skip int }
}

type lessOneStream struct {
	streams.Stream
	lessOne
}

type lessOneEvent struct {
	streams.Event
	of streams.Stream
}

func (d lessOne) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	return lessOneStream{s, d}, err
}

func (s lessOneStream) Close() error          { return s.Stream.Close() }
func (s lessOneStream) Record() streams.Event { return lessOneEvent{s.Stream.Record(), s.Stream} }

func (s lessOneStream) Wait(e streams.Event) {
	event := e.(lessOneEvent)
	if event.of != s.Stream {
		s.waits.seen++
		if s.waits.seen-1 == s.waits.skip {
			return
		}
	}
	s.Stream.Wait(event.Event)
}

// TestTwoGPUsNeedEveryWait leaves out each wait between two GPUs: the driver must find a race.
func TestTwoGPUsNeedEveryWait(t *testing.T) {
	drv := fakedriver.Open(t)
	run := func(skip int) (waits int, report string) {
		t.Run(fmt.Sprint("without ", skip), func(t *testing.T) {
			two := openTwo(t, drv)
			w := &struct{ seen, skip int }{skip: skip}
			x, err := executor.New(two.program, executor.Options{
				Workers: 1, Devices: []streams.Device{lessOne{two.devices[0], w}, lessOne{two.devices[1], w}}, Allocator: two.pools,
			})
			require.NoError(t, err)
			issued := func() int { return drv.Count(fakedriver.Launches) + drv.Count(fakedriver.Copies) }
			before := issued()
			drv.Pause() // nothing has started when the last of it is issued
			done, out := make(chan error, 1), make([]executor.Value, 2)
			x.RunAsync(t.Context(), executor.Args{Out: out}, func(err error) { done <- err })
			for issued() < before+10 { // 2 up, 4 and 2 kernels to reduce, 2 down
				time.Sleep(20 * time.Microsecond)
			}
			drv.Resume()
			require.NoError(t, <-done)
			for _, o := range out {
				o.Buffer().Release()
			}
			require.NoError(t, x.Close())
			waits, report = w.seen, drv.Report()
		})
		return waits, report
	}
	waits, report := run(-1)
	require.Empty(t, report)
	require.Equal(t, 4, waits, "to come together, to start, to end, to go on")
	for skip := range waits {
		_, report := run(skip)
		require.Contains(t, report, "race: ", "without wait %d", skip)
	}
}
