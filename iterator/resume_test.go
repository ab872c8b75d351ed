package iterator

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// trail adds an output of as many random numbers as a sample's index has ones.
func trail(g *pipeline.Graph) pipeline.Value {
	random := g.NewRandom()
	return g.Add(pipeline.Op{
		Name: "trail", Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{-1}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error {
				if _, err := out[0].Resize(int(c.Index() % 5)); err != nil {
					return err
				}
				r := random.At(c)
				for i := range out[0].Int64s() {
					out[0].Int64s()[i] = int64(r.Uint64() >> 1)
				}
				return nil
			}), nil
		},
	})[0]
}

// snapshot writes down all that a batch shows, of rows that are not valid as well.
func snapshot(b *Batch) string {
	s := fmt.Sprintln("epoch", b.Epoch(), "step", b.Step())
	for p := range b.Parts() {
		b := b.Part(p)
		for row, id := range b.IDs() {
			s += fmt.Sprintln(p, id, b.Mask()[row], b.Errors()[row] != nil, b.Int64s("x")[row], b.Sample("trail", row).Int64s())
		}
	}
	return s
}

// snapshots are those of so many batches.
func snapshots(t require.TestingT, l *Loader, n int) (all []string) {
	for b, err := range l.Steps(context.Background(), n) {
		require.NoError(t, err)
		all = append(all, snapshot(b))
	}
	return all
}

// wander moves a loader in a few of the ways that there are.
func wander(t *rapid.T, l *Loader) {
	for range rapid.IntRange(0, 4).Draw(t, "moves") {
		switch rapid.IntRange(0, 6).Draw(t, "how") {
		case 0:
			n := rapid.IntRange(1, 4).Draw(t, "batches")
			for range l.Epochs(context.Background(), 2) { // over the border of epochs, maybe
				if n--; n == 0 {
					break
				}
			}
		case 1:
			_, _ = l.Next(context.Background())
		case 2:
			require.NoError(t, l.Prefetch(context.Background()))
		case 3:
			require.NoError(t, l.Reset())
		case 4:
			ctx, cancel := context.WithCancel(context.Background())
			for range l.Epoch(ctx) {
				cancel()
			}
			cancel()
		case 5:
			snapshotsUntilPanic(t, l)
		case 6:
			for range l.Epoch(context.Background()) {
			}
		}
	}
}

func snapshotsUntilPanic(t *rapid.T, l *Loader) {
	require.Panics(t, func() {
		for range l.Epoch(context.Background()) {
			panic("body")
		}
	})
}

// Bad samples, ragged outputs and several pipelines make no difference to what
// follows a state: it is the same to the last bit, in this process and another.
func TestAnyLoaderGoesOnFromItsState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySetup(t)
		s.options.OnError = rapid.SampledFrom([]pipeline.ErrorPolicy{pipeline.Skip, pipeline.Replace}).Draw(t, "on error")
		s.source.read = func(_ context.Context, i int64) error {
			if i%3 == 1 || i/4 == 2 { // some, and all of a batch in order
				return errors.New("bad")
			}
			return nil
		}
		s.reader.NumShards = rapid.IntRange(1, 3).Draw(t, "all shards")
		mine := rapid.IntRange(1, s.reader.NumShards).Draw(t, "pipelines")
		open := func() *Loader {
			var pipes []*pipeline.Pipeline
			for id := range mine {
				s.reader.ShardID = id
				p, err := pipeline.New(s.options, func(g *pipeline.Graph) {
					g.Output("x", g.Read(s.reader, s.source)[0])
					g.Output("trail", trail(g))
				})
				require.NoError(t, err)
				pipes = append(pipes, p)
			}
			l, err := New(s.loader, pipes...)
			require.NoError(t, err)
			return l
		}
		first := open()
		defer first.Close()
		wander(t, first)
		state := storedState(t, stateOf(t, first))
		s.options.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
		s.options.PrefetchDepth = rapid.IntRange(1, 4).Draw(t, "depth")
		second := open()
		defer second.Close()
		wander(t, second)
		require.NoError(t, second.Restore(state))
		require.Equal(t, state, stateOf(t, second))
		n := 2 * first.Len()
		want := snapshots(t, first, n)
		require.Len(t, want, n)
		require.Equal(t, want, snapshots(t, second, n))
		require.NoError(t, first.Restore(state))
		require.Equal(t, want, snapshots(t, first, n), "and back again")
	})
}

func TestAnEpochWithoutEndIsResumed(t *testing.T) {
	s := base()
	s.reader.Shuffle = false
	s.loader = Options{Mode: shard.DALI, Size: -1, LastBatch: shard.Fill}
	a, b := s.loaderOf(t), s.loaderOf(t)
	take(t, a, 9)
	require.NoError(t, b.Restore(storedState(t, stateOf(t, a))))
	require.Equal(t, take(t, a, 9), take(t, b, 9))
}

// Under Drop a world may find less than one of its batches left in the epoch: the
// rest of that is empty, and the next epoch whole.
func TestNothingIsLeftForALargerBatch(t *testing.T) {
	s := base()
	s.loader.LastBatch = shard.Drop
	small := s.loaderOf(t)
	take(t, small, 4) // of 22 samples 6 are left
	s.options.BatchSize = 8
	large := s.loaderOf(t)
	require.NoError(t, large.Restore(stateOf(t, small)))
	require.Zero(t, large.Len())
	require.Empty(t, take(t, large, all))
	rs := take(t, large, all)
	require.Len(t, rs, 2)
	require.Equal(t, int64(1), rs[0].epoch)

	require.NoError(t, large.Restore(stateOf(t, small)))
	require.NoError(t, large.Prefetch(t.Context()), "of the first batch there is")
	require.Empty(t, take(t, large, all))
	require.Equal(t, rs, take(t, large, all))

	require.NoError(t, large.Restore(stateOf(t, small)))
	s.options.BatchSize = 3
	last := s.loaderOf(t)
	require.NoError(t, last.Restore(storedState(t, stateOf(t, large))))
	require.Len(t, take(t, last, all), 2, "what is left fills smaller ones")
}
