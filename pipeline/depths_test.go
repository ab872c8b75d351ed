package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// testDevice is a test device with memory of its own, which the host happens to
// reach.
type testDevice struct {
	*streamtest.Device
	locked, memory *memstats.Checked
}

func newTestDevice(seed uint64) *testDevice {
	return &testDevice{streamtest.New(seed), memstats.NewChecked(memstats.Heap{}), memstats.NewChecked(memstats.Heap{})}
}

func (d *testDevice) HostMemory() memstats.Allocator { return d.locked }
func (d *testDevice) Memory() memstats.Allocator     { return d.memory }

// end closes the device, on which nothing must be left.
func (d *testDevice) end(t require.TestingT) {
	require.NoError(t, d.Close())
	require.Empty(t, d.Races())
	require.NoError(t, errors.Join(d.locked.Check(), d.memory.Check()))
}

// twoParts is a pipeline with a diamond of operators for whole batches behind a
// sample region, one of whose outputs is shown and read by a device as well.
func twoParts(g *Graph, n int64) {
	number := g.Read(ReaderOptions{}, numbers{n: n})[0]
	v := square(g, number, nil)
	shown := square(g, number, nil)
	up := affine(g, "upload", executor.Mixed, 1, 0, v)
	left := affine(g, "left", executor.Device, 2, 1, up)
	right := affine(g, "right", executor.Mixed, -1, 0, shown)
	g.Output("join", affine(g, "join", executor.Device, 1, 0, left, right, up))
	g.Output("left", left)
	g.Output("again", left)
	g.Output("shown", shown)
	g.Output("host", affine(g, "host", executor.Host, 3, 0, v))
}

// words takes all batches and returns what is in them.
func words(t require.TestingT, r *Runner, hold func(k int, b *Batch)) (all []string) {
	for {
		b, err := r.Next(context.Background())
		require.NoError(t, err)
		if b == nil {
			return all
		}
		word := fmt.Sprint(b.IDs(), b.Mask())
		for _, name := range b.Names() {
			word += fmt.Sprint(" ", name, b.Float32s(name))
		}
		all = append(all, word)
		hold(len(all), b)
		b.Release()
	}
}

// Whatever the depths of the two parts, the batches are those of one depth, within
// the same budgets that New asks for; nothing leaks or races. Now and then the
// consumer breaks off, parks the workers, keeps a batch or gives them back in
// another order.
func TestDepthsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "samples")
		d := newTestDevice(rapid.Uint64().Draw(t, "seed"))
		depths := rapid.SliceOfN(rapid.IntRange(1, 4), 2, 2).Draw(t, "host and device")
		budgets := rapid.Bool().Draw(t, "budgets")
		stopAt := rapid.Int64Range(0, n).Draw(t, "stop")
		then := rapid.SliceOfN(rapid.IntRange(0, 3), 7, 7).Draw(t, "then")
		o := Options{
			BatchSize: rapid.IntRange(1, 5).Draw(t, "batch"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
			Device: d, StreamPolicy: rapid.SampledFrom([]streams.Policy{streams.Single, streams.PerOperator, streams.Optimal}).Draw(t, "policy"),
		}
		feed := feedtest.Once(n, int64(o.BatchSize))
		define := func(g *Graph) { twoParts(g, n) }
		start := func(o Options) *Runner {
			p, err := New(o, define)
			require.NoError(t, err)
			r, err := p.NewRunner(feed)
			require.NoError(t, err)
			return r
		}
		r := start(o)
		want := words(t, r, func(int, *Batch) {})
		require.NoError(t, r.Close())

		o.HostPrefetchDepth, o.DevicePrefetchDepth = depths[0], depths[1]
		p, err := New(o, define)
		require.NoError(t, err)
		host, device := p.compiled.DenseBytes()
		if budgets {
			o.MemoryBudget, o.DeviceMemoryBudget = host+1000, device // room for the samples in the making
		}
		r = start(o)
		for range stopAt / int64(o.BatchSize) {
			b, err := r.Next(context.Background())
			require.NoError(t, err)
			b.Release()
		}
		require.NoError(t, r.Reset(feed))
		var kept []*Batch
		got := words(t, r, func(k int, b *Batch) {
			switch then[k%len(then)] {
			case 0:
				r.Park(t.Context())
			case 1:
				if len(kept) < o.DevicePrefetchDepth {
					b.Retain()
					kept = append(kept, b)
				}
			case 2:
				for _, b := range slices.Backward(kept) {
					b.Release()
				}
				kept = nil
			}
		})
		require.Equal(t, want, got)
		for _, b := range kept {
			b.Release()
		}
		require.Equal(t, device, r.p.MemoryOf(memstats.Device).Live)
		if o.MemoryBudget > 0 {
			require.LessOrEqual(t, r.p.Memory().Peak+r.p.MemoryOf(memstats.PageLocked).Peak, o.MemoryBudget)
			require.LessOrEqual(t, r.p.MemoryOf(memstats.Device).Peak, o.DeviceMemoryBudget)
		}
		require.NoError(t, r.Close())
		require.Zero(t, r.p.MemoryOf(memstats.Device).Live+r.p.MemoryOf(memstats.PageLocked).Live)
		d.end(t)
	})
}

