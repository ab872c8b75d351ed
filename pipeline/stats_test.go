package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// naps is a pipeline whose reader and operator sleep, so that all its times are
// exact within a synctest bubble.
func naps(t testing.TB, o Options, read, operate time.Duration) *Pipeline {
	t.Helper()
	return napsOn(t, o, sleeper(read), operate)
}

// sleeper is a source that sleeps.
func sleeper(read time.Duration) numbers {
	return numbers{n: 1 << 40, read: func(context.Context, int64) error { time.Sleep(read); return nil }}
}

// stored is a source that tells where it lies, and on a network counts each read as a
// request that it waits for.
type stored struct {
	datum.Source
	medium datum.Medium
	server *server

	mu     sync.Mutex
	waited time.Duration
}

// server is a place that sources read from.
type server struct {
	mu      sync.Mutex
	traffic datum.Traffic
}

func (s *stored) Read(ctx context.Context, i int64, out []*datum.Tensor) error {
	began := time.Now()
	err := s.Source.Read(ctx, i, out)
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(began)
	s.waited += took
	if s.server != nil {
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		s.server.traffic.Add(datum.Traffic{Requests: 1, UnderWay: took, InFlight: 7})
	}
	return err
}

func (s *stored) Storage() []datum.Storage {
	if s.server == nil {
		return []datum.Storage{{Medium: s.medium}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return []datum.Storage{{Medium: s.medium, Waited: s.waited, Place: s.server, Traffic: s.server.traffic}}
}

// napsOn is naps with a source.
func napsOn(t testing.TB, o Options, src datum.Source, operate time.Duration) *Pipeline {
	t.Helper()
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{Name: "files"}, src)[0]
		v = g.Add(Op{
			Name: "decode", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					time.Sleep(operate)
					return out[0].CopyFrom(in[0])
				}), nil
			},
		})[0]
		g.Output("x", v)
	})
	require.NoError(t, err)
	return p
}

// consume takes n batches, with a step of so long each, and returns the stats
// while the run is still going on.
func consume(t testing.TB, p *Pipeline, n int, step time.Duration) stats.Run {
	t.Helper()
	r, err := p.NewRunner(feedtest.Once(1<<40, int64(p.Options().BatchSize)))
	require.NoError(t, err)
	defer r.Close()
	for range n {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		time.Sleep(step)
		b.Release()
	}
	return r.Stats()
}

func TestStatsCountExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 60).Draw(t, "samples")
		o := Options{
			BatchSize: rapid.IntRange(1, 20).Draw(t, "batch"), Workers: rapid.IntRange(1, 4).Draw(t, "workers"),
			PrefetchDepth: rapid.IntRange(1, 4).Draw(t, "depth"), OnError: Skip,
		}
		bad := rapid.Int64Range(2, 9).Draw(t, "bad")
		src := numbers{n: n, read: func(_ context.Context, i int64) error {
			if i%bad == 1 {
				return errors.New("broken")
			}
			return nil
		}}
		p, err := New(o, func(g *Graph) {
			g.Output("square", square(g, g.Read(ReaderOptions{}, src)[0], func(i int32) error {
				if int64(i)%bad == 0 {
					panic("broken as well")
				}
				return nil
			}))
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.NewRunner(feedtest.Once(n, int64(o.BatchSize)))
		if err != nil {
			t.Fatal(err)
		}
		var ids, panics int64
		for i := range n {
			if i%bad == 1 {
				ids++
			} else if i%bad == 0 {
				panics++
			}
		}
		batches := int64(0)
		for {
			b, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			batches++
			b.Release()
		}
		s := r.Stats()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		reader, op := s.Operators[0], s.Operators[1]
		require.Equal(t, stats.Operator{Name: "reader", Reader: true, Samples: n, Bytes: 4 * (n - ids), Errors: ids}, counts(reader))
		require.Equal(t, stats.Operator{Name: "square", Samples: n - ids, Bytes: 8 * (n - ids - panics), Errors: panics}, counts(op))
		require.Equal(t, batches, s.Consumer.Batches)
		require.Equal(t, n-ids-panics, s.Consumer.Samples)
		require.Equal(t, ids+panics, s.Consumer.Bad)
		require.Equal(t, batches+1, s.Queue.Asked)
		require.LessOrEqual(t, s.Queue.Found, s.Queue.Asked)
		require.LessOrEqual(t, s.Queue.Ready, s.Queue.Places)
		require.Positive(t, reader.Timed)
		require.LessOrEqual(t, reader.Timed, n)
		require.Equal(t, s, s.Sub(stats.Run{}))
	})
}

