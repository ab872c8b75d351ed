package pipeline

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// napsBehind is a pipeline whose reader and whose operators for whole batches sleep: a
// copy and a kernel on streams, if there is a device, and one on the host.
func napsBehind(t testing.TB, o Options, read, copying, kernel, host time.Duration) *Pipeline {
	t.Helper()
	src := numbers{n: 1 << 40, read: func(context.Context, int64) error { time.Sleep(read); return nil }}
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{Name: "files"}, src)[0]
		add := func(name string, backend executor.Backend, d time.Duration) {
			v = g.AddBatch(BatchOp{
				Name: name, Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}}, Backend: backend, Moves: backend == executor.Mixed,
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
						time.Sleep(d)
						copy(out[0].Data, in[0].Data)
						return nil
					}), nil
				},
			})[0]
		}
		add("copy", executor.Mixed, copying)
		add("kernel", executor.Device, kernel)
		add("host", executor.Host, host)
		g.Output("x", v)
	})
	require.NoError(t, err)
	return p
}

const ms = time.Millisecond

func TestTimeOnStreamsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := streams.NewHost()
		defer host.Close()
		for _, c := range []struct {
			device         streams.Device
			policy         streams.Policy
			copies, kernel int // their streams
		}{
			{host, streams.Single, 1, 1},
			{host, streams.PerBackend, 1, 2},
			{untimed{host}, streams.PerBackend, 1, 2},
			{nil, streams.Single, 0, 0},
		} {
			p := napsBehind(t, Options{BatchSize: 4, Workers: 2, PrefetchDepth: 2, Device: c.device, StreamPolicy: c.policy}, ms, 30*ms, 20*ms, 10*ms)
			r := runner(t, p, 1<<40)
			for range 2 { // the second run has streams of its own, in the same places
				for range 5 {
					b, err := r.Next(t.Context())
					require.NoError(t, err)
					b.Release()
				}
				time.Sleep(time.Second) // for the three batches ahead
				require.NoError(t, r.Reset(feedtest.Once(1<<40, 4)))
			}
			s := r.Stats()
			require.NoError(t, r.Close())
			ops := s.Operators
			require.EqualValues(t, 4*16, ops[1].Samples)
			require.Equal(t, []bool{false, true, false, false}, []bool{ops[0].Moves, ops[1].Moves, ops[2].Moves, ops[3].Moves})
			require.Equal(t, []int{0, c.copies, c.kernel, 0}, []int{ops[0].Stream, ops[1].Stream, ops[2].Stream, ops[3].Stream})
			want := []time.Duration{0, 16 * 30 * ms, 16 * 20 * ms, 0}
			if c.device == nil {
				want = make([]time.Duration, 4)
			}
			require.Equal(t, want, []time.Duration{ops[0].OnStream, ops[1].OnStream, ops[2].OnStream, ops[3].OnStream})
			require.Equal(t, c.device != nil, strings.Contains(s.String(), "stream  µs/sample there  of the time %"))
			require.Zero(t, s.Sub(s).Operators[1].OnStream)
			var text strings.Builder
			require.NoError(t, stats.WritePrometheus(&text, s))
			if c.device != nil {
				require.Contains(t, s.String(), "7500.0")
				require.Contains(t, text.String(), `plankton_operator_stream_seconds_total{pipeline="0",operator="copy",place="1"} 0.48`+"\n")
			}
		}
	})
}

// What the statistics count is the sum of what a listener is told.
func TestTimeOnStreamsIsWhatAListenerIsTold(t *testing.T) {
	for _, policy := range []streams.Policy{streams.Single, streams.PerOperator, streams.Ranked} {
		for seed := range uint64(5) {
			d := streamtest.New(seed)
			var mu sync.Mutex
			told, on := map[int]time.Duration{}, map[int]int{}
			p := diamond(t, Options{BatchSize: 4, Device: d, StreamPolicy: policy, Workers: 2, Events: stats.Events{Stream: func(e stats.StreamEvent) {
				mu.Lock()
				defer mu.Unlock()
				told[e.Operator] += e.Duration
				on[e.Operator] = e.Stream + 1
			}}})
			r := runner(t, p, 10)
			for range 3 {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				b.Release()
			}
			s := r.Stats()
			require.NoError(t, r.Close())
			require.NoError(t, d.Close())
			require.Len(t, told, 4)
			for i, o := range s.Operators {
				require.Equal(t, told[i], o.OnStream, o.Name)
				require.Equal(t, on[i], o.Stream, o.Name)
			}
		}
	}
}

