package pipeline

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// bareOne returns a pipeline of the numbers 0 … n-1.
func bareOne(t *testing.T, o Options, n int64) *Pipeline {
	t.Helper()
	p := squares(t, o, numbers{n: n}, nil)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestRunFillsEveryBatchAndDoesNotEnd(t *testing.T) {
	p := bareOne(t, Options{BatchSize: 4, Workers: 2}, 10)
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
	require.ErrorIs(t, err, ErrClosed)
}

func TestReadersOfARunGoAtTheirOwnPace(t *testing.T) {
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		g.Output("a", g.Read(ReaderOptions{}, numbers{n: 4})[0])
		g.Output("b", g.Read(ReaderOptions{}, numbers{n: 6})[0])
	})
	require.NoError(t, err)
	defer p.Close()
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
	p := bareOne(t, Options{BatchSize: 4, PrefetchDepth: 2}, 1000)
	require.True(t, p.Empty())
	_, err := p.ShareOutputs(t.Context())
	require.ErrorIs(t, err, ErrNotScheduled)
	require.ErrorIs(t, p.ReleaseOutputs(), ErrReleased)

	require.NoError(t, p.ScheduleRun(t.Context())) // two of them
	require.False(t, p.Empty())
	for k := range int64(2) {
		b, err := p.ShareOutputs(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4*k, b.IDs()[0])
		_, err = p.ShareOutputs(t.Context())
		require.ErrorContains(t, err, "call ReleaseOutputs first")
		require.NoError(t, p.ReleaseOutputs())
		require.ErrorIs(t, p.ReleaseOutputs(), ErrReleased, "twice")
	}
	require.True(t, p.Empty())
	_, err = p.ShareOutputs(t.Context())
	require.ErrorIs(t, err, ErrNotScheduled)

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
	run := func(p *Pipeline) error { _, err := p.Run(t.Context()); return err }
	schedule := func(p *Pipeline) error { return p.ScheduleRun(t.Context()) }
	iterate := func(p *Pipeline) error {
		r, err := p.NewRunner(inOrder{10, 4})
		if err != nil {
			return err
		}
		return r.Close()
	}
	names := []mode{modeRun, modeSchedule, modeIterator}
	for i, first := range []func(*Pipeline) error{run, schedule, iterate} {
		for j, second := range []func(*Pipeline) error{run, schedule, iterate} {
			p := bareOne(t, Options{BatchSize: 4}, 10)
			require.NoError(t, first(p))
			err := second(p)
			if i == j && i != 2 {
				require.NoError(t, err)
			} else if i != j {
				var mixed *ModeError
				require.ErrorAs(t, err, &mixed)
				require.Equal(t, ModeError{Used: string(names[i]), Tried: string(names[j])}, *mixed)
				require.ErrorContains(t, err, string(names[i]))
				require.ErrorContains(t, err, string(names[j]))
			}
		}
	}
	p := bareOne(t, Options{BatchSize: 4}, 10)
	r, err := p.NewRunner(inOrder{10, 4})
	require.NoError(t, err)
	require.ErrorIs(t, p.Close(), ErrBusy)
	require.NoError(t, r.Close())
}

func TestStatsOfEveryWayToRun(t *testing.T) {
	p := bareOne(t, Options{BatchSize: 4}, 10)
	require.Equal(t, Stats{}, p.Stats())
	for range 3 {
		_, err := p.Run(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, p.Close())
	s := p.Stats()
	require.EqualValues(t, 3, s.Consumer.Batches)
	require.GreaterOrEqual(t, s.Operators[0].Samples, int64(12))

	p = bareOne(t, Options{BatchSize: 4}, 10)
	r, err := p.NewRunner(inOrder{10, 4})
	require.NoError(t, err)
	_, err = r.Next(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, r.Stats(), p.Stats())
}

func TestASequenceRunsOutAndIsReset(t *testing.T) {
	ended := 0
	p, err := New(Options{BatchSize: 4}, func(g *Graph) {
		g.Output("n", g.ReadSequence(ReaderOptions{}, count{n: 6, ended: &ended})[0])
	})
	require.NoError(t, err)
	defer p.Close()
	for epoch := range int64(3) {
		for range 2 {
			b, err := p.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, epoch, b.Epoch())
		}
		for range 2 {
			_, err = p.Run(t.Context())
			require.ErrorIs(t, err, io.EOF)
		}
		require.NoError(t, p.Reset())
	}
}

func TestABadSampleDoesNotEndARun(t *testing.T) {
	src := numbers{n: 8, read: func(_ context.Context, i int64) error {
		if i == 2 {
			return errors.New("broken")
		}
		return nil
	}}
	p := squares(t, Options{BatchSize: 4}, src, nil)
	defer p.Close()
	for range 3 {
		_, err := p.Run(t.Context())
		var bad *SampleError
		require.ErrorAs(t, err, &bad)
		b, err := p.Run(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 4, b.IDs()[0])
	}
}

func TestFeedInput(t *testing.T) {
	define := func(g *Graph) {
		v := g.Input("data", datum.Spec{DType: datum.Float32, Shape: []int{2}}, datum.Spec{DType: datum.Int32})
		g.Output("x", v[0])
		g.Output("y", v[1])
	}
	p, err := New(Options{BatchSize: 3, Workers: 2}, define)
	require.NoError(t, err)
	defer p.Close()
	feed := func(p *Pipeline, rows int, first int32) error {
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
	require.ErrorContains(t, bareOne(t, Options{BatchSize: 1}, 1).FeedInput("", 1, nil), "has a source of its own")

	p2, err := New(Options{BatchSize: 3}, define)
	require.NoError(t, err)
	defer p2.Close()
	_, err = p2.NewRunner(inOrder{3, 3})
	require.ErrorContains(t, err, "use Run or ScheduleRun, not an iterator")
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
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		g.Output("a", g.Read(ReaderOptions{Name: "train", NumShards: 4, ShardID: 1, PadLastBatch: true, StickToShard: true}, numbers{n: 10})[0])
		g.Output("b", g.Read(ReaderOptions{}, numbers{n: 6})[0])
	})
	require.NoError(t, err)
	m, err := p.ReaderMeta("train")
	require.NoError(t, err)
	require.Equal(t, ReaderMeta{EpochSize: 10, EpochSizePadded: 12, NumShards: 4, ShardID: 1, PadLastBatch: true, StickToShard: true}, m)
	n, err := p.EpochSize("train")
	require.NoError(t, err)
	require.EqualValues(t, 12, n)
	n, err = p.EpochSize("reader2")
	require.NoError(t, err)
	require.EqualValues(t, 6, n)
	_, err = p.EpochSize("")
	require.ErrorContains(t, err, `there is no reader ""; the pipeline has ["train" "reader2"]`)
}
