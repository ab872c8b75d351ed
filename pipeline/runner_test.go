package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbers is a source whose sample i is the int32 scalar i.
type numbers struct {
	n    int64
	read func(ctx context.Context, i int64) error // may be nil
}

func (s numbers) Len() int64              { return s.n }
func (s numbers) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int32}} }
func (s numbers) Meta() datum.Meta        { return datum.Meta{} }
func (s numbers) Describe(i int64) string { return fmt.Sprintf("number %d", i) }
func (s numbers) Read(ctx context.Context, i int64, out []*datum.Tensor) error {
	if s.read != nil {
		if err := s.read(ctx, i); err != nil {
			return err
		}
	}
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	out[0].Int32s()[0] = int32(i)
	return nil
}

// square is an operator that squares an int32 scalar into a float32 pair.
func square(g *Graph, v Value, run func(i int32) error) Value {
	return g.Add(Op{
		Name: "square", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{2}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				i := in[0].Int32s()[0]
				if run != nil {
					if err := run(i); err != nil {
						return err
					}
				}
				if _, err := out[0].Resize(2); err != nil {
					return err
				}
				out[0].Float32s()[0], out[0].Float32s()[1] = float32(i*i), float32(i)
				return nil
			}), nil
		},
	})[0]
}

func squares(t testing.TB, o Options, src numbers, run func(i int32) error) *Pipeline {
	t.Helper()
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{}, src)[0]
		g.Output("square", square(g, v, run))
		g.Output("number", v)
	})
	require.NoError(t, err)
	return p
}

