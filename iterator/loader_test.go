package iterator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbers is a source whose sample i is the int64 scalar i.
type numbers struct {
	n           int64
	read        func(ctx context.Context, i int64) error // may be nil
	fingerprint uint64
}

func (s numbers) Len() int64              { return s.n }
func (s numbers) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int64}} }
func (s numbers) Meta() datum.Meta        { return datum.Meta{Fingerprint: s.fingerprint} }
func (s numbers) Describe(i int64) string { return fmt.Sprintf("number %d", i) }
func (s numbers) Read(ctx context.Context, i int64, out []*datum.Tensor) error {
	if s.read != nil {
		if err := s.read(ctx, i); err != nil {
			return err
		}
	}
	return put(out, i)
}

func put(out []*datum.Tensor, i int64) error {
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	out[0].Int64s()[0] = i
	return nil
}

// draw adds a random number per sample.
func draw(g *pipeline.Graph) pipeline.Value {
	random := g.NewRandom()
	return g.Add(pipeline.Op{
		Name: "draw", Outputs: []datum.Spec{{DType: datum.Int64}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error {
				r := random.At(c)
				return put(out, int64(r.Uint64()>>1))
			}), nil
		},
	})[0]
}

type setup struct {
	options pipeline.Options
	reader  pipeline.ReaderOptions
	loader  Options
	source  numbers
	extra   bool // one more operator
	again   bool // one more output
}

func (s setup) pipe(t require.TestingT) *pipeline.Pipeline {
	p, err := pipeline.New(s.options, func(g *pipeline.Graph) {
		x := g.Read(s.reader, s.source)[0]
		g.Output("x", x)
		if s.extra {
			draw(g)
		}
		g.Output("draw", draw(g))
		if s.again {
			g.Output("again", x)
		}
	})
	require.NoError(t, err)
	return p
}

func (s setup) loaderOf(t interface {
	require.TestingT
	Cleanup(func())
}) *Loader {
	l, err := New(s.loader, s.pipe(t))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// record is what a batch showed: the samples of its valid rows and their draws.
type record struct {
	epoch, step int64
	x, draw     []int64
}

func recordOf(b *Batch) record {
	r := record{epoch: b.Epoch(), step: b.Step()}
	for i, ok := range b.Mask() {
		if ok {
			r.x = append(r.x, b.Int64s("x")[i])
			r.draw = append(r.draw, b.Int64s("draw")[i])
		}
	}
	return r
}

// take records at most n batches of an epoch.
func take(t require.TestingT, l *Loader, n int) (rs []record) {
	for b, err := range l.Epoch(context.Background()) {
		require.NoError(t, err)
		rs = append(rs, recordOf(b))
		if len(rs) == n {
			break
		}
	}
	return rs
}

const all = 1 << 30

func base() setup {
	return setup{
		options: pipeline.Options{BatchSize: 4, Workers: 2, Seed: 7},
		reader:  pipeline.ReaderOptions{Shuffle: true},
		source:  numbers{n: 22},
	}
}

func TestEveryEpochIsThePlan(t *testing.T) {
	for _, policy := range []shard.Policy{shard.Partial, shard.Fill, shard.Drop} {
		s := base()
		s.loader.LastBatch = policy
		l := s.loaderOf(t)
		for epoch := range int64(3) {
			rs := take(t, l, all)
			require.Len(t, rs, l.Len())
			for step, r := range rs {
				require.Equal(t, l.Plan().AppendBatch(nil, epoch, int64(step), 0), r.x)
				require.Equal(t, []int64{epoch, int64(step)}, []int64{r.epoch, r.step})
			}
		}
	}
}

func TestResultsDoNotDependOnWorkersDepthOrRestarts(t *testing.T) {
	l := base().loaderOf(t)
	whole := append(take(t, l, all), take(t, l, all)...)
	rapid.Check(t, func(t *rapid.T) {
		want := whole
		s := base()
		s.options.Workers = rapid.IntRange(1, 6).Draw(t, "workers")
		s.options.PrefetchDepth = rapid.IntRange(1, 5).Draw(t, "depth")
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		for len(want) > 0 {
			var got []record
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				got = take(t, l, rapid.IntRange(1, 4).Draw(t, "n"))
			case 1: // a fresh loader at the same place
				pos, err := l.Position()
				require.NoError(t, err)
				require.NoError(t, l.Close())
				l, err = New(s.loader, s.pipe(t))
				require.NoError(t, err)
				require.NoError(t, l.Seek(pos))
			case 2:
				b, err := l.Next(context.Background())
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				got = append(got, recordOf(b))
			case 3:
				ctx, cancel := context.WithCancel(context.Background())
				for b, err := range l.Epoch(ctx) {
					if err != nil {
						require.ErrorIs(t, err, context.Canceled)
						break
					}
					got = append(got, recordOf(b))
					cancel()
				}
				cancel()
			}
			for _, r := range got {
				require.Equal(t, want[0], r)
				want = want[1:]
			}
			if len(want) > 0 {
				wantNext(t, want[0], l)
			}
		}
	})
}

