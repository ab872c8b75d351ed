package iterator

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/shard"
)

func TestStepsGoOnAcrossEpochs(t *testing.T) {
	want := base().loaderOf(t)
	var whole []record
	for range 5 {
		whole = append(whole, take(t, want, all)...)
	}
	l := base().loaderOf(t)
	for _, n := range []int{4, 9, 1, 10, 0} {
		for b, err := range l.Steps(t.Context(), n) {
			require.NoError(t, err)
			require.Equal(t, whole[0], recordOf(b))
			whole, n = whole[1:], n-1
		}
		require.Zero(t, n)
	}
	require.Equal(t, whole[0], take(t, l, 1)[0])
}

func TestABreakAtTheLastBatchEndsTheEpoch(t *testing.T) {
	l := base().loaderOf(t)
	require.Len(t, take(t, l, l.Len()), l.Len())
	require.Equal(t, int64(1), take(t, l, 1)[0].epoch)
	take(t, l, l.Len()-1)
	_, err := l.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, l.Reset())
	require.False(t, l.dirty, "what was made ahead is kept")
	require.Equal(t, int64(2), take(t, l, l.Len())[0].epoch)
	require.NoError(t, l.Reset(), "which is what the next loop does anyway")
	require.Equal(t, int64(3), take(t, l, 1)[0].epoch)
}

func TestResetAtAnyPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := base()
		s.loader.LastBatch = rapid.SampledFrom([]shard.Policy{shard.Partial, shard.Fill, shard.Drop}).Draw(t, "policy")
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		for epoch := range int64(6) {
			n := rapid.IntRange(0, l.Len()).Draw(t, "n")
			if rapid.Bool().Draw(t, "prefetched") {
				require.NoError(t, l.Prefetch(context.Background()))
			}
			for step := range int64(n) {
				b, err := l.Next(context.Background())
				require.NoError(t, err)
				require.Equal(t, []int64{epoch, step}, []int64{b.Epoch(), b.Step()})
			}
			if n == 0 { // at its first batch an epoch is not given up
				take(t, l, 1)
			}
			require.NoError(t, l.Reset())
		}
	})
}

func TestPrefetchMakesTheFirstBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		s := base()
		s.options.Workers = 1
		s.source.read = func(context.Context, int64) error { time.Sleep(time.Second); reads.Add(1); return nil }
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		require.NoError(t, l.Prefetch(t.Context()))
		require.NoError(t, l.Prefetch(t.Context()), "it is there already")
		require.EqualValues(t, 4, reads.Load())
		pos, err := l.Position()
		require.NoError(t, err)
		require.Zero(t, pos.Phases[0].Steps)
		time.Sleep(time.Hour)
		require.EqualValues(t, 3*4, reads.Load())
		began := time.Now()
		require.EqualValues(t, 0, take(t, l, 1)[0].step)
		require.Zero(t, time.Since(began))
		require.Equal(t, 4*time.Second, l.Stats().FirstBatch)
		require.NoError(t, l.Prefetch(t.Context()))
		require.NotNil(t, l.ready)
		require.EqualValues(t, 1, take(t, l, 1)[0].step)
		require.NoError(t, l.Prefetch(t.Context()))
		require.NoError(t, l.Reset())
		require.Equal(t, int64(1), take(t, l, 1)[0].epoch)
		require.NoError(t, l.Prefetch(t.Context()))
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Prefetch(t.Context()), ErrClosed)
	})
}

func TestWorkersRestAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		s := base()
		s.source.read = func(ctx context.Context, _ int64) error {
			reads.Add(1)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		for _, wait := range []func(context.Context) error{
			l.Prefetch,
			func(ctx context.Context) error { _, err := l.Next(ctx); return err },
			func(ctx context.Context) error { return onlyError(t, l.Epoch(ctx)) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			began := time.Now()
			require.ErrorIs(t, wait(ctx), context.DeadlineExceeded)
			require.Equal(t, time.Millisecond, time.Since(began), "readers see the end of the context")
			cancel()
			at := reads.Load()
			time.Sleep(time.Hour)
			require.Equal(t, at, reads.Load())
		}
		_, err = l.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Reset())
		at := reads.Load()
		time.Sleep(time.Hour)
		require.Equal(t, at, reads.Load(), "what was made ahead is void")
		require.NoError(t, l.Close())
	})
}

