package iterator

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// samplesOf are the samples that Which tells of a reader.
func samplesOf(samples []Sample, part int, reader string) (of []Sample) {
	for _, s := range samples {
		if s.Part == part && s.Reader == reader {
			of = append(of, s)
		}
	}
	return of
}

// told checks that Which says what the rows of a batch hold: an output has the indices of
// the reader of that name.
func told(t require.TestingT, l *Loader, b *Batch, readers ...string) {
	samples, err := l.Which(b.Epoch(), b.Step())
	require.NoError(t, err)
	for part := range b.Parts() {
		for i, name := range readers {
			var indices []int64
			for row, s := range samplesOf(samples, part, name) {
				require.Equal(t, row, s.Row)
				if s.Source == 0 { // the others count their samples from 0 again
					require.Equal(t, fmt.Sprint("number ", s.Index), s.Name)
				}
				require.EqualValues(t, datum.NoLabel, s.Label)
				indices = append(indices, s.Index)
				if i == 0 {
					require.Equal(t, b.Part(part).IDs()[row], s.ID)
				}
			}
			p := b.Part(part)
			require.Equal(t, p.Int64s(name)[:p.NumValid()], append([]int64{}, indices...), "part %d reader %s", part, name)
		}
	}
	require.Len(t, slices.CompactFunc(samples, func(a, b Sample) bool { return a.Part == b.Part && a.Row == b.Row && a.Reader == b.Reader }), len(samples))
}

// Which tells what a batch has, over worlds, policies, orders, mixes, splits and readers
// beside the one that drives.
func TestWhichTellsWhatABatchHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := pipeline.Options{BatchSize: rapid.IntRange(1, 6).Draw(t, "batch"), Workers: 1, Seed: rapid.Uint64().Draw(t, "seed")}
		sides := []side{anySide(t, "a"), anySide(t, "b")}[:rapid.IntRange(1, 2).Draw(t, "readers")]
		driver := &sides[rapid.IntRange(0, len(sides)-1).Draw(t, "driver")]
		lo := anyLoader(t, driver)
		if driver.options.Shuffle {
			lo.ShuffleBlock = rapid.Int64Range(0, 4).Draw(t, "block")
			if lo.ShuffleBlock > 0 && !driver.options.StickToShard {
				lo.ShuffleGroup = rapid.Int64Range(0, 3).Draw(t, "group")
			}
		}
		names := []string{"a", "f"}
		if len(sides) > 1 {
			names = append(names, "b")
		}
		open := func(ranks, rank int) *Loader {
			p, err := pipeline.New(o, func(g *pipeline.Graph) {
				for _, s := range sides {
					if s.options.Name == driver.options.Name {
						s.options.NumShards, s.options.ShardID = ranks, rank
					}
					g.Output(s.options.Name, s.read(g))
				}
				g.Output("f", g.Read(pipeline.ReaderOptions{Name: "f", Follow: "a"}, numbers{n: sides[0].whole()})[0])
			})
			require.NoError(t, err)
			l, err := New(lo, p)
			if err != nil {
				require.ErrorIs(t, err, shard.ErrNoSteps)
				t.Skip(err)
			}
			return l
		}
		l := open(driver.options.NumShards, driver.options.ShardID)
		defer l.Close()
		for b, err := range l.Steps(context.Background(), 2*l.Len()+1) {
			require.NoError(t, err)
			told(t, l, b, names...)
		}
		ranks := driver.options.NumShards
		if len(sides) == 1 { // the world may change
			ranks = rapid.IntRange(1, 4).Draw(t, "ranks")
		}
		other := open(ranks, rapid.IntRange(0, ranks-1).Draw(t, "another rank"))
		defer other.Close()
		require.NoError(t, other.Restore(stateOf(t, l)))
		for b, err := range other.Steps(context.Background(), other.Len()+1) {
			require.NoError(t, err)
			told(t, other, b, names...)
		}
	})
}

// Several pipelines of a loader, and the epochs of DALI.
func TestWhichOfPartsAndOfDALI(t *testing.T) {
	for _, o := range []Options{
		{}, {LastBatch: shard.Fill}, {Mode: shard.DALI, LastBatch: shard.Fill}, {Mode: shard.DALI, LastBatch: shard.Partial},
		{Mode: shard.DALI, LastBatch: shard.Fill, Size: 7}, {Mode: shard.DALI, LastBatch: shard.Partial, Size: 11},
	} {
		var pipes []*pipeline.Pipeline
		for rank := range 2 {
			p, err := pipeline.New(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
				g.Output("x", g.Read(pipeline.ReaderOptions{Name: "x", NumShards: 3, ShardID: 2 * rank}, numbers{n: 23})[0])
			})
			require.NoError(t, err)
			pipes = append(pipes, p)
		}
		l, err := New(o, pipes...)
		require.NoError(t, err)
		for b, err := range l.Epochs(context.Background(), 4) {
			require.NoError(t, err)
			told(t, l, b, "x")
		}
		require.NoError(t, l.Close())
	}
}