// The host makes as many batches ahead of the upload as it may, the device as many
// ahead of the consumer, and none more.
func TestDepthsAreKept(t *testing.T) {
	for _, depths := range [][2]int{{1, 1}, {3, 1}, {1, 3}, {2, 2}} {
		synctest.Test(t, func(t *testing.T) {
			var made, finished atomic.Int64 // batches: hooks of several may run at once
			host, device := int64(depths[0]), int64(depths[1])
			uploaded := make(chan struct{})
			d := streams.NewHost()
			p, err := New(Options{
				BatchSize: 2, Device: d, Workers: 1, HostPrefetchDepth: depths[0], DevicePrefetchDepth: depths[1],
				Events: stats.Events{BatchMade: func(stats.BatchEvent) { made.Add(1) }, BatchFinished: func(stats.BatchEvent) { finished.Add(1) }},
			}, func(g *Graph) {
				up := g.AddBatch(BatchOp{
					Name: "upload", Inputs: []Value{square(g, g.Read(ReaderOptions{}, numbers{n: 100})[0], nil)},
					Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{2}}}, Backend: executor.Mixed,
					New: func() (batchop.Kernel, error) {
						return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
							<-uploaded
							copy(out[0].Data, in[0].Data)
							return nil
						}), nil
					},
				})[0]
				g.Output("x", up)
			})
			require.NoError(t, err)
			r, err := p.NewRunner(feedtest.Once(100, 2))
			require.NoError(t, err)
			first := make(chan *Batch)
			go func() {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				first <- b
			}()
			synctest.Wait()
			require.Equal(t, host+1, made.Load(), "one of them at the upload")
			require.Zero(t, finished.Load())
			uploaded <- struct{}{}
			synctest.Wait()
			require.Equal(t, host+2, made.Load())
			b := <-first
			close(uploaded)
			synctest.Wait()
			require.Equal(t, device+1, finished.Load(), "one of them with the consumer")
			require.Equal(t, host+device+2, made.Load())
			held := []*Batch{b}
			for range device {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				held = append(held, b)
			}
			_, err = r.Next(t.Context())
			require.ErrorContains(t, err, fmt.Sprintf("all %d batches are held; release one or raise DevicePrefetchDepth", device+1))
			for _, b := range held {
				b.Release()
			}
			require.NoError(t, r.Close())
			require.NoError(t, d.Close())
		})
	}
}

// Whenever a run with two parts ends, it ends, and leaves nothing.
func TestDepthsWhenARunEnds(t *testing.T) {
	for taken := range 4 {
		for _, end := range []func(*Runner){
			func(*Runner) {},
			func(r *Runner) { r.Stop() },
			func(r *Runner) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := r.Next(ctx)
				require.ErrorIs(t, err, context.Canceled)
			},
			func(r *Runner) {
				r.Stop()
				require.NoError(t, r.Reset(feedtest.Once(30, 2)))
				require.Len(t, words(t, r, func(int, *Batch) {}), 15)
			},
		} {
			d := newTestDevice(uint64(taken))
			p, err := New(Options{BatchSize: 2, Device: d, HostPrefetchDepth: 2, DevicePrefetchDepth: 1}, func(g *Graph) { twoParts(g, 30) })
			require.NoError(t, err)
			r, err := p.NewRunner(feedtest.Once(30, 2))
			require.NoError(t, err)
			take(t, r, taken)
			end(r)
			require.NoError(t, r.Close())
			d.end(t)
		}
	}
}