func TestVerdictsOnWhatTakesOneBatchAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		name                     string
		read, copy, kernel, host time.Duration
		policy                   streams.Policy
		bound                    stats.Bound
		says                     []string
	}{
		{"copies", ms, 40 * ms, 10 * ms, ms, streams.PerBackend, stats.ByCopy, []string{
			"copy-bound: stream 1 is at work 100 % of the time, 100 % of that in copy (10ms a sample); workers waited for a free batch 9",
			"uint8", "or smaller ones.",
		}},
		{"a kernel", ms, 10 * ms, 40 * ms, ms, streams.PerBackend, stats.ByDevice, []string{"device-bound: stream 2", "make kernel cheaper"}},
		{"one stream for both", ms, 25 * ms, 15 * ms, ms, streams.Single, stats.ByCopy, []string{"62 % of that in copy", "; another StreamPolicy may let the stream's operators overlap."}},
		{"the host", ms, 10 * ms, 10 * ms, 50 * ms, streams.Single, stats.ByOperator, []string{"host-bound: host, which takes one batch after the other, is at work 100 % of the time (12.5ms a sample); workers"}},
		{"the reader", 40 * ms, 10 * ms, 10 * ms, 10 * ms, streams.Single, stats.ByReader, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				device := streams.NewHost()
				defer device.Close()
				p := napsBehind(t, Options{BatchSize: 4, Workers: 2, Device: device, StreamPolicy: c.policy}, c.read, c.copy, c.kernel, c.host)
				v := consume(t, p, 50, 2*ms).Verdict()
				require.Equal(t, c.bound, v.Bound, v)
				for _, say := range c.says {
					require.Contains(t, v.String(), say)
				}
			})
		})
	}
}

// Where the step takes as long as the stream, it is the limit; where both take turns,
// since no batch is ahead, the depth is.
func TestVerdictsOnADeviceThatIsNotTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := streams.NewHost()
		defer device.Close()
		p := napsBehind(t, Options{BatchSize: 4, Workers: 2, Device: device}, ms, 20*ms, 20*ms, 0)
		require.Equal(t, stats.ByConsumer, consume(t, p, 50, 45*ms).Verdict().Bound)
		p = napsBehind(t, Options{BatchSize: 4, Workers: 2, Device: device, HostPrefetchDepth: 1, DevicePrefetchDepth: 1}, ms, 20*ms, 20*ms, 0)
		r := runner(t, p, 1<<40)
		for range 25 { // two batches at a time, as many as there is device memory for
			first, err := r.Next(t.Context())
			require.NoError(t, err)
			second, err := r.Next(t.Context())
			require.NoError(t, err)
			time.Sleep(60 * ms)
			first.Release()
			second.Release()
		}
		v := r.Stats().Verdict()
		require.Equal(t, stats.ByBursts, v.Bound, v)
	})
}

func TestAutotuneDoesNotDeepenTheQueueOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := streams.NewHost()
		defer device.Close()
		p := napsBehind(t, Options{BatchSize: 4, Workers: 2, Device: device, Autotune: &Autotune{MaxWorkers: 2, MaxPrefetch: 8}}, ms, 40*ms, 10*ms, 0)
		s := consume(t, p, 400, 2*ms)
		require.Equal(t, stats.ByCopy, s.Verdict().Bound)
		require.Equal(t, 2, s.Queue.Depth)
	})
}

// More workers do not help an operator that takes one batch after the other.
func TestAutotuneAddsNoWorkersBehindAHostLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := streams.NewHost()
		defer device.Close()
		p := napsBehind(t, Options{BatchSize: 4, Workers: 2, Device: device}, ms, 10*ms, 10*ms, 50*ms)
		s := consume(t, p, 50, 2*ms)
		v := s.Verdict()
		require.Equal(t, stats.ByOperator, v.Bound)
		v.ProcessorsFull = false
		tuned := stats.NewTuner(stats.Setting{Workers: 2, Depth: 2}, stats.Limits{MaxWorkers: 8, MaxDepth: 8})
		tuned.Step(s, v)
		require.Equal(t, stats.Setting{Workers: 2, Depth: 2}, tuned.Setting())
		tuned.Step(s, stats.Verdict{Bound: v.Bound})
		require.Greater(t, tuned.Setting().Workers, 2)
	})
}