// wantNext checks that the loader stands before the batch of r, or at the end of
// the epoch before it.
func wantNext(t require.TestingT, r record, l *Loader) {
	pos, err := l.Position()
	require.NoError(t, err)
	require.Equal(t, r.epoch, pos.Epoch)
	require.Equal(t, r.step, pos.Phases[0].Steps)
}

func TestRanksShareAnEpoch(t *testing.T) {
	for _, partition := range []shard.Partition{shard.ByShard, shard.ByStep} {
		var pipes []*pipeline.Pipeline
		for rank := range 3 {
			s := base()
			s.reader.NumShards, s.reader.ShardID = 3, rank
			pipes = append(pipes, s.pipe(t))
		}
		l, err := New(Options{Partition: partition}, pipes...)
		require.NoError(t, err)
		require.True(t, l.Uneven())
		for range 2 {
			var got []int64
			steps := 0
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				require.Equal(t, 3, b.Parts())
				require.PanicsWithValue(t, "iterator: there is no pipeline 3; the loader has 3, counted from 0", func() { b.Part(3) })
				for i := range b.Parts() {
					for row, ok := range b.Part(i).Mask() {
						if ok {
							got = append(got, b.Part(i).Int64s("x")[row])
						}
					}
				}
				steps++
			}
			require.Equal(t, l.Len(), steps)
			slices.Sort(got)
			require.Equal(t, upTo(22), got)
		}
		require.NoError(t, l.Close())
	}
}

func upTo(n int64) (xs []int64) {
	for i := range n {
		xs = append(xs, i)
	}
	return xs
}

func TestEpochsGoOnWithoutAPause(t *testing.T) {
	l := base().loaderOf(t)
	var got []record
	for b, err := range l.Epochs(t.Context(), 3) {
		require.NoError(t, err)
		got = append(got, recordOf(b))
	}
	m := base().loaderOf(t)
	want := append(append(take(t, m, all), take(t, m, all)...), take(t, m, all)...)
	require.Equal(t, want, got)
}

func TestBreakKeepsThePlaceAndResetGivesItUp(t *testing.T) {
	l := base().loaderOf(t)
	first := take(t, l, 2)
	rest := take(t, l, all)
	require.EqualValues(t, 2, rest[0].step)
	require.Len(t, append(first, rest...), l.Len())
	take(t, l, 1)
	require.NoError(t, l.Reset())
	require.NoError(t, l.Reset(), "at the first batch of an epoch there is nothing to give up")
	r := take(t, l, 1)
	require.Equal(t, []int64{2, 0}, []int64{r[0].epoch, r[0].step})
}

func TestTheBodyMayPanicOrEndItsGoroutine(t *testing.T) {
	l := base().loaderOf(t)
	require.PanicsWithValue(t, "no", func() {
		for range l.Epoch(t.Context()) {
			panic("no")
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range l.Epoch(t.Context()) {
			runtime.Goexit()
		}
	}()
	<-done
	require.EqualValues(t, 2, take(t, l, 1)[0].step)
}

func TestOneUserAtATime(t *testing.T) {
	l := base().loaderOf(t)
	for _, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		require.ErrorIs(t, onlyError(t, l.Epoch(t.Context())), ErrBusy)
		require.ErrorIs(t, l.Prefetch(t.Context()), ErrBusy)
		_, err = l.Next(t.Context())
		require.ErrorIs(t, err, ErrBusy)
		require.ErrorIs(t, l.Reset(), ErrBusy)
		require.EqualError(t, l.Reset(), "pipeline: in use: a loop over the loader is running; end it first")
		require.ErrorIs(t, l.Close(), ErrBusy)
	}
	require.ErrorIs(t, l.Err(), ErrBusy)
	require.NoError(t, l.Reset())
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, onlyError(t, l.Epoch(t.Context())), ErrClosed)
	_, err := l.Next(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, l.Reset(), ErrClosed)
}

// Other goroutines get an error at any time, and no data race.
func TestOtherGoroutinesAreTurnedAway(t *testing.T) {
	l := base().loaderOf(t)
	var wg sync.WaitGroup
	for _, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		wg.Go(func() {
			for range l.Epoch(t.Context()) {
				return // busy, closed, or the loader's after all
			}
		})
		wg.Go(func() {
			for !errors.Is(l.Reset(), ErrClosed) {
				runtime.Gosched()
			}
		})
		break
	}
	for errors.Is(l.Close(), ErrBusy) {
		runtime.Gosched()
	}
	wg.Wait()
}