// What is not in the plan is refused in one line, and nothing is read.
func TestWhichRefuses(t *testing.T) {
	s := base()
	s.source.read = func(context.Context, int64) error { panic("a sample is read") }
	l := s.loaderOf(t)
	samples, err := l.Which(3, 5)
	require.NoError(t, err)
	require.Len(t, samples, 2)
	var wrong *shard.PositionError
	for want, at := range map[string][2]int64{
		"shard: the position's Step is 6; want 0 to 5 in epoch 0":         {0, 6},
		"shard: the position's Step is -1; want 0 to 5 in epoch 0":        {0, -1},
		"shard: the position's Epoch is -2; want a number from 0 on":      {-2, 0},
		"shard: the position's Step is 100000; want 0 to 5 in epoch 1000": {1000, 100000},
	} {
		_, err := l.Which(at[0], at[1])
		require.ErrorAs(t, err, &wrong)
		require.EqualError(t, err, want)
	}
	_, err = l.Places(-1, 0)
	require.ErrorAs(t, err, &wrong)

	s.loader.Mode, s.reader.Shuffle = shard.DALI, false
	_, err = s.loaderOf(t).Which(shard.MaxDALIEpochs, 0)
	require.ErrorAs(t, err, &wrong)

	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, nothing{})[0])
	})
	require.NoError(t, err)
	sequence, err := New(Options{}, p)
	require.NoError(t, err)
	defer sequence.Close()
	_, err = sequence.Which(0, 0)
	require.EqualError(t, err, "iterator: a sequence can only be read from its beginning: it has no position, and does not know which samples its steps held")
	_, err = sequence.Places(0, 0)
	require.ErrorContains(t, err, "a sequence")
	for range sequence.Find("x") {
		t.Error("a sequence has no names")
	}
}

// nothing is a sequence without samples.
type nothing struct{}

func (nothing) Outputs() []datum.Spec { return []datum.Spec{{DType: datum.Int64}} }
func (nothing) Meta() datum.Meta      { return datum.Meta{} }
func (nothing) Describe(int64) string { return "nothing" }
func (nothing) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(func(func([]*datum.Tensor) error, error) bool) {}
}

// A sample is found by its name, and the places where it comes are those that Which tells
// of all ranks.
func TestWhereASampleComes(t *testing.T) {
	s := base()
	s.loader.LastBatch, s.reader.NumShards = shard.Fill, 3
	for epoch := range int64(3) {
		var want []shard.Place
		for rank := range 3 {
			s.reader.ShardID = rank
			l := s.loaderOf(t)
			for step := range int64(l.Len()) {
				samples, err := l.Which(epoch, step)
				require.NoError(t, err)
				for _, sample := range samples {
					if sample.Name == "number 17" {
						want = append(want, shard.Place{Step: step, Rank: rank, Row: sample.Row})
					}
				}
			}
		}
		slices.SortStableFunc(want, func(a, b shard.Place) int { return int(a.Step - b.Step) })
		l := s.loaderOf(t)
		ids := slices.Collect(l.Find("number 17"))
		require.Equal(t, []int64{17}, ids)
		places, err := l.Places(epoch, ids[0])
		require.NoError(t, err)
		require.Equal(t, want, slices.Collect(places))
	}
	for range s.loaderOf(t).Find("number 99") {
		t.Error("there is no such sample")
	}
}

// A state is taken up for its order by a loader with other operators, and refused where
// data or plan are others.
func TestSeekState(t *testing.T) {
	s := base()
	l := s.loaderOf(t)
	take(t, l, 3)
	state := storedState(t, stateOf(t, l))
	want, err := l.Which(0, 3)
	require.NoError(t, err)

	s.extra = true
	other := s.loaderOf(t)
	var mismatch *MismatchError
	require.ErrorAs(t, other.Restore(state), &mismatch)
	require.NoError(t, other.SeekState(state))
	epoch, step := other.Plan().Start()
	got, err := other.Which(epoch, step)
	require.NoError(t, err)
	require.Equal(t, want, got)

	s.options.Seed++
	require.EqualError(t, s.loaderOf(t).SeekState(state),
		"iterator: the state belongs to another run: the plan's seed was 7, now it is 8; go on with the same data and settings, or start anew")
	s.source.fingerprint++
	require.ErrorContains(t, s.loaderOf(t).SeekState(state), "the fingerprint of the data of reader reader")
	require.ErrorIs(t, s.loaderOf(t).SeekState(State{}), ErrDamaged)
}
