package iterator

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// inShards are numbers in shards of 3 and 5 by turns.
type inShards struct{ numbers }

func (s inShards) ShardEnds() (ends []int64) {
	for end := int64(0); end < s.n; {
		end = min(s.n, end+3+2*int64(len(ends)%2))
		ends = append(ends, end)
	}
	return ends
}

func shardedPipe(t *testing.T, o pipeline.ReaderOptions) *pipeline.Pipeline {
	t.Helper()
	o.Shuffle = true
	p, err := pipeline.New(pipeline.Options{BatchSize: 8, Seed: 3}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(o, inShards{numbers{n: 48}})[0])
	})
	require.NoError(t, err)
	return p
}

// Groups are formed of the shards that the source has: two neighbours of them fill a batch
// here only if they differ in size, and all samples come once.
func TestGroupsOfTheSourcesShards(t *testing.T) {
	l, err := New(Options{ShuffleGroup: 2}, shardedPipe(t, pipeline.ReaderOptions{}))
	require.NoError(t, err)
	defer l.Close()
	var order []int64
	for b, err := range l.Steps(t.Context(), 6) {
		require.NoError(t, err)
		order = append(order, b.Int64s("x")...)
	}
	ends := inShards{numbers{n: 48}}.ShardEnds()
	require.Equal(t, ends, l.Plan().Config().BlockEnds)
	shards, groups := map[int]int{}, 0
	for _, x := range order {
		of, found := slices.BinarySearch(ends, x)
		if found {
			of++
		}
		if shards[of]++; len(shards) == 2 && whole(shards, ends) {
			clear(shards)
			groups++
		}
		require.LessOrEqual(t, len(shards), 2)
	}
	require.Equal(t, 6, groups)
	slices.Sort(order)
	require.Equal(t, upTo(48), order)
}

// whole reports whether all samples of the shards were counted.
func whole(counts map[int]int, ends []int64) bool {
	for of, n := range counts {
		from := int64(0)
		if of > 0 {
			from = ends[of-1]
		}
		if int64(n) != ends[of]-from {
			return false
		}
	}
	return true
}

func TestShardsThatAreNotKnown(t *testing.T) {
	for want, o := range map[string]pipeline.ReaderOptions{
		`ShuffleGroup: it is 2 shards, but reader "reader" has a Split`: {Split: pipeline.Split{Folds: 3}},
		"StickToShard is true; want false with BlockGroup":              {NumShards: 2, StickToShard: true},
	} {
		_, err := New(Options{ShuffleGroup: 2}, shardedPipe(t, o))
		require.ErrorContains(t, err, want)
	}
	_, err := New(Options{ShuffleGroup: 2}, base().pipe(t))
	require.ErrorContains(t, err, `but reader "reader" does not know of shards; say with ShuffleBlock`)

	mix, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		var x pipeline.Value
		g.Mix(pipeline.ReaderOptions{Shuffle: true}, pipeline.Mix{Weights: []int64{1, 1}}, func() {
			g.Read(pipeline.ReaderOptions{}, inShards{numbers{n: 9}})
			x = g.Read(pipeline.ReaderOptions{}, inShards{numbers{n: 9}})[0]
		})
		g.Output("x", x)
	})
	require.NoError(t, err)
	_, err = New(Options{ShuffleGroup: 2}, mix)
	require.ErrorContains(t, err, `is a mix, whose sources`)
	l, err := New(Options{ShuffleGroup: 2, ShuffleBlock: 3}, mix)
	require.NoError(t, err)
	l.Close()
}

// keeping is a source that can keep two shards.
type keeping struct{ inShards }

func (keeping) CheckGroup(shards int64) error {
	if shards > 2 {
		return errors.New("two fit; raise Room")
	}
	return nil
}

func TestGroupsThatDoNotFit(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 8}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Shuffle: true}, keeping{inShards{numbers{n: 48}}})[0])
	})
	require.NoError(t, err)
	_, err = New(Options{ShuffleGroup: 3}, p)
	require.EqualError(t, err, `iterator: ShuffleGroup: reader "reader": two fit; raise Room`)
	l, err := New(Options{ShuffleGroup: 2}, p)
	require.NoError(t, err)
	l.Close()
}

// A state is refused where the same samples lie in other shards: the order is another one.
func TestStatesKnowTheShards(t *testing.T) {
	l, err := New(Options{ShuffleGroup: 2}, shardedPipe(t, pipeline.ReaderOptions{}))
	require.NoError(t, err)
	defer l.Close()
	other := l.Plan().Config()
	other.BlockEnds = []int64{10, 48}
	plan, err := shard.New(other)
	require.NoError(t, err)
	require.ErrorContains(t, plan.CheckFingerprint(l.Plan().Fingerprint()), "its blocks is")
}
