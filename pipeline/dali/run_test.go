package dali_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// numbers is a source of the numbers 0 … n-1; read, which may be nil, is called first.
type numbers struct {
	n    int64
	read func(i int64) error
}

func (s numbers) Len() int64              { return s.n }
func (s numbers) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int32}} }
func (s numbers) Meta() datum.Meta        { return datum.Meta{} }
func (s numbers) Describe(i int64) string { return fmt.Sprintf("number %d", i) }
func (s numbers) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	if s.read != nil {
		if err := s.read(i); err != nil {
			return err
		}
	}
	out[0].Int32s()[0] = int32(i)
	return nil
}

// count is the sequence 0 … n-1.
type count int32

func (s count) Outputs() []datum.Spec   { return numbers{}.Outputs() }
func (s count) Meta() datum.Meta        { return datum.Meta{} }
func (s count) Describe(i int64) string { return fmt.Sprintf("count[%d]", i) }
func (s count) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for i := range int32(s) {
			if !yield(func(out []*datum.Tensor) error { out[0].Int32s()[0] = i; return nil }, nil) {
				return
			}
		}
	}
}

// build returns a pipeline and what runs it, which the test closes at its end.
func build(t *testing.T, o pipeline.Options, define func(*pipeline.Graph)) (*pipeline.Pipeline, *dali.Pipeline) {
	t.Helper()
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	d := dali.New(p)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return p, d
}

// show makes the only output of src that of the pipeline.
func show(src datum.Source) func(*pipeline.Graph) {
	return func(g *pipeline.Graph) { g.Output("n", g.Read(pipeline.ReaderOptions{}, src)[0]) }
}

func TestRunFillsEveryBatchAndDoesNotEnd(t *testing.T) {
	_, p := build(t, pipeline.Options{BatchSize: 4, Workers: 2}, show(numbers{n: 10}))
	var got [][]int64
	for k := range 7 {
		b, err := p.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, b.NumValid())
		require.EqualValues(t, k/3, b.Epoch())
		require.EqualValues(t, k%3, b.Step())
		got = append(got, append([]int64{}, b.IDs()...))
	}
	require.Equal(t, []int64{0, 1, 2, 3}, got[0])
	require.Equal(t, []int64{8, 9}, got[2][:2])
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err := p.Run(t.Context())
	require.ErrorIs(t, err, pipeline.ErrClosed)
}

func TestReadersOfARunGoAtTheirOwnPace(t *testing.T) {
	_, p := build(t, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("a", g.Read(pipeline.ReaderOptions{}, numbers{n: 4})[0])
		g.Output("b", g.Read(pipeline.ReaderOptions{}, numbers{n: 6})[0])
	})
	var a, b []int32
	for range 6 {
		batch, err := p.Run(t.Context())
		require.NoError(t, err)
		a, b = append(a, batch.Int32s("a")...), append(b, batch.Int32s("b")...)
	}
	require.Equal(t, []int32{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, a)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, b)
}

func TestScheduleShareRelease(t *testing.T) {
	_, p := build(t, pipeline.Options{BatchSize: 4, PrefetchDepth: 2}, show(numbers{n: 1000}))
	require.True(t, p.Empty())
	_, err := p.ShareOutputs(t.Context())
	require.ErrorIs(t, err, dali.ErrNotScheduled)
	require.ErrorIs(t, p.ReleaseOutputs(), pipeline.ErrReleased)

	require.NoError(t, p.ScheduleRun(t.Context())) // two of them
	require.False(t, p.Empty())
	for k := range int64(2) {
		b, err := p.ShareOutputs(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4*k, b.IDs()[0])
		_, err = p.ShareOutputs(t.Context())
		require.ErrorContains(t, err, "call ReleaseOutputs first")
		require.NoError(t, p.ReleaseOutputs())
		require.ErrorIs(t, p.ReleaseOutputs(), pipeline.ErrReleased, "twice")
	}
	require.True(t, p.Empty())
	_, err = p.ShareOutputs(t.Context())
	require.ErrorIs(t, err, dali.ErrNotScheduled)

	for range 20 { // more than there is memory for
		require.NoError(t, p.ScheduleRun(t.Context()))
	}
	for k := range int64(20) {
		b, err := p.NextOutputs(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4*(k+2), b.IDs()[0])
	}
	require.True(t, p.Empty())
	require.NoError(t, p.Reset(), "sources have no end")
}