func runner(t testing.TB, p *Pipeline, n int64) *Runner {
	t.Helper()
	unchanging(t, p)
	r, err := p.NewRunner(feedtest.Once(n, int64(p.Options().BatchSize)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// collect takes every batch of a run and returns a copy of the numbers of the
// valid rows and the ids of all rows.
func collect(t testing.TB, r *Runner) (squares [][]float32, ids [][]int64) {
	t.Helper()
	for {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		if b == nil {
			return squares, ids
		}
		var row []float32
		for i, ok := range b.Mask() {
			if ok {
				row = append(row, b.Float32s("square")[2*i])
			}
		}
		squares, ids = append(squares, row), append(ids, slices.Clone(b.IDs()))
		b.Release()
	}
}

func TestBatchesComeInOrderWhateverTheWorkers(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		for _, depth := range []int{1, 2, 5} {
			p := squares(t, Options{BatchSize: 4, Workers: workers, PrefetchDepth: depth}, numbers{n: 10}, nil)
			sq, ids := collect(t, runner(t, p, 10))
			require.Equal(t, [][]float32{{0, 1, 4, 9}, {16, 25, 36, 49}, {64, 81}}, sq)
			require.Equal(t, []int64{8, 9, -1, -1}, ids[2])
		}
	}
}

func TestRowsThatAreNotValidAreZeroEvenAfterTheConsumerWrote(t *testing.T) {
	p := squares(t, Options{BatchSize: 4, PrefetchDepth: 1}, numbers{n: 10}, nil)
	r := runner(t, p, 10)
	for range 3 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		if b.NumValid() == 2 {
			require.Equal(t, []float32{64, 8, 81, 9, 0, 0, 0, 0}, b.Float32s("square"))
			require.Equal(t, []int32{8, 9, 0, 0}, b.Int32s("number"))
			require.Equal(t, []bool{true, true, false, false}, b.Mask())
		}
		for i := range b.Float32s("square") {
			b.Float32s("square")[i] = 77
		}
		b.Release()
	}
}

func TestTheKernelWritesIntoTheBatch(t *testing.T) {
	var wrote [8]atomic.Uintptr
	p, err := New(Options{BatchSize: 4, Workers: 2}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 8})[0]
		g.Output("x", g.Add(Op{
			Name: "address", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Float64, Shape: []int{3}}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error {
					mem, err := out[0].Resize(3)
					wrote[c.Index()].Store(uintptr(unsafe.Pointer(&mem[0])))
					return err
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 8)
	for range 2 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		for row, id := range b.IDs() {
			require.Equal(t, wrote[id].Load(), uintptr(unsafe.Pointer(&b.Float64s("x")[3*row])))
		}
		b.Release()
	}
}

func TestWarmBatchesAllocateNothing(t *testing.T) {
	if memstats.Invariants {
		t.Skip("builds with the tag invariants allocate for what they check")
	}
	p := squares(t, Options{BatchSize: 32, Workers: 2}, numbers{n: 1 << 30}, nil)
	r := runner(t, p, 1<<30)
	step := func() {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	for range 10 {
		step()
	}
	alloctest.None(t, 200, step)
}

func TestErrorPolicies(t *testing.T) {
	broken := errors.New("broken")
	src := numbers{n: 8, read: func(_ context.Context, i int64) error {
		if i == 0 || i == 5 || i == 6 {
			return broken
		}
		return nil
	}}
	var hooked []int64
	for _, workers := range []int{1, 3} {
		o := Options{BatchSize: 4, Workers: workers}
		r := runner(t, squares(t, o, src, nil), 8)
		_, err := r.Next(t.Context())
		var bad *SampleError
		require.ErrorAs(t, err, &bad)
		require.ErrorIs(t, err, broken)
		require.Equal(t, SampleError{Source: "number 0", Index: 0, Op: "reader", Ended: true, Err: broken}, *bad)

		hooked = nil
		o.OnError, o.OnSampleError = Skip, func(e *SampleError) { hooked = append(hooked, e.Index) }
		r = runner(t, squares(t, o, src, nil), 8)
		sq, ids := collect(t, r)
		require.Equal(t, [][]float32{{1, 4, 9}, {16, 49}}, sq)
		require.Equal(t, [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}, ids)
		require.Equal(t, []int64{0, 5, 6}, hooked)
		require.EqualValues(t, 3, r.Bad())

		o.OnError = Replace
		sq, ids = collect(t, runner(t, squares(t, o, src, nil), 8))
		require.Equal(t, [][]float32{{1, 1, 4, 9}, {16, 16, 16, 49}}, sq)
		require.Equal(t, [][]int64{{1, 1, 2, 3}, {4, 4, 4, 7}}, ids)
	}
}

func TestABatchWithoutAGoodSample(t *testing.T) {
	src := numbers{n: 4, read: func(context.Context, int64) error { return errors.New("broken") }}
	for _, policy := range []ErrorPolicy{Skip, Replace} {
		r := runner(t, squares(t, Options{BatchSize: 4, OnError: policy}, src, nil), 4)
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.Zero(t, b.NumValid())
		require.Equal(t, make([]float32, 8), b.Float32s("square"))
		b.Release()
	}
}

func TestTooManyBadSamples(t *testing.T) {
	src := numbers{n: 100, read: func(_ context.Context, i int64) error {
		if i%4 == 0 {
			return errors.New("broken")
		}
		return nil
	}}
	for _, o := range []Options{
		{BatchSize: 10, OnError: Skip, MaxBad: 7},
		{BatchSize: 10, OnError: Replace, MaxBadShare: 0.2},
	} {
		r := runner(t, squares(t, o, src, nil), 100)
		var err error
		for err == nil {
			var b *Batch
			if b, err = r.Next(t.Context()); err == nil {
				require.NotNil(t, b, "the cap was not applied")
				b.Release()
			}
		}
		require.ErrorIs(t, err, ErrTooManyBad)
	}
}

// A batch that a panicking hook has kept from its consumer is made again, and its
// samples count once.
func TestSamplesOfABatchThatIsMadeAgainCountOnce(t *testing.T) {
	src := numbers{n: 4, read: func(_ context.Context, i int64) error {
		if i%2 == 0 {
			return errors.New("broken")
		}
		return nil
	}}
	panics := true
	o := Options{BatchSize: 4, OnError: Skip, MaxBad: 2, OnSampleError: func(e *SampleError) {
		if panics && e.Index == 2 {
			panic("the hook")
		}
	}}
	r := runner(t, squares(t, o, src, nil), 4)
	for range 2 {
		require.PanicsWithValue(t, "the hook", func() { r.Next(t.Context()) })
		require.Zero(t, r.Bad())
		require.NoError(t, r.Reset(feedtest.Once(4, 4)))
	}
	panics = false
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Bad())
	b.Release()

	require.NoError(t, r.Reset(feedtest.Once(4, 4)))
	_, err = r.Next(t.Context())
	require.ErrorIs(t, err, ErrTooManyBad)
	require.EqualValues(t, 2, r.Bad())
	r.CountAnew()
	require.Zero(t, r.Bad())
}

func TestRowsThatABatchDoesNotHave(t *testing.T) {
	none := func(int) int64 { return 0 }
	for _, ragged := range []bool{false, true} {
		p := blobs(t, Options{BatchSize: 3}, 3, ragged, func(int32) int32 { return 8 }, none)
		b, err := runner(t, p, 3).Next(t.Context())
		require.NoError(t, err)
		require.NotPanics(t, func() { b.Sample("blob", 2) })
		for _, i := range []int{-1, 3} {
			require.PanicsWithValue(t, fmt.Sprintf(`pipeline: there is no row %d of output "blob"; the batch has 3 rows, counted from 0`, i), func() { b.Sample("blob", i) })
		}
		b.Release()
	}
}

func TestAKernelThatPanicsOrEndsItsGoroutine(t *testing.T) {
	p := squares(t, Options{BatchSize: 4, Workers: 2}, numbers{n: 8}, func(i int32) error {
		if i == 5 {
			panic("no fives")
		}
		return nil
	})
	r := runner(t, p, 8)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	b.Release()
	_, err = r.Next(t.Context())
	var pe *PanicError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "no fives", pe.Value)
	require.Contains(t, string(pe.Stack), "runner_test.go")
	require.ErrorContains(t, err, "number 5: square: panic: no fives")

	p = squares(t, Options{BatchSize: 4, Workers: 1, OnError: Skip}, numbers{n: 8}, func(i int32) error {
		if i == 5 {
			runtime.Goexit()
		}
		return nil
	})
	sq, _ := collect(t, runner(t, p, 8))
	require.Equal(t, [][]float32{{0, 1, 4, 9}, {16, 36, 49}}, sq)
}

