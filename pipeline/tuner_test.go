package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// tuned runs a pipeline of naps with Autotune for so long, and returns what the
// tuner told, the last setting, and the rate of the last second.
func tuned(t *testing.T, o Options, read, operate, step, during time.Duration) (told []TuneEvent, rate float64, s Stats) {
	t.Helper()
	o.Events.Tuned = func(e TuneEvent) { told = append(told, e) }
	r := runner(t, naps(t, o, read, operate), 1<<40)
	var before Stats
	for began := time.Now(); time.Since(began) < during; {
		if before.Elapsed == 0 && time.Since(began) >= during-time.Second {
			before = r.Stats()
		}
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		time.Sleep(step)
		b.Release()
	}
	s = r.Stats()
	return told, s.Sub(before).Rate(), s
}

func TestAutotuneAddsWorkersWhereTheyHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A reader that waits for its storage: sixteen workers are sixteen times faster.
		_, rate, s := tuned(t, Options{BatchSize: 16, Workers: 1, Autotune: &Autotune{MaxWorkers: 16}}, 10*time.Millisecond, 0, 0, 10*time.Second)
		require.Equal(t, 16, s.Workers.Workers)
		require.InEpsilon(t, 1600, rate, 0.05)
	})
}

func TestAutotuneStopsAtWhatTheConsumerTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A batch of eight takes one worker 80 ms and the step 30 ms: three are enough.
		o := Options{BatchSize: 8, Workers: 1, Autotune: &Autotune{MaxWorkers: 16}}
		_, rate, s := tuned(t, o, 10*time.Millisecond, 0, 30*time.Millisecond, 20*time.Second)
		require.GreaterOrEqual(t, s.Workers.Workers, 3)
		require.LessOrEqual(t, s.Workers.Workers, 5)
		require.InEpsilon(t, 8/0.030, rate, 0.02)

		o.Workers = 16
		_, rate, s = tuned(t, o, 10*time.Millisecond, 0, 30*time.Millisecond, 20*time.Second)
		require.LessOrEqual(t, s.Workers.Workers, 5, "workers that idle are sent to rest")
		require.InEpsilon(t, 8/0.030, rate, 0.02)
	})
}

func TestAutotuneDeepensTheQueueForBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last TuneEvent
		p := naps(t, Options{
			BatchSize: 4, Workers: 2, PrefetchDepth: 1, Autotune: &Autotune{MaxWorkers: 2, MaxPrefetch: 6},
			Events: EventListener{Tuned: func(e TuneEvent) { last = e }},
		}, time.Millisecond, 9*time.Millisecond)
		r := runner(t, p, 1<<40)
		began := time.Now()
		for i := 0; time.Since(began) < 20*time.Second; i++ {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			if i%6 == 0 { // six batches in 120 ms of work
				time.Sleep(120 * time.Millisecond)
			}
			b.Release()
		}
		require.GreaterOrEqual(t, last.PrefetchDepth, 4)
		require.LessOrEqual(t, last.PrefetchDepth, 6)
		require.Greater(t, p.Memory().Live, int64(5*16), "the memory of a batch is taken when the depth needs it")
	})
}

func TestAutotuneKeepsItsLimits(t *testing.T) {
	for _, c := range []struct {
		memory int64
		grows  bool
	}{{50, false}, {100, true}} { // two batches of 16 bytes, 4 more for each worker
		synctest.Test(t, func(t *testing.T) {
			o := Options{BatchSize: 4, Workers: 2, PrefetchDepth: 1, Autotune: &Autotune{MaxWorkers: 16, MaxMemory: c.memory}}
			told, _, s := tuned(t, o, 10*time.Millisecond, 0, 0, 10*time.Second)
			require.Equal(t, c.grows, len(told) > 0, told)
			require.LessOrEqual(t, s.Memory.Peak, c.memory)
			require.Less(t, s.Workers.Workers, 16)
		})
	}
}