// The way in which a pipeline is run first is the only one.
func TestModesDoNotMix(t *testing.T) {
	run := func(d *dali.Pipeline) error { _, err := d.Run(t.Context()); return err }
	schedule := func(d *dali.Pipeline) error { return d.ScheduleRun(t.Context()) }
	names := []string{"Run", "ScheduleRun, ShareOutputs and ReleaseOutputs"}
	for i, first := range []func(*dali.Pipeline) error{run, schedule} {
		for j, second := range []func(*dali.Pipeline) error{run, schedule} {
			_, d := build(t, pipeline.Options{BatchSize: 4}, show(numbers{n: 10}))
			require.NoError(t, first(d))
			err := second(d)
			if i == j {
				require.NoError(t, err)
				continue
			}
			var mixed *dali.ModeError
			require.ErrorAs(t, err, &mixed)
			require.Equal(t, dali.ModeError{Used: names[i], Tried: names[j]}, *mixed)
			require.ErrorContains(t, err, names[i])
			require.ErrorContains(t, err, names[j])
		}
	}
}

// Whoever runs a pipeline first has it until Close; another may go on then.
func TestAPipelineHasOneOwner(t *testing.T) {
	for name, run := range map[string]func(*dali.Pipeline) error{
		"Run":            func(d *dali.Pipeline) error { _, err := d.Run(t.Context()); return err },
		"ScheduleRun":    func(d *dali.Pipeline) error { return d.ScheduleRun(t.Context()) },
		"ShareOutputs":   func(d *dali.Pipeline) error { _, err := d.ShareOutputs(t.Context()); return err },
		"NextOutputs":    func(d *dali.Pipeline) error { _, err := d.NextOutputs(t.Context()); return err },
		"ReleaseOutputs": (*dali.Pipeline).ReleaseOutputs,
	} {
		p, d := build(t, pipeline.Options{BatchSize: 4}, show(numbers{n: 10}))
		r, err := p.Engine().NewRunner(feedtest.Endless(4, 4))
		require.NoError(t, err)
		require.ErrorIs(t, run(d), pipeline.ErrBusy, name)
		require.NoError(t, d.Close(), "it has nothing to close")
		require.EqualValues(t, 10, d.EpochSize(""), "what describes the readers needs no owner")
		require.NoError(t, r.Close())
		_, err = d.Run(t.Context())
		require.NoError(t, err, "nothing was decided by what was refused")
		_, err = p.Engine().NewRunner(feedtest.Endless(4, 4))
		require.ErrorIs(t, err, pipeline.ErrBusy)
		_, err = dali.New(p).Run(t.Context())
		require.ErrorIs(t, err, pipeline.ErrBusy)
		require.NoError(t, d.Close())
		_, err = d.Run(t.Context())
		require.ErrorIs(t, err, pipeline.ErrClosed)
		next := dali.New(p)
		b, err := next.Run(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 0, b.Step(), "from the beginning")
		require.NoError(t, next.Close())
	}
}

func TestStatsOfARun(t *testing.T) {
	p, d := build(t, pipeline.Options{BatchSize: 4, EnableMemoryStats: true}, show(numbers{n: 10}))
	require.Equal(t, stats.Run{}, p.Stats())
	require.Nil(t, d.ExecutorStatistics())
	for range 3 {
		_, err := d.Run(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, []int64{3 * 4 * 4}, d.ExecutorStatistics()[0].Real, "three batches of four numbers")
	require.Equal(t, memstats.Host, d.ExecutorStatistics()[0].Kind[0])
	require.NoError(t, d.Close())
	s := p.Stats()
	require.EqualValues(t, 3, s.Consumer.Batches)
	require.GreaterOrEqual(t, s.Operators[0].Samples, int64(12))
	require.Equal(t, p.OperatorMemory(), d.ExecutorStatistics(), "after the end")
}

// The metadata of a reader that follows another are the other's; an epoch of a mix has as
// many samples as draws.
func TestReaderMetaOfFollowersAndMixes(t *testing.T) {
	_, d := build(t, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "pictures", PadLastBatch: true}, numbers{n: 10})[0])
		g.Output("y", g.Read(pipeline.ReaderOptions{Name: "masks", Follow: "pictures"}, numbers{n: 10})[0])
	})
	masks := d.ReaderMeta("masks")
	pictures := d.ReaderMeta("pictures")
	require.Equal(t, pictures, masks)

	_, d = build(t, pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		var v pipeline.Value
		g.Mix(pipeline.ReaderOptions{}, pipeline.Mix{Weights: []int64{1, 3}, Draws: 8}, func() {
			g.Read(pipeline.ReaderOptions{}, numbers{n: 5})
			v = g.Read(pipeline.ReaderOptions{}, numbers{n: 2})[0]
		})
		g.Output("x", v)
	})
	size := d.EpochSize("")
	require.EqualValues(t, 8, size)
	for k := range int64(4) {
		b, err := d.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, k/2, b.Epoch())
	}
}