func TestPulledIteratorsStop(t *testing.T) {
	l := base().loaderOf(t)
	next, stop := iter.Pull2(l.Epoch(t.Context()))
	_, err, ok := next()
	require.True(t, ok)
	require.NoError(t, err)
	stop()
	require.EqualValues(t, 1, take(t, l, 1)[0].step)
}

func TestCancelEndsTheLoopOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := base()
		s.source.read = func(ctx context.Context, i int64) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second+time.Millisecond, why)
		defer cancel()
		good, bad := 0, 0
		for _, err := range l.Epoch(ctx) {
			if err != nil {
				require.ErrorIs(t, err, why)
				bad++
				continue
			}
			good++
		}
		require.Equal(t, []int{2, 1}, []int{good, bad}, "two workers make four samples in two seconds")
		require.EqualValues(t, 2, take(t, l, 1)[0].step)
		require.ErrorIs(t, l.Close(), why, "the loop's body went on after it")
	})
}

func TestAfterANaturalEndTheWorkersFillAheadAndAfterABreakTheyRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := base()
		s.options.Workers = 1
		s.source.read = func(context.Context, int64) error { time.Sleep(time.Second); reads++; return nil }
		l, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Zero(t, reads, "nothing is read before the first batch is asked for")
		take(t, l, all)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 22+3*4, reads, "every free batch is made ahead")
		take(t, l, 1)
		at := reads
		time.Sleep(time.Hour)
		require.LessOrEqual(t, reads-at, 1)
		require.NoError(t, l.Close())
	})
}

func TestABadSampleIsTriedAgainOrSkippedByReset(t *testing.T) {
	broken := true
	s := base()
	s.reader.Shuffle = false
	s.source.read = func(_ context.Context, i int64) error {
		if broken && i == 9 {
			return errors.New("broken")
		}
		return nil
	}
	l := s.loaderOf(t)
	failed := func() {
		t.Helper()
		n := 0
		for b, err := range l.Epoch(t.Context()) {
			n++
			if err != nil {
				require.Nil(t, b)
				var se *pipeline.SampleError
				require.ErrorAs(t, err, &se)
				require.EqualValues(t, 9, se.Index)
			}
		}
		require.NotZero(t, n)
	}
	failed()
	failed()
	broken = false
	require.EqualValues(t, 2, take(t, l, 1)[0].step)
	broken = true
	require.NoError(t, l.Reset())
	failed()
}

func TestRetainedBatches(t *testing.T) {
	s := base()
	s.options.PrefetchDepth = 2
	l := s.loaderOf(t)
	var kept []*Batch
	var want []record
	var last error
	for b, err := range l.Epoch(t.Context()) {
		if last = err; err != nil {
			break
		}
		b.Retain()
		kept, want = append(kept, b), append(want, recordOf(b))
	}
	require.ErrorContains(t, last, "all 3 batches are held")
	require.Len(t, kept, 3)
	for i, b := range kept {
		require.Equal(t, want[i], recordOf(b))
		b.Release()
	}
	require.EqualValues(t, 3, take(t, l, 1)[0].step)
}

type endless struct{ n int64 }

func (s endless) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int64}} }
func (s endless) Meta() datum.Meta        { return datum.Meta{} }
func (s endless) Describe(i int64) string { return fmt.Sprint(i) }
func (s endless) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for i := range s.n {
			if !yield(func(out []*datum.Tensor) error { return put(out, i) }, nil) {
				return
			}
		}
	}
}

func TestSequences(t *testing.T) {
	build := func(o Options, n int64) (*Loader, error) {
		p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 3}, func(g *pipeline.Graph) {
			g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{n})[0])
			g.Output("draw", draw(g))
		})
		require.NoError(t, err)
		return New(o, p)
	}
	two := [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}
	for _, c := range []struct {
		policy shard.Policy
		n      int64
		want   [][]int64
	}{
		{shard.Partial, 8, two},
		{shard.Partial, 10, append(two[:2:2], []int64{8, 9})},
		{shard.Drop, 8, two},
		{shard.Drop, 10, two},
	} {
		l, err := build(Options{LastBatch: c.policy}, c.n)
		require.NoError(t, err)
		require.Equal(t, -1, l.Len())
		require.Equal(t, c.policy == shard.Partial, l.Uneven())
		for epoch := range int64(3) {
			var got [][]int64
			for _, r := range take(t, l, all) {
				require.Equal(t, epoch, r.epoch)
				got = append(got, r.x)
			}
			require.Equal(t, c.want, got)
		}
		_, err = l.Position()
		require.Error(t, err)
		require.Error(t, l.Seek(shard.Position{}))
		require.NoError(t, l.Close())
	}
	_, err := build(Options{LastBatch: shard.Fill}, 10)
	require.ErrorContains(t, err, "LastBatch")
	_, err = build(Options{Mode: shard.DALI}, 10)
	require.ErrorContains(t, err, "no length")
	_, err = build(Options{Partition: shard.ByStep}, 10)
	require.ErrorContains(t, err, "no length")
	_, err = build(Options{ShuffleBlock: 4}, 10)
	require.ErrorContains(t, err, "no length")
}