// counts leaves out what depends on time.
func counts(o stats.Operator) stats.Operator {
	o.Busy, o.Timed = 0, 0
	return o
}

func TestStatsTimesAreThoseOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Two workers make a batch of four in 2 × 40 ms; the step takes 200 ms.
		p := naps(t, Options{BatchSize: 4, Workers: 2, PrefetchDepth: 2}, 10*time.Millisecond, 30*time.Millisecond)
		r := runner(t, p, 1<<40)
		for range 10 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			time.Sleep(200 * time.Millisecond)
			b.Release()
		}
		synctest.Wait()
		s := r.Stats()
		require.Equal(t, stats.Consumer{
			Batches: 10, Samples: 40, Waited: 80 * time.Millisecond, FirstBatch: 80 * time.Millisecond,
			Body: 2 * time.Second, FastestBody: 200 * time.Millisecond,
		}, s.Consumer)
		require.Equal(t, 2080*time.Millisecond, s.Elapsed)
		require.Equal(t, 4160*time.Millisecond, s.Workers.Capacity)
		// After ten batches were taken and given back, twelve have been made.
		require.Equal(t, 2*12*80*time.Millisecond, s.Workers.Busy())
		require.Equal(t, s.Workers.Capacity-s.Workers.Busy(), s.Workers.WaitPut)
		require.Equal(t, 48*10*time.Millisecond, s.Operators[0].Busy)
		require.Equal(t, 48*30*time.Millisecond, s.Operators[1].Busy)
		require.EqualValues(t, 48, s.Operators[1].Timed)
		require.Equal(t, stats.Queue{Depth: 2, Asked: 10, Found: 9, Ready: 18, Places: 20}, s.Queue)
		require.InDelta(t, 0.9, s.Queue.Occupancy(), 1e-9)

		r.Park(t.Context())
		time.Sleep(time.Hour)
		require.Equal(t, s.Elapsed, r.Stats().Elapsed, "parked time does not count")
	})
}

func TestGapsBetweenEpochsAreWaitsOfTheirFirstBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := naps(t, Options{BatchSize: 1, Workers: 1, PrefetchDepth: 1}, 10*time.Millisecond, 0)
		r, err := p.NewRunner(feedtest.Feed{Samples: 3, Batch: 1, Epoch: 3})
		require.NoError(t, err)
		defer r.Close()
		for range 7 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			b.Release()
		}
		c := r.Stats().Consumer
		require.EqualValues(t, 2, c.Gaps)
		require.Equal(t, 20*time.Millisecond, c.Gap)
		require.Equal(t, 10*time.Millisecond, c.FirstBatch)
	})
}

func TestWorkersOfASequenceWaitForTheirTurn(t *testing.T) {
	ended := 0
	p, err := New(Options{BatchSize: 4, Workers: 3}, func(g *Graph) {
		g.Output("x", g.ReadSequence(ReaderOptions{}, slow{count{n: 1 << 20, ended: &ended}})[0])
	})
	require.NoError(t, err)
	s := consume(t, p, 5, 0)
	busy := s.Operators[0].Busy
	require.GreaterOrEqual(t, busy, 20*time.Millisecond)
	require.Equal(t, s.Operators[0].WaitGet, s.Workers.WaitGet)
	require.Greater(t, s.Workers.WaitGet, busy, "the two others wait nearly all the time")
	require.Less(t, s.Workers.WaitGet, s.Workers.Capacity)
	v := s.Verdict()
	require.Equal(t, stats.ByReader, v.Bound)
	require.Contains(t, v.Advice, "one worker at a time")
}