// What a program has lent to an input stays as it is, and so does what was fed before and
// not read yet when a run ends: the next run begins with it.
func TestWhatWasFedIsKept(t *testing.T) {
	p, d := build(t, pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		g.Output("x", dali.Input(g, "in", datum.Spec{DType: datum.Uint8, Shape: []int{-1}})[0])
	})
	lent := []byte{1, 2, 3}
	lend := func(_ int, out []*datum.Tensor) error { return out[0].Lend(lent, len(lent)) }
	resize := func(_ int, out []*datum.Tensor) error {
		mem, err := out[0].Resize(2)
		copy(mem, []byte{8, 9})
		return err
	}
	for range 6 {
		require.NoError(t, d.FeedInput("in", 1, lend))
		b, err := d.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, lent, b.Sample("x", 0).Bytes())
		require.NoError(t, d.FeedInput("in", 1, resize))
		b, err = d.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []byte{8, 9}, b.Sample("x", 0).Bytes())
	}
	require.Equal(t, []byte{1, 2, 3}, lent)
	require.NoError(t, d.FeedInput("in", 1, lend))
	require.NoError(t, d.Close())
	next := dali.New(p)
	b, err := next.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, lent, b.Sample("x", 0).Bytes())
	_, err = next.Run(t.Context())
	require.ErrorContains(t, err, "call FeedInput first")
	require.NoError(t, next.Close())
}

func TestASequenceRunsOutAndIsReset(t *testing.T) {
	_, p := build(t, pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("n", g.ReadSequence(pipeline.ReaderOptions{}, count(6))[0])
	})
	for epoch := range int64(3) {
		for range 2 {
			b, err := p.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, epoch, b.Epoch())
		}
		for range 2 {
			_, err := p.Run(t.Context())
			require.ErrorIs(t, err, io.EOF)
		}
		require.NoError(t, p.Reset())
	}
}

func TestABadSampleDoesNotEndARun(t *testing.T) {
	src := numbers{n: 8, read: func(i int64) error {
		if i == 2 {
			return errors.New("broken")
		}
		return nil
	}}
	_, p := build(t, pipeline.Options{BatchSize: 4}, show(src))
	for range 3 {
		_, err := p.Run(t.Context())
		var bad *pipeline.SampleError
		require.ErrorAs(t, err, &bad)
		b, err := p.Run(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 4, b.IDs()[0])
	}
}

