package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// grown makes uint8 results of sizes that differ from sample to sample.
func grown(g *Graph, name string, v Value, size func(i int64) int) Value {
	return g.Add(Op{
		Name: name, Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(s *datum.Sample, _, out []*datum.Tensor) error {
				_, err := out[0].Resize(size(s.Index()))
				return err
			}), nil
		},
	})[0]
}

func memoryPipeline(t *testing.T, o Options) *Pipeline {
	t.Helper()
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 64})[0]
		scratch := grown(g, "scratch", v, func(i int64) int { return 100 + 10*int(i%64) })
		g.Output("ragged", grown(g, "ragged", scratch, func(i int64) int { return 1000 - int(i) }))
		g.Output("number", v)
	})
	require.NoError(t, err)
	return p
}

func take(t *testing.T, r *Runner, n int) {
	t.Helper()
	for range n {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
	}
}

// Buffers that were presized by the hint which the statistics print are not
// allocated again.
func TestTheHintPresizesEveryBuffer(t *testing.T) {
	o := Options{BatchSize: 8, Workers: 2, EnableMemoryStats: true, BufferRules: &memstats.Rules{HostShrinkThreshold: 1, HostGrowthFactor: 1, DeviceGrowthFactor: 1}}
	p := memoryPipeline(t, o)
	require.Nil(t, p.OperatorMemory())
	take(t, runner(t, p, 64), 8)
	s := p.OperatorMemory()
	require.Equal(t, []string{"reader", "scratch", "ragged"}, []string{s[0].Name, s[1].Name, s[2].Name})
	require.Equal(t, []int64{4}, s[0].MaxReal)
	require.Equal(t, []int64{3 * 8 * 4}, s[0].Reserved, "the dense output of three batches")
	require.Equal(t, []int64{730}, s[1].MaxReal)
	require.Equal(t, []int64{1000}, s[2].MaxReal)
	require.GreaterOrEqual(t, s[1].Reserved[0], s[1].Real[0])
	require.LessOrEqual(t, s[1].Reserved[0], int64(2*730))
	require.GreaterOrEqual(t, s[2].MaxReserved[0], int64(1000))
	require.Equal(t, `BytesPerSampleHint: map[string][]int{"scratch": {730}, "ragged": {1000}},`, s.Hint())
	require.Contains(t, s.String(), "max real")

	for _, hinted := range []Options{
		{BytesPerSampleHint: map[string][]int{"scratch": {730}, "ragged": {1000}}},
		{BytesPerSample: 1000},
	} {
		o.BytesPerSample, o.BytesPerSampleHint = hinted.BytesPerSample, hinted.BytesPerSampleHint
		p = memoryPipeline(t, o)
		r := runner(t, p, 1<<40)
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		before := p.Memory()
		b.Release()
		take(t, r, 100)
		require.Equal(t, before, p.Memory())
	}
}

// Without a hint, ragged rows that were large once shrink again; the rules can be
// changed while the pipeline runs.
func TestRaggedRowsShrink(t *testing.T) {
	size := 10_000
	p, err := New(Options{BatchSize: 4, Workers: 1, PrefetchDepth: 1}, func(g *Graph) {
		g.Output("ragged", grown(g, "ragged", g.Read(ReaderOptions{}, numbers{n: 1 << 30})[0], func(i int64) int {
			if i < 40 {
				return size
			}
			return 100
		}))
	})
	require.NoError(t, err)
	require.Equal(t, memstats.DefaultRules(), p.BufferRules())
	require.NoError(t, p.SetBufferRules(memstats.Rules{HostShrinkThreshold: 0, HostGrowthFactor: 1, DeviceGrowthFactor: 1}))
	r := runner(t, p, 1<<40)
	take(t, r, 200)
	require.GreaterOrEqual(t, p.Memory().Live, int64(8*size))
	require.NoError(t, p.SetBufferRules(memstats.DefaultRules()))
	take(t, r, 6*run.ShrinkEvery)
	require.Less(t, p.Memory().Live, int64(2*size), "one is the worker's scratch")
}

func TestRulesComeFromTheEnvironment(t *testing.T) {
	t.Setenv("DALI_BUFFER_GROWTH_FACTOR", "1.5")
	p := memoryPipeline(t, Options{BatchSize: 4})
	require.Equal(t, 1.5, p.BufferRules().HostGrowthFactor)
	t.Setenv("PLANKTON_HOST_BUFFER_SHRINK_THRESHOLD", "2")
	_, err := New(Options{BatchSize: 4}, func(g *Graph) { g.Output("n", g.Read(ReaderOptions{}, numbers{n: 1})[0]) })
	require.ErrorContains(t, err, "PLANKTON_HOST_BUFFER_SHRINK_THRESHOLD")
}