func TestRaggedAndRepeatedOutputs(t *testing.T) {
	p, err := New(Options{BatchSize: 3, Workers: 2, OnError: Replace}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 6})[0]
		run := g.Add(Op{
			Name: "run", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					n := int(in[0].Int32s()[0])
					if n == 4 {
						return errors.New("no fours")
					}
					mem, err := out[0].Resize(n)
					for i := range mem {
						mem[i] = byte(n)
					}
					return err
				}), nil
			},
		})[0]
		g.Output("run", run)
		g.Output("again", run)
		g.Output("n", v)
		g.Output("m", v)
	})
	require.NoError(t, err)
	r := runner(t, p, 6)
	for k := range 2 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.False(t, b.Dense("run"))
		require.Equal(t, []int{3, -1}, b.Shape("run"))
		for i := range 3 {
			want := k*3 + i
			if want == 4 {
				want = 3
			}
			for _, name := range []string{"run", "again"} {
				require.Equal(t, []int{want}, b.Sample(name, i).Shape())
				require.Equal(t, slices.Repeat([]byte{byte(want)}, want), append([]byte{}, b.Sample(name, i).Bytes()...))
			}
		}
		require.Equal(t, b.Int32s("n"), b.Int32s("m"))
		require.PanicsWithValue(t, `pipeline: output "run" is ragged (uint8 ?): use Sample`, func() { b.Bytes("run") })
		require.PanicsWithValue(t, `pipeline: there is no output "img"; the pipeline has ["run" "again" "n" "m"]`, func() { b.Bytes("img") })
		require.PanicsWithValue(t, `pipeline: output "n" is int32, not float32`, func() { b.Float32s("n") })
		b.Release()
	}
}

// count yields 0 … n-1, after which it sets ended.
type count struct {
	n     int32
	err   error
	ended *int
}

