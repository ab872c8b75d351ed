package pipeline

import (
	"encoding/json"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

func TestVerdictsOnPipelinesMadeToBeBound(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name                string
		read, operate, step time.Duration
		bound               Bound
		says                string
	}{
		{"reader", 30 * ms, 2 * ms, 1 * ms, ByReader, "reader-bound: workers 100 % busy, 94 % of their time in files (30ms a sample); the consumer waits 98 % of the time. The reader waits for its storage: raise Workers (2 now)"},
		{"decoder", 2 * ms, 30 * ms, 1 * ms, ByOperator, "decode-bound: workers 100 % busy, 94 % of their time in decode (30ms a sample); the consumer waits 98 % of the time. "},
		{"consumer", 2 * ms, 3 * ms, 100 * ms, ByConsumer, "consumer-bound: a batch was ready 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := naps(t, Options{BatchSize: 4, Workers: 2}, c.read, c.operate)
				v := consume(t, p, 50, c.step).Verdict()
				require.Equal(t, c.bound, v.Bound, v)
				require.Contains(t, v.String(), c.says)
			})
		})
	}
}

// Four workers need a megabyte each for a sample, and there is one for all.
func TestVerdictOnMemory(t *testing.T) {
	const need = 1 << 20
	p, err := New(Options{BatchSize: 4, Workers: 4, PrefetchDepth: 1, MemoryBudget: need + need/2}, func(g *Graph) {
		v := g.Read(ReaderOptions{Name: "files"}, numbers{n: 1 << 40})[0]
		v = g.Add(Op{
			Name: "decode", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					if _, err := out[0].Resize(need); err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
					return nil
				}), nil
			},
		})[0]
		g.Output("x", g.Add(Op{
			Name: "length", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int64}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					_, err := out[0].Resize()
					out[0].Int64s()[0] = int64(in[0].Len())
					return err
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	v := consume(t, p, 20, 0).Verdict()
	require.Equal(t, ByMemory, v.Bound, v)
	require.Contains(t, v.String(), "Raise MemoryBudget")
}

// A step that asks for several batches at once and then takes long leaves
// workers idle at times and waits at others.
func TestVerdictOnBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := naps(t, Options{BatchSize: 4, Workers: 2, PrefetchDepth: 1}, time.Millisecond, 9*time.Millisecond)
		r := runner(t, p, 1<<40)
		for i := range 60 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			if i%6 == 0 {
				time.Sleep(150 * time.Millisecond)
			}
			b.Release()
		}
		v := r.Stats().Verdict()
		require.Equal(t, ByBursts, v.Bound, v)
		require.Contains(t, v.Advice, "Raise PrefetchDepth, or DevicePrefetchDepth where it is set (1 now)")
	})
}

// The step is short and does its work on the processors that the workers keep
// busy: however long it takes beside them, the run is not bound by it.
func TestAStepThatWorkersStretchIsNotTheLimit(t *testing.T) {
	spin := func(d time.Duration) {
		for began := time.Now(); time.Since(began) < d; {
		}
	}
	p, err := New(Options{BatchSize: 16, Workers: 2 * runtime.GOMAXPROCS(0)}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 1 << 40})[0]
		g.Output("x", g.Add(Op{
			Name: "decode", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					spin(500 * time.Microsecond)
					return out[0].CopyFrom(in[0])
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 1<<40)
	for range 60 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		for range 10 { // gives the processor away ten times, as calls into a library do
			spin(100 * time.Microsecond)
			runtime.Gosched()
		}
		b.Release()
	}
	s := r.Stats()
	v := s.Verdict()
	if s.CPUShare() < full {
		t.Skipf("other programs had the processors: only %.0f %% were left", 100*s.CPUShare())
	}
	require.NotEqual(t, ByConsumer, v.Bound, "%s\n%s", v, s)
	require.Equal(t, "decode", v.Operator)
}

