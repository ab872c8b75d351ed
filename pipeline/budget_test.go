package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
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
)

// hoarder is a kernel that holds memory of its own while it makes a blob of as many bytes
// as its input says, each of them the input modulo 251.
type hoarder struct {
	beside func(n int) int64
	held   []byte
}

func (k *hoarder) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	n := int(in[0].Int32s()[0])
	if want := k.beside(n); want > int64(len(k.held)) {
		if err := s.Reserve(want); err != nil {
			return err
		}
		k.held = make([]byte, want)
	}
	mem, err := out[0].Resize(n)
	if err != nil {
		return err
	}
	for i := range mem {
		mem[i] = byte(n % 251)
	}
	return nil
}

func (k *hoarder) Release() { k.held = nil }

// blobs is a pipeline of numbers that become blobs of size(i) bytes, an output
// if ragged, and their lengths and first bytes, always outputs.
func blobs(t require.TestingT, o Options, n int64, ragged bool, size func(i int32) int32, beside func(n int) int64) *Pipeline {
	p, err := New(o, func(g *Graph) {
		g.Output("blob", blob(g, sized(g, g.Read(ReaderOptions{}, numbers{n: n})[0], size), beside, ragged))
	})
	require.NoError(t, err)
	return p
}

// sized is an operator that makes a size of a number.
func sized(g *Graph, v Value, size func(i int32) int32) Value {
	return g.Add(Op{
		Name: "size", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				_, err := out[0].Resize()
				out[0].Int32s()[0] = size(in[0].Int32s()[0])
				return err
			}), nil
		},
	})[0]
}

// blob returns blobs, or where they are not to be ragged a digest of them.
func blob(g *Graph, v Value, beside func(n int) int64, ragged bool) Value {
	b := g.Add(Op{
		Name: "hoard", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}, Expensive: true,
		New: func() (datum.Kernel, error) { return &hoarder{beside: beside}, nil },
	})[0]
	if ragged {
		return b
	}
	return g.Add(Op{
		Name: "digest", Inputs: []Value{b}, Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{2}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				_, err := out[0].Resize(2)
				sum := int32(0)
				for _, x := range in[0].Bytes() {
					sum += int32(x)
				}
				out[0].Int32s()[0], out[0].Int32s()[1] = int32(in[0].Len()), sum
				return err
			}), nil
		},
	})[0]
}

// whole returns what a chain of operators for whole batches makes of numbers: each of
// them adds 1.
func whole(g *Graph, v Value, backends ...executor.Backend) Value {
	for i, b := range backends {
		v = g.AddBatch(BatchOp{
			Name: fmt.Sprint("whole", i), Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}}, Backend: b,
			New: func() (batchop.Kernel, error) {
				return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
					for row, x := range datum.View[int32](in[0].Data) {
						datum.View[int32](out[0].Data)[row] = x + 1
					}
					return nil
				}), nil
			},
		})[0]
	}
	return v
}

// drain takes all batches of a run and returns what is in their rows, in words;
// hold is called while each is held.
func drain(t require.TestingT, r *Runner, ctx testContext, hold func(*Batch)) (rows []string, err error) {
	for {
		b, err := r.Next(ctx.Context())
		if err != nil || b == nil {
			return rows, err
		}
		hold(b)
		for i, ok := range b.Mask() {
			row := fmt.Sprint(b.IDs()[i], ok)
			if s := b.Sample("blob", i); ok {
				row += fmt.Sprint(s.Shape(), slices.Compact(append([]byte{}, s.Bytes()...)))
			}
			if slices.Contains(b.Names(), "whole") {
				row += fmt.Sprint(b.Int32s("whole")[i])
			}
			rows = append(rows, row)
		}
		b.Release()
	}
}