func TestABadSampleOfTheSecondPipeline(t *testing.T) {
	broken := true
	a, b := base(), base()
	a.reader.NumShards, b.reader.NumShards, b.reader.ShardID = 2, 2, 1
	b.source.read = func(context.Context, int64) error {
		if broken {
			return errors.New("broken")
		}
		return nil
	}
	l, err := New(Options{}, a.pipe(t), b.pipe(t))
	require.NoError(t, err)
	defer l.Close()
	for range 4 { // more often than there are batches
		var bad *pipeline.SampleError
		require.ErrorAs(t, onlyError(t, l.Epoch(t.Context())), &bad)
	}
	broken = false
	require.Len(t, take(t, l, all), l.Len())
}

func TestAHeldBatchKeepsTheLoaderFromMoving(t *testing.T) {
	l := base().loaderOf(t)
	held, err := l.Next(t.Context())
	require.NoError(t, err)
	held.Retain()
	require.NoError(t, l.Reset())
	_, err = l.Next(t.Context())
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "release it")
	held.Release()
	rs := take(t, l, all)
	require.Len(t, rs, l.Len())
	require.Equal(t, int64(1), rs[0].epoch)
}

func TestDALIModeGivesNoEpochUp(t *testing.T) {
	s := base()
	s.reader.Shuffle = false
	s.loader.Mode = shard.DALI
	l := s.loaderOf(t)
	take(t, l, 2)
	err := l.Reset()
	require.ErrorIs(t, err, ErrUnfinished)
	require.ErrorContains(t, err, "2 of 6 batches were delivered")
	require.Equal(t, int64(2), take(t, l, all)[0].step)
	take(t, l, l.Len())
	require.NoError(t, l.Reset())
	require.Equal(t, int64(2), take(t, l, 1)[0].epoch)
}

func TestPrefetchFails(t *testing.T) {
	broken := true
	s := base()
	s.source.read = func(context.Context, int64) error {
		if broken {
			return errors.New("broken")
		}
		return nil
	}
	l := s.loaderOf(t)
	var bad *pipeline.SampleError
	require.ErrorAs(t, l.Prefetch(t.Context()), &bad)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Prefetch(ctx), context.Canceled)
	_, err := l.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	broken = false
	require.Len(t, take(t, l, all), l.Len())
}

func TestWhatWasPrefetchedIsKeptForAnotherContext(t *testing.T) {
	l := base().loaderOf(t)
	require.NoError(t, l.Prefetch(t.Context()))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, onlyError(t, l.Epoch(ended)), context.Canceled)
	b, err := l.Next(ended)
	require.Nil(t, b)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, take(t, l, all), l.Len())
}

// onlyError returns the error that is all that a loop yields.
func onlyError(t *testing.T, loop iter.Seq2[*Batch, error]) (only error) {
	t.Helper()
	n := 0
	for b, err := range loop {
		require.Nil(t, b)
		n, only = n+1, err
	}
	require.Equal(t, 1, n)
	return only
}

// A batch that a hook's panic kept from being delivered is the next one.
// What other pipelines have delivered before is given back.
func TestAPanicInAHookOfTheSecondPipeline(t *testing.T) {
	fail := true
	open := func(rank int) *pipeline.Pipeline {
		s := base()
		s.reader.NumShards, s.reader.ShardID = 2, rank
		if rank == 1 {
			s.options.Events.BatchDelivered = func(e stats.BatchEvent) {
				if e.Step == 1 && fail {
					panic("hook")
				}
			}
		}
		return s.pipe(t)
	}
	l, err := New(Options{}, open(0), open(1))
	require.NoError(t, err)
	defer l.Close()
	for range 4 {
		require.PanicsWithValue(t, "hook", func() { take(t, l, all) })
	}
	fail = false
	require.Len(t, take(t, l, all), l.Len()-1)
}