// slow takes a millisecond for each sample of a sequence.
type slow struct{ count }

func (s slow) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for fill, err := range s.count.Samples() {
			time.Sleep(time.Millisecond)
			if !yield(fill, err) {
				return
			}
		}
	}
}

func TestCheapSamplesAreTimedNowAndThen(t *testing.T) {
	p := squares(t, Options{BatchSize: 64, Workers: 1}, numbers{n: 1 << 40}, nil)
	s := consume(t, p, 17, 0)
	require.GreaterOrEqual(t, s.Operators[0].Samples, int64(17*64))
	require.GreaterOrEqual(t, s.Operators[0].Timed, s.Operators[0].Samples/run.TimedEvery)
	require.Less(t, s.Operators[0].Timed, s.Operators[0].Samples/4)
	require.Positive(t, s.Operators[1].Busy)
	require.Equal(t, 8*s.Operators[1].Samples, s.Operators[1].Bytes)
}

func TestOperatorsForWholeBatchesAreCounted(t *testing.T) {
	p, err := New(Options{BatchSize: 4}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 8})[0]
		g.Output("x", g.AddBatch(BatchOp{
			Name: "halve", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Float32}},
			New: func() (batchop.Kernel, error) {
				return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
					for i, v := range datum.View[int32](in[0].Data) {
						datum.View[float32](out[0].Data)[i] = float32(v) / 2
					}
					return nil
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 8)
	for range 2 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
	}
	op := r.Stats().Operators[1]
	require.Equal(t, stats.Operator{Name: "halve", Batch: true, Samples: 8, Bytes: 32}, counts(op))
	require.Positive(t, op.Busy)
}

func TestOperatorsDescribeTheGraph(t *testing.T) {
	p, err := New(Options{BatchSize: 1}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 8})[0]
		a := square(g, v, nil)
		picked := g.If(v, func() []Value { return []Value{square(g, v, nil)} }, func() []Value { return []Value{a} })[0]
		g.Output("picked", picked)
		g.Output("number", v)
	})
	require.NoError(t, err)
	ops := p.Operators()
	var names []string
	for _, o := range ops {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"reader", "square", "square"}, names)
	require.True(t, ops[0].Reader)
	require.Equal(t, []int{0}, ops[2].Inputs)
	require.Equal(t, [][]int{{1, 2}, {0}}, sorted(p.OutputMakers()))
}

func sorted(of [][]int) [][]int {
	for _, s := range of {
		for i := range s {
			for j := i; j > 0 && s[j] < s[j-1]; j-- {
				s[j], s[j-1] = s[j-1], s[j]
			}
		}
	}
	return of
}

func TestStatsMayBeReadWhileTheRunGoesOn(t *testing.T) {
	p := squares(t, Options{BatchSize: 8, Workers: 2}, numbers{n: 1 << 40}, nil)
	r, err := p.NewRunner(feedtest.Once(1<<40, 8))
	require.NoError(t, err)
	var wg sync.WaitGroup
	var stop atomic.Bool
	wg.Go(func() {
		var last stats.Run
		for !stop.Load() {
			s := r.Stats()
			require.GreaterOrEqual(t, s.Operators[0].Samples, samplesOfFirst(last))
			require.GreaterOrEqual(t, s.Elapsed, last.Elapsed)
			last = s
		}
	})
	for i := range 300 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
		if i%50 == 0 {
			r.Park(t.Context())
		}
	}
	require.NoError(t, r.Close())
	stop.Store(true)
	wg.Wait()
	closed := r.Stats()
	time.Sleep(time.Millisecond)
	require.Equal(t, closed.Elapsed, r.Stats().Elapsed, "a closed run is over")
}

// samplesOfFirst returns the samples of the first operator.
func samplesOfFirst(s stats.Run) int64 {
	if len(s.Operators) == 0 {
		return 0
	}
	return s.Operators[0].Samples
}