func TestVerdictRules(t *testing.T) {
	base := func() Stats {
		return Stats{
			Elapsed: time.Second, CPU: 2 * time.Second, Processors: 2,
			Operators: []OperatorStats{{Name: "files", Reader: true, Samples: 1000, Busy: 200 * time.Millisecond}, {Name: "decode", Samples: 1000, Busy: 1700 * time.Millisecond}},
			Workers:   WorkerStats{Workers: 2, Capacity: 2 * time.Second},
			Queue:     QueueStats{Depth: 2, Asked: 20, Places: 40},
			Consumer:  ConsumerStats{Batches: 20, Samples: 1000, Waited: 700 * time.Millisecond, Body: 300 * time.Millisecond, FastestBody: 14 * time.Millisecond},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Stats)
		bound  Bound
		says   []string
	}{
		{"decode with full processors", func(*Stats) {}, ByOperator, []string{"decode-bound", "100 % busy", "1.7ms a sample", "waits 70 %", "more workers will not help", "make decode cheaper"}},
		{"decode with one worker of two", func(s *Stats) {
			s.CPU, s.Workers.Workers, s.Workers.Capacity = time.Second, 1, time.Second
		}, ByOperator, []string{"Raise Workers (1 now): the processors are only 50 % busy"}},
		{"decode beside other programs", func(s *Stats) { s.CPU = time.Second }, ByOperator, []string{"if decode waits for something, raise Workers (2 now)"}},
		{"too little", func(s *Stats) { s.Consumer.Batches = 2 }, Undecided, []string{"undecided: 2 batches"}},
		{"nothing", func(s *Stats) { *s = Stats{} }, Undecided, []string{"Let it run longer"}},
		{"the wait for the first batch does not count", func(s *Stats) { s.Consumer.FirstBatch, s.CPU = 690*time.Millisecond, 0; s.Workers.Workers = 1 }, ByConsumer, []string{"consumer-bound"}},
		{"memory", func(s *Stats) { s.Workers.WaitMemory = 800 * time.Millisecond }, ByMemory, []string{"memory-bound: workers waited for memory 40 %", "MemoryBudget"}},
		{"memory that nobody waits for", func(s *Stats) {
			s.Workers.WaitMemory, s.Workers.WaitPut, s.Consumer.Waited = 800*time.Millisecond, time.Second, 0
		}, ByConsumer, nil},
		{"bursts", func(s *Stats) { s.Workers.WaitPut, s.Consumer.Waited = 900*time.Millisecond, 100*time.Millisecond }, ByBursts, []string{"bursts-bound"}},
		{"shared processors, workers idle now and then", func(s *Stats) {
			s.Consumer.Waited, s.Workers.WaitPut = 0, 400*time.Millisecond
		}, ByProcessors, []string{"workers have work for 80 % of them"}},
		{"shared processors", func(s *Stats) {
			s.Consumer.Waited, s.Consumer.Body, s.Consumer.FastestBody = 10*time.Millisecond, 990*time.Millisecond, 2*time.Millisecond
		}, ByProcessors, []string{"processors-bound", "49.5ms beside the workers, 2ms at its fastest", "decode"}},
		{"a slow step alone", func(s *Stats) {
			s.Consumer.Waited, s.Workers.WaitPut = 0, 1800*time.Millisecond
			s.CPU = time.Second
		}, ByConsumer, []string{"only a faster step helps"}},
		{"a step that idle workers stretch", func(s *Stats) {
			s.Consumer.Waited, s.Workers.WaitPut, s.Consumer.FastestBody = 0, 1800*time.Millisecond, time.Millisecond
		}, ByConsumer, []string{"fewer Workers"}},
		{"reader on full processors", func(s *Stats) { s.Operators[0].Busy = 3 * time.Second }, ByReader, []string{"cheaper to read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := base()
			c.change(&s)
			v := s.Verdict()
			require.Equal(t, c.bound, v.Bound, v)
			for _, say := range c.says {
				require.Contains(t, v.String(), say)
			}
		})
	}
}

func TestBoundsAreTextBothWays(t *testing.T) {
	for b := Undecided; b <= ByCopy; b++ {
		text, err := json.Marshal(Verdict{Bound: b})
		require.NoError(t, err)
		var back Verdict
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, Verdict{Bound: b}, back)
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`{"bound":"luck"}`), new(Verdict)), `no bound "luck"; the bounds are undecided, reader`)
}