// Whatever the sizes, workers, depth, operators for whole batches and the limit on their
// concurrency, a pipeline under a budget that is large enough for a batch delivers what
// it delivers without one, never holds more, waits for nothing for ever, and leaks
// nothing. Now and then the consumer is slow, or takes a break.
func TestABudgetChangesNothingButTheMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "samples")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Int32Range(0, 50), rapid.Int32Range(0, 5000)), int(n), int(n)).Draw(t, "sizes")
		size := func(i int32) int32 { return sizes[i] }
		factor := rapid.Int64Range(0, 3).Draw(t, "beside")
		beside := func(n int) int64 { return factor * int64(n) }
		ragged := rapid.Bool().Draw(t, "ragged")
		o := Options{
			BatchSize: rapid.IntRange(1, 6).Draw(t, "batch"), Workers: rapid.IntRange(1, 5).Draw(t, "workers"),
			PrefetchDepth: rapid.IntRange(1, 3).Draw(t, "depth"), BufferRules: &memstats.Rules{HostShrinkThreshold: 1, HostGrowthFactor: 1, DeviceGrowthFactor: 1},
		}
		if rapid.Bool().Draw(t, "tuned") {
			o.Autotune = &Autotune{MaxWorkers: 6, MaxPrefetch: 4, Interval: time.Microsecond}
		}
		o.Concurrency = rapid.SampledFrom([]executor.Concurrency{executor.ConcurrencyFull, executor.ConcurrencyBackend, executor.ConcurrencyNone}).Draw(t, "concurrency")
		backends := rapid.SliceOfN(rapid.SampledFrom([]executor.Backend{executor.Host, executor.Mixed, executor.Device}), 0, 3).Draw(t, "whole")
		feed := feedtest.Once(n, int64(o.BatchSize))
		build := func(o Options) *Pipeline {
			p, err := New(o, func(g *Graph) {
				v := sized(g, g.Read(ReaderOptions{}, numbers{n: n})[0], size)
				g.Output("blob", blob(g, v, beside, ragged))
				if len(backends) > 0 {
					g.Output("whole", whole(g, v, backends...))
				}
			})
			require.NoError(t, err)
			return p
		}

		run := func(o Options, hold func(*Batch)) []string {
			p := build(o)
			r, err := p.NewRunner(feed)
			require.NoError(t, err)
			defer func() {
				require.NoError(t, r.Close())
				require.Zero(t, p.Memory().Live)
			}()
			rows, err := drain(t, r, patience(t, time.Minute), func(b *Batch) {
				hold(b)
				if len(b.IDs()) > 0 && b.Step()%4 == 3 {
					r.Park(t.Context())
				}
			})
			require.NoError(t, err)
			if o.MemoryBudget > 0 {
				require.LessOrEqual(t, p.Memory().Peak, o.MemoryBudget)
			}
			return rows
		}
		want := run(o, func(*Batch) {})

		largest, batch, most := int64(0), int64(0), int64(0)
		for i, s := range sizes {
			if i%o.BatchSize == 0 {
				batch = 0
			}
			batch += int64(s)
			most = max(most, batch)
			largest = max(largest, int64(s)*(1+factor)+8) // and the two numbers
		}
		if !ragged {
			most = 0
		}
		dense, _ := build(o).compiled.DenseBytes()
		least := largest + most + dense
		o.MemoryBudget = rapid.Int64Range(least, 2*least).Draw(t, "budget")
		checked := memstats.NewChecked(memstats.Heap{})
		o.Allocator = checked
		slow := rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Millisecond}).Draw(t, "slow")
		require.Equal(t, want, run(o, func(*Batch) { time.Sleep(slow) }))
		require.NoError(t, checked.Check())
	})
}

// The sample region does not wait for memory of a batch that waits for the region, at
// the limits of Options.Concurrency: two batches fit here, three do not.
func TestGatesUnderABudget(t *testing.T) {
	for _, c := range []executor.Concurrency{executor.ConcurrencyFull, executor.ConcurrencyBackend, executor.ConcurrencyNone} {
		for _, backends := range [][]executor.Backend{{executor.Host}, {executor.Mixed}, {executor.Host, executor.Device, executor.Host}} {
			const n = 64
			o := Options{BatchSize: 4, Workers: 2, PrefetchDepth: 2, MemoryBudget: 60_000, Concurrency: c}
			p, err := New(o, func(g *Graph) {
				v := sized(g, g.Read(ReaderOptions{}, numbers{n: n})[0], func(int32) int32 { return 8000 })
				g.Output("blob", blob(g, v, func(int) int64 { return 0 }, true))
				g.Output("whole", whole(g, v, backends...))
			})
			require.NoError(t, err)
			rows, err := drain(t, runner(t, p, n), patience(t, time.Minute), func(*Batch) {})
			require.NoError(t, err, "concurrency %d, operators on %v", c, backends)
			require.Len(t, rows, n)
		}
	}
}