func TestASecondReaderKeepsPace(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Seed: 3}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "big"}, numbers{n: 12})[0])
		g.Output("draw", g.Read(pipeline.ReaderOptions{Name: "small", Shuffle: true}, numbers{n: 7})[0])
	})
	require.NoError(t, err)
	_, err = New(Options{}, p)
	require.ErrorContains(t, err, `the pipeline has readers ["big" "small"]; name the one that drives the loader`)
	l, err := New(Options{ReaderName: "big"}, p)
	require.NoError(t, err)
	defer l.Close()
	var small []int64
	for b, err := range l.Epochs(t.Context(), 2) {
		require.NoError(t, err)
		require.Equal(t, 4, b.NumValid())
		small = append(small, b.Int64s("draw")...)
	}
	require.Len(t, small, 24)
	for ; len(small) >= 7; small = small[7:] {
		require.Equal(t, upTo(7), slices.Sorted(slices.Values(small[:7])))
	}
}

func TestASecondReaderThatIsTooLarge(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "a"}, numbers{n: 12})[0])
		g.Output("y", g.Read(pipeline.ReaderOptions{Name: "b"}, numbers{n: 2 * shard.MaxSamples})[0])
	})
	require.NoError(t, err)
	_, err = New(Options{ReaderName: "a"}, p)
	var bad *shard.ConfigError
	require.ErrorAs(t, err, &bad)
	require.ErrorContains(t, err, `reader "b"`)
}

func TestMistakes(t *testing.T) {
	pipes := func(change func(*setup)) []*pipeline.Pipeline {
		a, b := base(), base()
		a.reader.NumShards, b.reader.NumShards, b.reader.ShardID = 2, 2, 1
		change(&b)
		return []*pipeline.Pipeline{a.pipe(t), b.pipe(t)}
	}
	for want, change := range map[string]func(*setup){
		"the batch size differs: 4 and 5":                                                func(s *setup) { s.options.BatchSize = 5 },
		"the number of samples differs: 22 and 9":                                        func(s *setup) { s.source.n = 9 },
		"the NumShards differs: 2 and 3":                                                 func(s *setup) { s.reader.NumShards = 3 },
		"the PadLastBatch differs: false and true":                                       func(s *setup) { s.reader.PadLastBatch = true },
		"the seed differs: 7 and 8":                                                      func(s *setup) { s.options.Seed = 8 },
		"the fingerprint of the data set differs: 0000000000000000 and 0000000000000009": func(s *setup) { s.source.fingerprint = 9 },
		"two of them read shard 0 of 2":                                                  func(s *setup) { s.reader.ShardID = 0 },
	} {
		_, err := New(Options{}, pipes(change)...)
		require.ErrorContains(t, err, want)
		var oe *OptionError
		require.ErrorAs(t, err, &oe)
	}
	_, err := New(Options{})
	require.ErrorContains(t, err, "give at least one")
	_, err = New(Options{ReaderName: "train"}, base().pipe(t))
	require.ErrorContains(t, err, `there is no reader "train"; the pipeline has ["reader"]`)
	s := base()
	s.options.BatchSize = 23
	_, err = New(Options{LastBatch: shard.Drop}, s.pipe(t))
	require.ErrorIs(t, err, shard.ErrNoSteps)
	p := base().pipe(t)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	_, err = New(Options{}, p)
	require.ErrorIs(t, err, ErrBusy)
	require.EqualError(t, err, "pipeline: in use by another loader; make a pipeline for each")
	require.NoError(t, l.Close())
	_, err = New(Options{}, nil)
	require.EqualError(t, err, "iterator: pipelines: pipeline 0 is nil; look at the error of pipeline.New")
}

func TestALoaderThatIsRefusedKeepsNoPipeline(t *testing.T) {
	s := base()
	s.reader.NumShards = 2
	free := s.pipe(t)
	s.reader.ShardID = 1
	taken := s.pipe(t)
	other, err := New(Options{}, taken)
	require.NoError(t, err)
	_, err = New(Options{}, free, taken)
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, other.Close())
	l, err := New(Options{}, free, taken)
	require.NoError(t, err)
	require.Equal(t, []*pipeline.Pipeline{free, taken}, l.Pipelines())
	require.NoError(t, l.Close())
}

func TestStepsAllocateNothing(t *testing.T) {
	s := base()
	s.source.n = 1 << 40
	l := s.loaderOf(t)
	next, stop := iter.Pull2(l.Epoch(t.Context()))
	defer stop()
	for range 10 {
		next()
	}
	alloctest.None(t, 200, func() { next() })
}