// Whatever way a run ends, every block goes back to the allocator.
func TestNothingLeaks(t *testing.T) {
	for _, budget := range []int64{0, 100_000} {
		checked := memstats.NewChecked(memstats.Heap{})
		o := Options{BatchSize: 4, Workers: 3, Allocator: checked, MemoryBudget: budget, BytesPerSample: 64}
		for _, end := range []func(*Runner){
			func(*Runner) {},
			func(r *Runner) { take(t, r, 3) },
			func(r *Runner) {
				take(t, r, 3)
				r.Stop()
				require.NoError(t, r.Reset(feedtest.Once(64, 4)))
				take(t, r, 1)
			},
			func(r *Runner) {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				b.Retain()
			},
		} {
			r, err := memoryPipeline(t, o).NewRunner(feedtest.Once(64, 4))
			require.NoError(t, err)
			end(r)
			require.NoError(t, r.Close())
			require.NoError(t, checked.Check())
		}
	}
}

// short is an allocator that is soon at its end.
type short struct {
	memstats.Heap
	left *atomic.Int64
}

func (s short) Alloc(n int) ([]byte, error) {
	if s.left.Add(-1) < 0 {
		return nil, errors.New("out of memory")
	}
	return s.Heap.Alloc(n)
}

// An allocation that fails is an error of the sample, or of the start.
func TestAnAllocatorThatFails(t *testing.T) {
	for n := range int64(12) {
		left := new(atomic.Int64)
		left.Store(n)
		checked := memstats.NewChecked(short{left: left})
		p := memoryPipeline(t, Options{BatchSize: 4, Workers: 2, Allocator: checked})
		r, err := p.NewRunner(feedtest.Once(64, 4))
		require.NoError(t, err)
		for err == nil {
			var b *Batch
			if b, err = r.Next(t.Context()); err == nil {
				b.Release()
			}
		}
		require.ErrorContains(t, err, "out of memory")
		require.NoError(t, r.Close())
		require.NoError(t, checked.Check())
	}
}

func TestABatchAfterItsRelease(t *testing.T) {
	p := squares(t, Options{BatchSize: 4, PrefetchDepth: 1}, numbers{n: 4}, nil)
	r := runner(t, p, 4)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	x := b.Float32s("square")
	b.Release()
	for _, use := range []func(){
		func() { b.Float32s("square") }, func() { b.Bytes("square") }, func() { b.Sample("square", 0) },
		func() { b.Shape("square") }, func() { b.DType("square") }, func() { b.Dense("square") }, b.Release,
	} {
		func() {
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok)
				require.ErrorIs(t, err, ErrReleased)
			}()
			use()
		}()
	}
	if memstats.Invariants {
		require.True(t, math.IsNaN(float64(x[0])), "a slice that was kept shows no numbers any more")
	}
}

// An output whose samples have no element is an empty array, not a ragged output.
func TestAnOutputWithoutElements(t *testing.T) {
	p, err := New(Options{BatchSize: 2, MemoryBudget: 1000}, func(g *Graph) {
		g.Output("nothing", g.Add(Op{
			Name: "nothing", Inputs: g.Read(ReaderOptions{}, numbers{n: 3}), Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{0, 3}}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, _, out []*datum.Tensor) error {
					_, err := out[0].Resize(0, 3)
					return err
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 3)
	for range 2 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.True(t, b.Dense("nothing"))
		require.Empty(t, b.Bytes("nothing"))
		require.Equal(t, []int{2, 0, 3}, b.Shape("nothing"))
		b.Release()
	}
}

func ExamplePipeline_OperatorMemory() {
	p, err := New(Options{BatchSize: 4, Workers: 1, EnableMemoryStats: true}, func(g *Graph) {
		v := g.Read(ReaderOptions{Name: "train"}, numbers{n: 8})[0]
		g.Output("run", grown(g, "stretch", v, func(i int64) int { return 10 * int(i+1) }))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.NewRunner(feedtest.Once(8, 4)) // programs use an iterator
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for range 2 {
		if _, err := r.Next(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(p.OperatorMemory().Hint())
	// Output: BytesPerSampleHint: map[string][]int{"train": {4}, "stretch": {80}},
}