// A sample that does not fit alone fails by itself, the same one whatever the
// workers; others are not touched.
func TestASampleThatCanNeverFit(t *testing.T) {
	size := func(i int32) int32 {
		if i == 7 {
			return 10_000
		}
		return 100
	}
	none := func(int) int64 { return 0 }
	for _, ragged := range []bool{false, true} {
		for _, workers := range []int{1, 4} {
			o := Options{BatchSize: 4, Workers: workers, MemoryBudget: 8000}
			r := runner(t, blobs(t, o, 16, ragged, size, none), 16)
			_, err := drain(t, r, t, func(*Batch) {})
			var bad *SampleError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "number 7", bad.Source)
			require.Equal(t, "hoard", bad.Op)
			var over *memstats.BudgetError
			require.ErrorAs(t, err, &over)
			require.EqualValues(t, 10_000, over.Need)
			require.EqualValues(t, 8000, over.Limit)
			require.Less(t, over.Used, int64(500))

			o.OnError = Skip
			rows, err := drain(t, runner(t, blobs(t, o, 16, ragged, size, none), 16), t, func(*Batch) {})
			require.NoError(t, err)
			for i, row := range rows {
				require.Equal(t, i != 7, row != "7 false", row)
			}
		}
	}
}

// A batch that cannot fit ends the run, and tells whether the consumer holds
// another one.
func TestABatchThatCannotFit(t *testing.T) {
	size := func(int32) int32 { return 1000 }
	none := func(int) int64 { return 0 }
	o := Options{BatchSize: 8, Workers: 3, MemoryBudget: 6000, OnError: Skip}
	r := runner(t, blobs(t, o, 32, true, size, none), 32)
	_, err := r.Next(t.Context())
	var over *BatchBudgetError
	require.ErrorAs(t, err, &over)
	require.Zero(t, over.Held)
	require.EqualError(t, err, fmt.Sprintf("pipeline: a batch does not fit: after %d of its 8 rows, %d bytes do not fit into the memory budget of 6000 with %d in use; raise it to about %d (an estimate from the rows so far), or use smaller batches or pictures",
		over.Made, over.Err.Need, over.Err.Used, over.Estimate))
	require.Greater(t, over.Made, 0)
	var cause *memstats.BudgetError
	require.ErrorAs(t, err, &cause)

	o.MemoryBudget = 12_000
	r = runner(t, blobs(t, o, 32, true, size, none), 32)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	_, err = r.Next(t.Context())
	require.ErrorAs(t, err, &over)
	require.Equal(t, 1, over.Held)
	require.ErrorContains(t, err, "release them first")
	b.Release()

	o.BatchSize, o.MemoryBudget = 64, 6000 // the estimate is of all rows, not of those that there were
	_, err = runner(t, blobs(t, o, 64, true, size, none), 64).Next(t.Context())
	require.ErrorAs(t, err, &over)
	require.Less(t, over.Made, 7)
	require.Greater(t, over.Estimate, int64(64_000))
	require.Less(t, over.Estimate, int64(96_000))
}

// Who follows the advice of a batch that does not fit is through after a few runs,
// though samples differ as those of ImageNet do and later batches are larger.
func TestTheAdviceForABatchThatDoesNotFit(t *testing.T) {
	const n = 40 * 32
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int32, n)
	for i := range sizes {
		sizes[i] = int32(500 * math.Exp(rng.NormFloat64()))
	}
	o := Options{BatchSize: 32, Workers: 2, MemoryBudget: 15_000}
	for range 8 {
		p := blobs(t, o, n, true, func(i int32) int32 { return sizes[i] }, func(n int) int64 { return int64(n) })
		_, err := drain(t, runner(t, p, n), t, func(*Batch) {})
		if err == nil {
			return
		}
		var over *BatchBudgetError
		require.ErrorAs(t, err, &over)
		require.Greater(t, over.Estimate, o.MemoryBudget*5/4)
		o.MemoryBudget = over.Estimate
	}
	t.Fatalf("a budget of %d bytes still is too small", o.MemoryBudget)
}