func (s count) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int32}} }
func (s count) Meta() datum.Meta        { return datum.Meta{} }
func (s count) Describe(i int64) string { return fmt.Sprintf("count[%d]", i) }
func (s count) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		defer func() { *s.ended++ }()
		for i := range s.n {
			if !yield(func(out []*datum.Tensor) error {
				_, err := out[0].Resize()
				out[0].Int32s()[0] = i
				return err
			}, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

func TestASequenceIsReadInOrderAndEnds(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, n := range []int32{0, 1, 4, 10} {
			ended := 0
			p, err := New(Options{BatchSize: 4, Workers: workers}, func(g *Graph) {
				g.Output("square", square(g, g.ReadSequence(ReaderOptions{}, count{n: n, ended: &ended})[0], nil))
			})
			require.NoError(t, err)
			r, err := p.NewRunner(feedtest.Once(1<<40, 4))
			require.NoError(t, err)
			for range 2 {
				sq, _ := collect(t, r)
				var want [][]float32
				for i := range n {
					if i%4 == 0 {
						want = append(want, nil)
					}
					want[i/4] = append(want[i/4], float32(i*i))
				}
				require.Equal(t, want, sq)
				require.NoError(t, r.Reset(feedtest.Once(1<<40, 4)))
			}
			require.NoError(t, r.Close())
			require.Equal(t, 2, ended)
		}
	}
}

func TestASequencesError(t *testing.T) {
	ended, broken := 0, errors.New("connection lost")
	p, err := New(Options{BatchSize: 4, Workers: 2}, func(g *Graph) {
		g.Output("n", g.ReadSequence(ReaderOptions{}, count{n: 6, err: broken, ended: &ended})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 1<<40)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	b.Release()
	_, err = r.Next(t.Context())
	require.ErrorIs(t, err, broken)
}

func TestCancelReachesReadersAndResetGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := numbers{n: 8, read: func(ctx context.Context, i int64) error {
			select {
			case <-time.After(time.Hour):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}
		p := squares(t, Options{BatchSize: 4, Workers: 2}, src, nil)
		r, err := p.NewRunner(feedtest.Once(8, 4))
		require.NoError(t, err)
		defer r.Close()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		_, err = r.Next(ctx)
		require.ErrorIs(t, err, why)
		began := time.Now()
		r.Stop()
		require.Zero(t, time.Since(began), "a reader that honours its context ends at once")
		require.NoError(t, r.Reset(feedtest.Once(8, 4)))
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, b.NumValid())
		b.Release()
	})
}

func TestHoldingBatches(t *testing.T) {
	p := squares(t, Options{BatchSize: 1, PrefetchDepth: 1}, numbers{n: 9}, nil)
	r := runner(t, p, 9)
	a, err := r.Next(t.Context())
	require.NoError(t, err)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	_, err = r.Next(t.Context())
	require.ErrorContains(t, err, "all 2 batches are held")
	require.ErrorIs(t, r.Reset(feedtest.Once(9, 1)), ErrBusy)
	b.Release()
	c, err := r.Next(t.Context())
	require.NoError(t, err, "batches may be released in any order")
	require.Equal(t, []int64{2}, c.IDs())
	require.Equal(t, []int64{0}, a.IDs())
	a.Release()
	c.Release()
	require.Panics(t, c.Release)
}

func TestAPipelineHasOneOwner(t *testing.T) {
	p := squares(t, Options{BatchSize: 1}, numbers{n: 1}, nil)
	r, err := p.NewRunner(feedtest.Once(1, 1))
	require.NoError(t, err)
	_, err = p.NewRunner(feedtest.Once(1, 1))
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, err = r.Next(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.Zero(t, p.Memory().Live)
	r, err = p.NewRunner(feedtest.Once(1, 1))
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// BenchmarkBatch measures what a batch costs beside its samples' work.
func BenchmarkBatch(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprint("size-", size), func(b *testing.B) {
			p := squares(b, Options{BatchSize: size, Workers: 2}, numbers{n: 1 << 50}, nil)
			r := runner(b, p, 1<<50)
			b.ReportAllocs()
			for b.Loop() {
				batch, err := r.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				batch.Release()
			}
		})
	}
}

// A run makes what was scheduled and no more, and asking for more is an error, not a wait.
func TestARunGoesAsFarAsScheduled(t *testing.T) {
	var read atomic.Int64
	p := squares(t, Options{BatchSize: 4, PrefetchDepth: 3}, numbers{n: 1 << 40, read: func(context.Context, int64) error { read.Add(1); return nil }}, nil)
	r := runner(t, p, 1<<40)
	for n := int64(1); n <= 5; n += 2 {
		require.NoError(t, r.Schedule(t.Context(), n))
		take(t, r, min(2, int(n)))
		_, err := r.Next(t.Context())
		require.ErrorContains(t, err, fmt.Sprintf("all %d scheduled batches were delivered", n))
		require.EqualValues(t, 4*n, read.Load())
	}
	require.NoError(t, r.Reset(feedtest.Once(40, 4)))
	got, _ := collect(t, r)
	require.Len(t, got, 10, "a reset ends the limit")
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Schedule(t.Context(), 1), ErrClosed)
}