func TestEventsTellTheLifeOfABatch(t *testing.T) {
	var mu sync.Mutex
	var lives [4][2]int // begun, made, delivered, released, by step
	var rows [2]int
	note := func(what int) func(stats.BatchEvent) {
		return func(e stats.BatchEvent) {
			mu.Lock()
			defer mu.Unlock()
			lives[what][e.Step]++
			if what > 0 {
				require.Equal(t, 4-int(e.Step), e.Valid)
				require.Equal(t, 1, lives[what-1][e.Step], "one thing after the other")
			}
		}
	}
	o := Options{BatchSize: 4, Workers: 2, Events: stats.Events{
		BatchBegun: note(0), BatchMade: note(1), BatchDelivered: note(2), BatchReleased: note(3),
		Operator: func(e stats.OperatorEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Operator == 1 {
				rows[e.Step] |= 1 << e.Row
				require.EqualValues(t, 8, e.Bytes)
			}
			require.GreaterOrEqual(t, e.Duration, time.Duration(0))
		},
	}}
	r := runner(t, squares(t, o, numbers{n: 7}, nil), 7)
	for range 2 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
	}
	require.Equal(t, [4][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, lives)
	require.Equal(t, [2]int{0b1111, 0b111}, rows)
}

func TestWorkersWaitsAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited atomic.Int64
		p := naps(t, Options{BatchSize: 2, Workers: 2, PrefetchDepth: 1, Events: stats.Events{
			WorkerWaited: func(e stats.WaitEvent) { waited.Add(int64(e.Duration)) },
		}}, time.Millisecond, 0)
		r := runner(t, p, 1<<40)
		for range 5 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
			b.Release()
		}
		synctest.Wait()
		time.Sleep(time.Millisecond)
		s := r.Stats()
		require.Positive(t, waited.Load())
		require.Equal(t, s.Workers.WaitPut, time.Duration(waited.Load()))
	})
}

func TestStatsAsTableJSONAndPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := naps(t, Options{BatchSize: 4, Workers: 2}, 10*time.Millisecond, 30*time.Millisecond)
		s := consume(t, p, 10, 0)
		text := s.String()
		for _, want := range []string{"operator", "decode", "30000.0", "2 workers: busy 100 %", "queue of 2", "40 samples in 10 batches", "decode-bound: "} {
			require.Contains(t, text, want)
		}
		js, err := json.Marshal(s)
		require.NoError(t, err)
		var back stats.Run
		require.NoError(t, json.Unmarshal(js, &back))
		require.Equal(t, s, back)

		s.Operators[1].Name = `a "b" \c`
		var b strings.Builder
		require.NoError(t, stats.WritePrometheus(&b, s, s))
		for _, want := range []string{
			"# TYPE plankton_operator_samples_total counter\n",
			fmt.Sprintf("plankton_operator_busy_seconds_total{pipeline=\"1\",operator=\"a \\\"b\\\" \\\\c\",place=\"1\"} %g\n", s.Operators[1].Busy.Seconds()),
			"plankton_samples_total{pipeline=\"0\"} 40\n",
			"plankton_worker_seconds_total{pipeline=\"0\",state=\"wait_put\"}",
		} {
			require.Contains(t, b.String(), want)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(b.String()) {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
				require.False(t, seen[name], "twice: %s", name)
				seen[name] = true
			} else if !strings.HasPrefix(line, "#") {
				require.Regexp(t, `^plankton_[a-z_]+\{pipeline="[01]"(,[a-z]+="([^"\\]|\\.)*")*\} [-+0-9.e]+\n$`, line)
			}
		}
	})
}

// The pipeline tells what its latest runner does, also when that is closed.
func TestStatsOfThePipelineAreTheRunners(t *testing.T) {
	p := squares(t, Options{BatchSize: 4}, numbers{n: 10}, nil)
	require.Equal(t, stats.Run{}, p.Stats())
	r := runner(t, p, 10)
	take(t, r, 1)
	require.NoError(t, r.Close())
	require.Equal(t, r.Stats(), p.Stats())
	require.EqualValues(t, 1, p.Stats().Consumer.Batches)
}