// What a batch has left can be freed while the next one in its place is being begun.
func TestMemoryOfABatchThatIsBegun(t *testing.T) {
	begun, made := make(chan struct{}), make(chan struct{})
	o := Options{BatchSize: 2, Workers: 1, PrefetchDepth: 1, MemoryBudget: 3500}
	o.Events.BatchBegun = func(e stats.BatchEvent) {
		if e.Step == 2 { // in the place of batch 0
			close(begun)
			<-made
		}
	}
	o.Events.BatchMade = func(e stats.BatchEvent) {
		if e.Step == 1 {
			close(made)
		}
	}
	size := func(i int32) int32 {
		if i == 3 { // the sample that needs what batch 0 has left
			<-begun
		}
		return 1000
	}
	r := runner(t, blobs(t, o, 6, true, size, func(int) int64 { return 0 }), 6)
	rows, err := drain(t, r, t, func(*Batch) {})
	require.NoError(t, err)
	require.Len(t, rows, 6)
}

// What a sequence has delivered is not asked for again.
func TestASequenceUnderABudget(t *testing.T) {
	const n = 60
	size := func(i int32) int32 { return 50 + i%5*400 }
	for _, ragged := range []bool{false, true} {
		for _, workers := range []int{1, 4} {
			ended := 0
			o := Options{BatchSize: 4, Workers: workers, MemoryBudget: 9_500}
			p, err := New(o, func(g *Graph) {
				v := sized(g, g.ReadSequence(ReaderOptions{}, count{n: n, ended: &ended})[0], size)
				g.Output("blob", blob(g, v, func(n int) int64 { return 2 * int64(n) }, ragged))
			})
			require.NoError(t, err)
			r := runner(t, p, 1<<40)
			seen := 0
			for {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				if b == nil {
					break
				}
				for i := range 4 {
					got := b.Sample("blob", i)
					want := int(size(int32(seen)))
					if ragged {
						require.Equal(t, want, got.Len())
					} else {
						require.EqualValues(t, want, got.Int32s()[0])
					}
					seen++
				}
				if seen%12 == 0 {
					r.Park(t.Context())
				}
				b.Release()
			}
			require.Equal(t, n, seen)
			require.LessOrEqual(t, p.Memory().Peak, o.MemoryBudget)
		}
	}
}

// texts is a sequence of n byte strings of different lengths.
type texts struct{ n int }

func (s texts) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}} }
func (s texts) Meta() datum.Meta        { return datum.Meta{} }
func (s texts) Describe(i int64) string { return fmt.Sprint("text ", i) }
func (s texts) text(i int) []byte       { return bytes.Repeat([]byte{byte(i)}, 1+i%7*300) }
func (s texts) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for i := range s.n {
			if !yield(func(out []*datum.Tensor) error {
				mem, err := out[0].Resize(len(s.text(i)))
				copy(mem, s.text(i))
				return err
			}, nil) {
				return
			}
		}
	}
}

// A sample that waits for memory when it is handed over, and gives up there, still has
// all that the sequence has delivered for it.
func TestASequenceShownTwiceUnderABudget(t *testing.T) {
	seq := texts{300}
	o := Options{BatchSize: 3, Workers: 4, PrefetchDepth: 2, MemoryBudget: 16_000}
	p, err := New(o, func(g *Graph) {
		v := g.ReadSequence(ReaderOptions{}, seq)[0]
		g.Output("a", v)
		g.Output("b", v)
		g.Output("c", v)
	})
	require.NoError(t, err)
	r := runner(t, p, 1<<40)
	for k := 0; ; k++ {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		if b == nil {
			require.Equal(t, 100, k)
			return
		}
		for row := range 3 {
			for _, name := range b.Names() {
				require.True(t, bytes.Equal(seq.text(3*k+row), b.Sample(name, row).Bytes()), "batch %d row %d output %s", k, row, name)
			}
		}
		b.Release()
	}
}