func TestFeedInput(t *testing.T) {
	define := func(g *pipeline.Graph) {
		v := dali.Input(g, "data", datum.Spec{DType: datum.Float32, Shape: []int{2}}, datum.Spec{DType: datum.Int32})
		g.Output("x", v[0])
		g.Output("y", v[1])
	}
	_, p := build(t, pipeline.Options{BatchSize: 3, Workers: 2}, define)
	feed := func(p *dali.Pipeline, rows int, first int32) error {
		return p.FeedInput("data", rows, func(row int, out []*datum.Tensor) error {
			if _, err := out[0].Resize(2); err != nil {
				return err
			}
			out[0].Float32s()[0], out[0].Float32s()[1] = float32(first)+float32(row), -1
			_, err := out[1].Resize()
			out[1].Int32s()[0] = first + int32(row)
			return err
		})
	}
	require.ErrorContains(t, p.ScheduleRun(t.Context()), `input "data" has no batch for this run; call FeedInput first`)
	require.NoError(t, feed(p, 3, 10))
	require.NoError(t, p.ScheduleRun(t.Context()))
	require.ErrorContains(t, p.ScheduleRun(t.Context()), "call FeedInput first")
	require.NoError(t, feed(p, 1, 20))
	require.NoError(t, feed(p, 2, 30))
	require.NoError(t, p.ScheduleRun(t.Context()))
	require.NoError(t, p.ScheduleRun(t.Context()))
	for _, want := range []struct {
		y    []int32
		mask []bool
	}{{[]int32{10, 11, 12}, []bool{true, true, true}}, {[]int32{20, 0, 0}, []bool{true, false, false}}, {[]int32{30, 31, 0}, []bool{true, true, false}}} {
		b, err := p.NextOutputs(t.Context())
		require.NoError(t, err)
		require.Equal(t, want.y, b.Int32s("y"))
		require.Equal(t, want.mask, b.Mask())
		require.Equal(t, float32(want.y[0]), b.Float32s("x")[0])
	}
	require.True(t, p.Empty())

	require.ErrorContains(t, p.FeedInput("label", 1, nil), `there is no reader "label"`)
	require.ErrorContains(t, p.FeedInput("data", 4, nil), `4 rows for input "data"; 1 … 3 make a batch`)
	broken := errors.New("no more data")
	require.ErrorIs(t, p.FeedInput("data", 1, func(int, []*datum.Tensor) error { return broken }), broken)
	require.ErrorContains(t, p.FeedInput("data", 1, func(int, []*datum.Tensor) error { return nil }), "output 0 was not written; call Resize and fill it")
	var shape *datum.ShapeError
	require.ErrorAs(t, p.FeedInput("data", 1, func(_ int, out []*datum.Tensor) error { _, err := out[0].Resize(5); return err }), &shape)
	_, other := build(t, pipeline.Options{BatchSize: 1}, show(numbers{n: 1}))
	require.ErrorContains(t, other.FeedInput("", 1, nil), "has a source of its own")

	built, p2 := build(t, pipeline.Options{BatchSize: 3}, define)
	_, err := built.Engine().NewRunner(feedtest.Endless(3, 3))
	require.ErrorContains(t, err, "of package dali, not an iterator")
	_, err = p2.Run(t.Context())
	require.ErrorContains(t, err, "call FeedInput first")
	for k := range int32(5) {
		require.NoError(t, feed(p2, 3, k))
		b, err := p2.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, k, b.Int32s("y")[0])
	}
}

func TestReaderMeta(t *testing.T) {
	_, p := build(t, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("a", g.Read(pipeline.ReaderOptions{Name: "train", NumShards: 4, ShardID: 1, PadLastBatch: true, StickToShard: true}, numbers{n: 10})[0])
		g.Output("b", g.Read(pipeline.ReaderOptions{}, numbers{n: 6})[0])
	})
	m := p.ReaderMeta("train")
	require.Equal(t, dali.ReaderMeta{EpochSize: 10, EpochSizePadded: 12, NumShards: 4, ShardID: 1, PadLastBatch: true, StickToShard: true}, m)
	n := p.EpochSize("train")
	require.EqualValues(t, 12, n)
	n = p.EpochSize("reader2")
	require.EqualValues(t, 6, n)
	require.PanicsWithValue(t, `dali: there is no reader ""; the pipeline has ["train" "reader2"]`, func() { p.EpochSize("") })
}

// An input without a name has one in errors, and is the only reader.
func TestAnInputWithoutAName(t *testing.T) {
	_, d := build(t, pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		g.Output("x", dali.Input(g, "", datum.Spec{DType: datum.Uint8, Shape: []int{1}})[0])
	})
	_, err := d.Run(t.Context())
	require.EqualError(t, err, `dali: input "input" has no batch for this run; call FeedInput first`)
	for _, name := range []string{"", "input"} {
		require.ErrorContains(t, d.FeedInput(name, 2, nil), `2 rows for input "input"; 1 … 1 make a batch`)
	}
}