// An operator that fails ends the run with its error behind the batches before,
// though others wait for memory.
func TestDepthsWhenAnOperatorFails(t *testing.T) {
	broken := errors.New("broken")
	for at := range 5 {
		calls := 0
		host := streams.NewHost()
		p, err := New(Options{BatchSize: 2, Device: host, HostPrefetchDepth: 1, DevicePrefetchDepth: 1}, func(g *Graph) {
			g.Output("y", g.AddBatch(BatchOp{
				Name: "breaks", Inputs: []Value{square(g, g.Read(ReaderOptions{}, numbers{n: 100})[0], nil)},
				Outputs: []datum.Spec{{DType: datum.Uint8}}, Backend: executor.Device,
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error {
						if calls++; calls == at+1 {
							return broken
						}
						return nil
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, 100)
		take(t, r, at)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = r.Next(ctx)
		cancel()
		require.ErrorIs(t, err, broken)
		require.NoError(t, r.Reset(feedtest.Once(100, 2)))
		take(t, r, 20)
		require.NoError(t, r.Close())
		require.NoError(t, host.Close())
	}
}

func TestDepthsThatCannotBe(t *testing.T) {
	device := func(g *Graph) { twoParts(g, 8) }
	host := func(g *Graph) { g.Output("x", g.Read(ReaderOptions{}, numbers{n: 8})[0]) }
	for _, c := range []struct {
		o      Options
		define func(*Graph)
		want   string
	}{
		{Options{HostPrefetchDepth: 1, DevicePrefetchDepth: 1}, host, "pipelines with mixed or device operators, which this one has not: use PrefetchDepth"},
		{Options{HostPrefetchDepth: 1}, device, "HostPrefetchDepth is 1 and DevicePrefetchDepth 0; give both"},
		{Options{HostPrefetchDepth: 1, DevicePrefetchDepth: -1}, device, "DevicePrefetchDepth -1; give both"},
		{Options{HostPrefetchDepth: 1, DevicePrefetchDepth: 2, PrefetchDepth: 3}, device, "PrefetchDepth is 3 beside HostPrefetchDepth 1 and DevicePrefetchDepth 2"},
		{Options{HostPrefetchDepth: 1, DevicePrefetchDepth: 2, Autotune: &Autotune{}}, device, "leave Autotune and Concurrency out"},
		{Options{HostPrefetchDepth: 1, DevicePrefetchDepth: 2, Concurrency: executor.ConcurrencyNone}, device, "leave Autotune and Concurrency out"},
	} {
		c.o.BatchSize = 2
		_, err := New(c.o, c.define)
		var build *BuildError
		require.ErrorAs(t, err, &build)
		require.ErrorContains(t, err, c.want)
	}
	p, err := New(Options{BatchSize: 2, HostPrefetchDepth: 3, DevicePrefetchDepth: 1}, device)
	require.NoError(t, err)
	require.Contains(t, p.String(), "prefetch 3 on the host and 1 on the device")
	require.Equal(t, 5, p.Options().PrefetchDepth)
	_, err = New(p.Options(), device) // options that were filled in are options
	require.NoError(t, err)
}

// A batch that is given back while another goroutine resets the run ends its part in
// the old run before the new one begins.
func TestAReleaseBesideAReset(t *testing.T) {
	for _, o := range []Options{{}, {MemoryBudget: 1 << 20}, {HostPrefetchDepth: 1, DevicePrefetchDepth: 2}} {
		d := newTestDevice(1)
		o.BatchSize, o.Device = 2, d
		p, err := New(o, func(g *Graph) { twoParts(g, 30) })
		require.NoError(t, err)
		r := runner(t, p, 30)
		for range 20 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			released := make(chan struct{})
			go func() {
				defer close(released)
				b.Release()
			}()
			for err = ErrBusy; errors.Is(err, ErrBusy); runtime.Gosched() {
				err = r.Reset(feedtest.Once(30, 2))
			}
			require.NoError(t, err)
			require.Len(t, words(t, r, func(int, *Batch) {}), 15)
			<-released
			require.NoError(t, r.Reset(feedtest.Once(30, 2)))
		}
		require.NoError(t, r.Close())
		d.end(t)
	}
}
