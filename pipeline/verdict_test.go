package pipeline

import (
	"encoding/json"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

func TestVerdictsOnPipelinesMadeToBeBound(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name                string
		read, operate, step time.Duration
		bound               stats.Bound
		says                string
	}{
		{"disk", 30 * ms, 2 * ms, 1 * ms, stats.ByDisk, "disk-bound: workers 100 % busy, 94 % of their time in files (30ms a sample); the consumer waits 98 % of the time. The reader waits for the files of this machine: raise Workers (2 now), also above the number of processors, put many small files into few shards"},
		{"network", 30 * ms, 2 * ms, 1 * ms, stats.ByNetwork, "network-bound: workers waited for the server 94 % of their time in files (30ms a sample); "},
		{"reader", 30 * ms, 2 * ms, 1 * ms, stats.ByReader, "reader-bound: workers 100 % busy, 94 % of their time in files (30ms a sample); the consumer waits 98 % of the time. The reader waits for its storage: raise Workers (2 now)"},
		{"decoder", 2 * ms, 30 * ms, 1 * ms, stats.ByOperator, "decode-bound: workers 100 % busy, 94 % of their time in decode (30ms a sample); the consumer waits 98 % of the time. "},
		{"consumer", 2 * ms, 3 * ms, 100 * ms, stats.ByConsumer, "consumer-bound: a batch was ready 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var src datum.Source = sleeper(c.read)
				switch c.name {
				case "disk":
					src = &stored{Source: src, medium: datum.OnDisk}
				case "network":
					src = &stored{Source: src, medium: datum.OnNetwork, server: new(server)}
				}
				p := napsOn(t, Options{BatchSize: 4, Workers: 2}, src, c.operate)
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
	require.Equal(t, stats.ByMemory, v.Bound, v)
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
		require.Equal(t, stats.ByBursts, v.Bound, v)
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
	if s.CPUShare() < 0.85 { // of which on the processors are full
		t.Skipf("other programs had the processors: only %.0f %% were left", 100*s.CPUShare())
	}
	require.NotEqual(t, stats.ByConsumer, v.Bound, "%s\n%s", v, s)
	require.Equal(t, "decode", v.Operator)
}

func TestVerdictRules(t *testing.T) {
	base := func() stats.Run {
		return stats.Run{
			Elapsed: time.Second, CPU: 2 * time.Second, Processors: 2,
			Operators: []stats.Operator{{Name: "files", Reader: true, Samples: 1000, Busy: 200 * time.Millisecond}, {Name: "decode", Samples: 1000, Busy: 1700 * time.Millisecond}},
			Workers:   stats.Workers{Workers: 2, Capacity: 2 * time.Second},
			Queue:     stats.Queue{Depth: 2, Asked: 20, Places: 40},
			Consumer:  stats.Consumer{Batches: 20, Samples: 1000, Waited: 700 * time.Millisecond, Body: 300 * time.Millisecond, FastestBody: 14 * time.Millisecond},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*stats.Run)
		bound  stats.Bound
		says   []string
	}{
		{"decode with full processors", func(*stats.Run) {}, stats.ByOperator, []string{"decode-bound", "100 % busy", "1.7ms a sample", "waits 70 %", "more workers will not help", "make decode cheaper"}},
		{"decode with one worker of two", func(s *stats.Run) {
			s.CPU, s.Workers.Workers, s.Workers.Capacity = time.Second, 1, time.Second
		}, stats.ByOperator, []string{"Raise Workers (1 now): the processors are only 50 % busy"}},
		{"decode beside other programs", func(s *stats.Run) { s.CPU = time.Second }, stats.ByOperator, []string{"if decode waits for something, raise Workers (2 now)"}},
		{"too little", func(s *stats.Run) { s.Consumer.Batches = 2 }, stats.Undecided, []string{"undecided: 2 batches"}},
		{"nothing", func(s *stats.Run) { *s = stats.Run{} }, stats.Undecided, []string{"Let it run longer"}},
		{"the wait for the first batch does not count", func(s *stats.Run) { s.Consumer.FirstBatch, s.CPU = 690*time.Millisecond, 0; s.Workers.Workers = 1 }, stats.ByConsumer, []string{"consumer-bound"}},
		{"memory", func(s *stats.Run) { s.Workers.WaitMemory = 800 * time.Millisecond }, stats.ByMemory, []string{"memory-bound: workers waited for memory 40 %", "MemoryBudget"}},
		{"memory that nobody waits for", func(s *stats.Run) {
			s.Workers.WaitMemory, s.Workers.WaitPut, s.Consumer.Waited = 800*time.Millisecond, time.Second, 0
		}, stats.ByConsumer, nil},
		{"bursts", func(s *stats.Run) { s.Workers.WaitPut, s.Consumer.Waited = 900*time.Millisecond, 100*time.Millisecond }, stats.ByBursts, []string{"bursts-bound"}},
		{"shared processors, workers idle now and then", func(s *stats.Run) {
			s.Consumer.Waited, s.Workers.WaitPut = 0, 400*time.Millisecond
		}, stats.ByProcessors, []string{"workers have work for 80 % of them"}},
		{"shared processors", func(s *stats.Run) {
			s.Consumer.Waited, s.Consumer.Body, s.Consumer.FastestBody = 10*time.Millisecond, 990*time.Millisecond, 2*time.Millisecond
		}, stats.ByProcessors, []string{"processors-bound", "49.5ms beside the workers, 2ms at its fastest", "decode"}},
		{"a slow step alone", func(s *stats.Run) {
			s.Consumer.Waited, s.Workers.WaitPut = 0, 1800*time.Millisecond
			s.CPU = time.Second
		}, stats.ByConsumer, []string{"only a faster step helps"}},
		{"a step that idle workers stretch", func(s *stats.Run) {
			s.Consumer.Waited, s.Workers.WaitPut, s.Consumer.FastestBody = 0, 1800*time.Millisecond, time.Millisecond
		}, stats.ByConsumer, []string{"fewer Workers"}},
		{"a disk whose reader has all processors", func(s *stats.Run) {
			s.Operators[0].Busy, s.Operators[0].Medium = 3*time.Second, datum.OnDisk
		}, stats.ByReader, []string{"cheaper to read"}},
		{"a disk", func(s *stats.Run) {
			s.Operators[0].Busy, s.Operators[0].Medium, s.CPU = 3*time.Second, datum.OnDisk, time.Second
		}, stats.ByDisk, []string{"disk-bound: workers 100 % busy", "raise Workers (2 now)", "a faster disk"}},
		{"a network, each worker by itself", func(s *stats.Run) { onNetwork(s, 60, 2) }, stats.ByNetwork, []string{
			"network-bound: workers waited for the server 95 % of their time in files (1.9ms a sample); 60 requests of 100 kB took 33.33ms each, 2.0 of 128 at a time; the consumer waits 70 % of the time. ",
			"Each worker waits for the samples that it asks for: raise Workers (2 now)", "by a cache"}},
		{"a network with a look-ahead that is too short", func(s *stats.Run) { onNetwork(s, 60, 2); s.Traffic.Ahead = 64e6 }, stats.ByNetwork, []string{"raise LookAhead of the reader (64 MB now), write larger shards, or keep the data on a disk"}},
		{"a network with all requests under way, small ones", func(s *stats.Run) { onNetwork(s, 3000, 128) }, stats.ByNetwork, []string{"each brings only 100 kB", "shards that are read in groups (ShuffleGroup)", "or allow more requests (Network.InFlight, 128 now)"}},
		{"a look-ahead with all requests under way", func(s *stats.Run) { onNetwork(s, 3000, 128); s.Traffic.Ahead = 64e6 }, stats.ByNetwork, []string{"or allow more requests (Requests of the reader, 128 now)"}},
		{"a network with all requests under way, large ones", func(s *stats.Run) { onNetwork(s, 300, 128); s.Traffic.BytesFetched = 600e6 }, stats.ByNetwork, []string{"The line is full with 600 MB a second", "by a cache", "a region that is nearer"}},
		{"a full line behind a cache", func(s *stats.Run) {
			onNetwork(s, 300, 128)
			s.Traffic.BytesFetched, s.Traffic.CacheHits, s.Traffic.CacheMisses = 600e6, 100, 300
		}, stats.ByNetwork, []string{"let the cache hold more (25 % of the reads hit it)"}},
		{"a server in trouble", func(s *stats.Run) { onNetwork(s, 3000, 128); s.Traffic.Retries = 600 }, stats.ByNetwork, []string{"20 % of the requests are sent again", "ask for less at a time (Network.InFlight, 128 now)"}},
		{"a network that is fast, and a reader that works", func(s *stats.Run) {
			onNetwork(s, 3000, 128)
			s.Operators[0].WaitStorage = 100 * time.Millisecond
		}, stats.ByReader, []string{"cheaper to read"}},
		{"reader on full processors", func(s *stats.Run) { s.Operators[0].Busy = 3 * time.Second }, stats.ByReader, []string{"cheaper to read"}},
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

// onNetwork makes the reader of a run one that waits for a server, with n requests of
// 100 kB, so many at a time.
func onNetwork(s *stats.Run, n int64, atOnce int) {
	o := &s.Operators[0]
	o.Medium, o.Busy, o.WaitStorage = datum.OnNetwork, 1950*time.Millisecond, 1900*time.Millisecond
	s.Traffic = datum.Traffic{Requests: n, BytesFetched: n * 100_000, UnderWay: time.Duration(atOnce) * s.Elapsed, InFlight: 128}
}

func TestBoundsAreTextBothWays(t *testing.T) {
	for b := stats.Undecided; b <= stats.ByDisk; b++ {
		text, err := json.Marshal(stats.Verdict{Bound: b})
		require.NoError(t, err)
		var back stats.Verdict
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, stats.Verdict{Bound: b}, back)
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`{"bound":"luck"}`), new(stats.Verdict)), `no bound "luck"; the bounds are undecided, reader`)
}