// The memory that a huge sample needed is given back.
func TestScratchOfAHugeSampleIsGivenBack(t *testing.T) {
	size := func(i int32) int32 {
		if i == 3 {
			return 100_000
		}
		return 10
	}
	o := Options{BatchSize: 4, Workers: 1, MemoryBudget: 150_000}
	p := blobs(t, o, 8, false, size, func(n int) int64 { return int64(n) / 4 })
	r := runner(t, p, 8)
	_, err := drain(t, r, t, func(*Batch) {})
	require.NoError(t, err)
	require.Greater(t, p.Memory().Peak, int64(125_000))
	require.Less(t, p.Memory().Live, int64(1000))
}

func TestBudgetsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{MemoryBudget: -1}, "MemoryBudget is -1"},
		{Options{BytesPerSample: -1}, "BytesPerSample -1; they must not be negative"},
		{Options{MemoryBudget: 90}, "square: the dense outputs of all batches in flight count against MemoryBudget: 96 bytes do not fit into the memory budget of 90 with 0 in use; raise it to at least 96"},
		{Options{DeviceMemoryBudget: -1}, "DeviceMemoryBudget -1"},
		{Options{BytesPerSampleHint: map[string][]int{"resize": {1}}}, `BytesPerSampleHint names "resize", but the operators that run are ["reader" "square"]`},
		{Options{BytesPerSampleHint: map[string][]int{"square": {1, 2}}}, `BytesPerSampleHint has 2 sizes for "square", which has 1 outputs`},
		{Options{BytesPerSampleHint: map[string][]int{"square": {-1}}}, `BytesPerSampleHint of "square" is -1`},
		{Options{BufferRules: &memstats.Rules{HostGrowthFactor: 0.5}}, "host buffer growth factor is 0.5"},
	} {
		c.o.BatchSize = 4
		_, err := New(c.o, func(g *Graph) { g.Output("square", square(g, g.Read(ReaderOptions{}, numbers{n: 8})[0], nil)) })
		var build *BuildError
		require.ErrorAs(t, err, &build)
		require.ErrorContains(t, err, c.want)
	}
}

// Samples that wait for the memory of a batch whose operator fails do not keep its error
// from the consumer.
func TestAFailingBatchUnderABudget(t *testing.T) {
	broken := errors.New("broken")
	for _, workers := range []int{1, 4} {
		const n = 64
		o := Options{BatchSize: 4, Workers: workers, PrefetchDepth: 2, MemoryBudget: 60_000}
		p, err := New(o, func(g *Graph) {
			v := sized(g, g.Read(ReaderOptions{}, numbers{n: n})[0], func(int32) int32 { return 8000 })
			g.Output("blob", blob(g, v, func(int) int64 { return 0 }, true))
			calls := 0
			g.Output("whole", g.AddBatch(BatchOp{
				Name: "fails", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}},
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
						if calls++; calls%3 == 0 {
							time.Sleep(10 * time.Millisecond) // until samples wait for memory
							return broken
						}
						copy(out[0].Data, in[0].Data)
						return nil
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, n)
		for range 3 {
			rows, err := drain(t, r, patience(t, time.Minute), func(*Batch) {})
			require.ErrorIs(t, err, broken)
			require.Len(t, rows, 8)
			require.NoError(t, r.Reset(feedtest.Once(n, 4)))
		}
	}
}

// A kernel that panics or ends its goroutine does not keep its memory from
// others.
func TestKernelsThatFailUnderABudget(t *testing.T) {
	src := numbers{n: 64}
	o := Options{BatchSize: 4, Workers: 3, MemoryBudget: 1000, OnError: Skip}
	p := squares(t, o, src, func(i int32) error {
		if i%5 == 0 {
			panic("no multiples of five")
		}
		if i%7 == 0 {
			return errors.New("nor of seven")
		}
		return nil
	})
	sq, _ := collect(t, runner(t, p, 64))
	good := 0
	for _, b := range sq {
		good += len(b)
	}
	require.Equal(t, 64-13-8, good)
}

type testContext interface{ Context() context.Context }

// patience returns a context in which a test waits for so long and then fails.
func patience(t interface{ Cleanup(func()) }, d time.Duration) testContext {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return bounded{ctx}
}

type bounded struct{ ctx context.Context }

func (b bounded) Context() context.Context { return b.ctx }