func TestAPanicInAHookLosesNoBatch(t *testing.T) {
	want := take(t, base().loaderOf(t), all)
	s := base()
	fail := true
	s.options.Events.BatchDelivered = func(e stats.BatchEvent) {
		if e.Step == 1 && fail {
			panic("hook")
		}
	}
	l := s.loaderOf(t)
	for range 4 { // as many as there are batches, and one more
		require.PanicsWithValue(t, "hook", func() { take(t, l, all) })
	}
	fail = false
	require.Equal(t, want[1:], take(t, l, all))
}

func TestBatchesMayBeReleasedInAnyOrder(t *testing.T) {
	s := base()
	s.options.PrefetchDepth = 2
	l := s.loaderOf(t)
	first, err := l.Next(t.Context())
	require.NoError(t, err)
	first.Retain()
	want := recordOf(first)
	for range 3 {
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			require.NotSame(t, first, b)
			require.Equal(t, want, recordOf(first))
		}
	}
	first.Release()
	require.Len(t, take(t, l, all), l.Len())
}

func TestSequencesWithoutABatch(t *testing.T) {
	for _, test := range []struct {
		n int64
		o Options
	}{{0, Options{}}, {3, Options{LastBatch: shard.Drop}}} {
		p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
			g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{test.n})[0])
		})
		require.NoError(t, err)
		l, err := New(test.o, p)
		require.NoError(t, err)
		n := 0
		for _, err := range l.Steps(t.Context(), 100) {
			require.ErrorIs(t, err, shard.ErrNoSteps)
			n++
		}
		require.Equal(t, 1, n)
		require.NoError(t, l.Prefetch(t.Context()))
		_, err = l.Next(t.Context())
		require.ErrorIs(t, err, shard.ErrNoSteps)
		require.ErrorIs(t, l.Close(), shard.ErrNoSteps, "the loop's body went on after it")
	}
}

func TestSequencesBeginAnewAfterACancel(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		x := g.ReadSequence(pipeline.ReaderOptions{}, endless{10})[0]
		g.Output("x", x)
		g.Output("draw", x)
	})
	require.NoError(t, err)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range l.Epoch(ctx) {
		cancel()
		require.True(t, err == nil || errors.Is(err, context.Canceled))
	}
	require.NoError(t, l.Prefetch(t.Context()), "within an epoch this does nothing")
	rs := take(t, l, 1)
	require.EqualValues(t, 1, l.step)
	rs = append(rs, take(t, l, all)...)
	require.Len(t, rs, 3)
	require.Equal(t, int64(0), rs[0].epoch)
	require.NoError(t, l.Prefetch(t.Context()))
	require.NotNil(t, l.ready)
	for range rs {
		_, err = l.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Prefetch(t.Context()), "which would not notice the end")
	}
	_, err = l.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
}

// A plan in DALI mode ends, if only after a million epochs.
func TestDALIModeEndsSomeTime(t *testing.T) {
	s := base()
	s.reader.Shuffle = false
	s.loader.Mode = shard.DALI
	s.options.BatchSize = 22
	l := s.loaderOf(t)
	require.NoError(t, l.Seek(shard.Position{Epoch: shard.MaxDALIEpochs - 1, Phases: []shard.Phase{{Shards: 1, Batch: 22}}}))
	n := 0
	var last error
	for _, err := range l.Steps(t.Context(), 5) {
		n, last = n+1, err
	}
	require.Equal(t, 2, n)
	require.ErrorIs(t, last, shard.ErrNoSteps)
}