func TestTunerTakesBackWhatDoesNotPay(t *testing.T) {
	o := Options{BatchSize: 8, Workers: 2, PrefetchDepth: 2, Autotune: &Autotune{}}.withDefaults()
	tn := newTuner(o)
	s := Stats{Elapsed: time.Second, Consumer: ConsumerStats{Samples: 1000}}
	decode := Verdict{Bound: ByOperator}
	var asks []int
	for i := range 200 {
		before := tn.at
		if reverted := tn.step(s, decode); reverted {
			require.Equal(t, setting{2, 2}, tn.at)
		} else if tn.at.workers > before.workers {
			asks = append(asks, i)
		}
	}
	require.Greater(t, len(asks), 2)
	for i := 2; i < len(asks); i++ {
		require.Greater(t, asks[i]-asks[i-1], asks[i-1]-asks[i-2]-1, "it asks ever more seldom: %v", asks)
	}

	tn = newTuner(o)
	require.False(t, tn.step(s, Verdict{Bound: ByOperator, ProcessorsFull: true}))
	require.Equal(t, 2, tn.at.workers, "no workers are added to full processors")
}

// What a run delivers does not depend on what the tuner does in between.
func TestAutotuneLeavesResultsAsTheyAre(t *testing.T) {
	run := func(a *Autotune) (ids [][]int64, values [][]float64, changes int) {
		o := Options{BatchSize: 7, Workers: 1, PrefetchDepth: 1, Seed: 3, Autotune: a, Events: EventListener{Tuned: func(TuneEvent) { changes++ }}}
		p, err := New(o, func(g *Graph) {
			src := numbers{n: 1 << 40, read: func(context.Context, int64) error { time.Sleep(50 * time.Microsecond); return nil }}
			v := g.Read(ReaderOptions{}, src)[0]
			rnd := g.NewRandom()
			g.Output("x", g.Add(Op{
				Name: "noise", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Float64}},
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(c *datum.Sample, in, out []*datum.Tensor) error {
						_, err := out[0].Resize()
						draw := rnd.At(c)
						out[0].Float64s()[0] = float64(in[0].Int32s()[0]) + draw.Float64()
						return err
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, 1<<40)
		for i := range 400 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			ids, values = append(ids, slices.Clone(b.IDs())), append(values, slices.Clone(b.Float64s("x")))
			if i%3 == 0 {
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			}
			b.Release()
			if i%100 == 50 {
				r.Park(t.Context())
			}
		}
		return ids, values, changes
	}
	ids, values, changes := run(nil)
	require.Zero(t, changes)
	ids2, values2, changes := run(&Autotune{MaxWorkers: 6, MaxPrefetch: 5, Interval: time.Millisecond})
	require.NotZero(t, changes, "the tuner did nothing")
	require.Equal(t, ids, ids2)
	require.Equal(t, values, values2)
}

func TestAutotuneOptions(t *testing.T) {
	o := Options{BatchSize: 1, Workers: 3, Autotune: &Autotune{MaxMemory: 1 << 20}}.withDefaults()
	require.NoError(t, o.validate())
	require.Contains(t, o.String(), fmt.Sprintf("tuned up to %d workers and prefetch 8 within 1048576 bytes", o.Autotune.MaxWorkers))
	for _, a := range []Autotune{{MaxWorkers: 2}, {MaxPrefetch: 1}, {MaxMemory: -1}, {Interval: -1}} {
		_, err := New(Options{BatchSize: 1, Workers: 3, Autotune: &a}, func(*Graph) {})
		require.ErrorContains(t, err, "Autotune")
	}
}

func TestAutotuneLetsAProgramHoldAsManyBatches(t *testing.T) {
	p := squares(t, Options{BatchSize: 1, PrefetchDepth: 2, Autotune: &Autotune{}}, numbers{n: 9}, nil)
	r := runner(t, p, 9)
	var held []*Batch
	for range 3 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		held = append(held, b)
	}
	_, err := r.Next(t.Context())
	require.ErrorContains(t, err, "all 3 batches are held")
	for i, b := range held {
		require.Equal(t, []int64{int64(i)}, b.IDs())
		b.Release()
	}
}
