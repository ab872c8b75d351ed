package iterator

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// mixSetup is a setup whose reader mixes sources of these sizes.
type mixSetup struct {
	setup
	mix   pipeline.Mix
	sizes []int64
}

func baseMix() mixSetup {
	return mixSetup{base(), pipeline.Mix{Weights: []int64{1, 2}, Draws: 21}, []int64{30, 4}}
}

func anyMix(t *rapid.T) mixSetup {
	s := baseMix()
	s.sizes, s.mix.Weights = nil, nil
	for range rapid.IntRange(1, 4).Draw(t, "sources") {
		s.sizes = append(s.sizes, rapid.Int64Range(1, 20).Draw(t, "size"))
		s.mix.Weights = append(s.mix.Weights, rapid.Int64Range(1, 9).Draw(t, "weight"))
	}
	s.mix.Draws = rapid.Int64Range(12, 50).Draw(t, "draws")
	s.reader.Shuffle = rapid.Bool().Draw(t, "shuffle")
	s.loader.Partition = rapid.SampledFrom([]shard.Partition{shard.ByShard, shard.ByStep}).Draw(t, "partition")
	return s
}

func (s mixSetup) pipe(t require.TestingT) *pipeline.Pipeline {
	p, err := pipeline.New(s.options, func(g *pipeline.Graph) {
		var x pipeline.Value
		g.Mix(s.reader, s.mix, func() {
			for i, n := range s.sizes {
				x = g.Read(pipeline.ReaderOptions{}, numbers{n: n, fingerprint: uint64(i)})[0]
			}
		})
		g.Output("x", x)
		g.Output("draw", draw(g))
	})
	require.NoError(t, err)
	return p
}

func (s mixSetup) open(t require.TestingT) *Loader {
	l, err := New(s.loader, s.pipe(t))
	require.NoError(t, err)
	return l
}

// drawsOf lists the random numbers of valid rows, which tell draws apart.
func drawsOf(rs ...record) (draws []int64) {
	for _, r := range rs {
		draws = append(draws, r.draw...)
	}
	return draws
}

func TestAMixIsRestoredBitForBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyMix(t)
		s.loader.LastBatch = rapid.SampledFrom([]shard.Policy{shard.Partial, shard.Fill, shard.Drop}).Draw(t, "policy")
		first := s.open(t)
		defer first.Close()
		for range rapid.IntRange(0, 3).Draw(t, "epochs") {
			take(t, first, all)
		}
		take(t, first, rapid.IntRange(1, 4).Draw(t, "batches"))
		require.NoError(t, first.Prefetch(context.Background()))
		state := storedState(t, stateOf(t, first))
		s.options.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
		s.options.PrefetchDepth = rapid.IntRange(1, 4).Draw(t, "depth")
		second := s.open(t)
		defer second.Close()
		require.NoError(t, second.Restore(state))
		for range 3 {
			require.Equal(t, take(t, first, all), take(t, second, all))
		}
	})
}

// Ranks share the draws of an epoch, each of which has random numbers of its own, and
// another world goes on with the ones that are left; by step in the same batches.
func TestAMixIsTheSameInEveryWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const global = 12
		s := anyMix(t)
		s.options.BatchSize = global
		alone := s.open(t)
		want := take(t, alone, all)
		require.NoError(t, alone.Close())
		draws := drawsOf(want...)
		require.Len(t, draws, int(s.mix.Draws))

		var got []record
		var state State
		for first := true; first || state.Position().Epoch == 0; first = false {
			ranks := rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(t, "ranks")
			n := rapid.SampledFrom([]int{1, 2, all}).Draw(t, "steps")
			var after State
			var steps [][]record // by step, then rank
			for rank := range ranks {
				s.options.BatchSize, s.reader.NumShards, s.reader.ShardID = global/ranks, ranks, rank
				l := s.open(t)
				if !first {
					require.NoError(t, l.Restore(state))
				}
				for step, r := range take(t, l, n) {
					if rank == 0 {
						steps = append(steps, nil)
					}
					steps[step] = append(steps[step], r)
				}
				after = storedState(t, stateOf(t, l))
				require.NoError(t, l.Close())
			}
			for _, rs := range steps {
				got = append(got, record{draw: drawsOf(rs...)})
			}
			state = after
		}
		require.ElementsMatch(t, draws, drawsOf(got...))
		if s.loader.Partition == shard.ByStep {
			require.Equal(t, draws, drawsOf(got...))
		}
		slices.Sort(draws)
		require.Len(t, slices.Compact(draws), int(s.mix.Draws))
	})
}

func TestStatesOfOtherMixes(t *testing.T) {
	l := baseMix().open(t)
	defer l.Close()
	take(t, l, 2)
	state := stateOf(t, l)
	for want, change := range map[string]func(*mixSetup){
		"the plan's weights was [1,2], now it is [1,3]":               func(s *mixSetup) { s.mix.Weights = []int64{1, 3} },
		"the plan's samples was 21, now it is 22":                     func(s *mixSetup) { s.mix.Draws = 22 },
		"the number of samples of reader reader was 34, now it is 35": func(s *mixSetup) { s.sizes = []int64{30, 5} },
		"the fingerprint of the data of reader reader was":            func(s *mixSetup) { s.sizes = []int64{29, 5} },
		"the plan's shuffle was true, now it is false":                func(s *mixSetup) { s.reader.Shuffle = false },
	} {
		s := baseMix()
		change(&s)
		other := s.open(t)
		var mismatch *MismatchError
		require.ErrorAs(t, other.Restore(state), &mismatch)
		require.ErrorContains(t, mismatch, want)
		require.NoError(t, other.Close())
	}
	same := baseMix()
	same.mix.Weights = []int64{10, 20}
	other := same.open(t)
	require.NoError(t, other.Restore(state))
	require.NoError(t, other.Close())
}

func TestMixedLoadersThatCannotBe(t *testing.T) {
	s := baseMix()
	s.reader.Shuffle = false
	_, err := New(Options{Mode: shard.DALI}, s.pipe(t))
	var invalid *shard.ConfigError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "Sources", invalid.Field)

	for want, change := range map[string]func(*mixSetup){
		"the weights of the mix differs: [1 2] and [2 1]":   func(s *mixSetup) { s.mix.Weights = []int64{2, 1} },
		"the number of draws of the mix differs: 21 and 30": func(s *mixSetup) { s.mix.Draws = 30 },
		"the fingerprint of the data set differs":           func(s *mixSetup) { s.sizes = []int64{29, 5} },
	} {
		a, b := baseMix(), baseMix()
		a.reader.NumShards, b.reader.NumShards, b.reader.ShardID = 2, 2, 1
		change(&b)
		_, err := New(Options{}, a.pipe(t), b.pipe(t))
		var option *OptionError
		require.ErrorAs(t, err, &option)
		require.ErrorContains(t, err, want)
	}
}

// A mix that does not drive goes on at the pace of the reader that does, and random
// numbers are those of its draws where it is the first reader.
func TestAMixBesideTheReaderThatDrives(t *testing.T) {
	var x pipeline.Value
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Mix(pipeline.ReaderOptions{Name: "mix"}, pipeline.Mix{Weights: []int64{1, 1}}, func() {
			x = g.Read(pipeline.ReaderOptions{}, numbers{n: 3})[0]
			g.Read(pipeline.ReaderOptions{}, numbers{n: 1})
		})
		g.Output("y", g.Read(pipeline.ReaderOptions{Name: "long"}, numbers{n: 20})[0])
		g.Output("x", x)
		g.Output("draw", draw(g))
	})
	require.NoError(t, err)
	l, err := New(Options{ReaderName: "long"}, p)
	require.NoError(t, err)
	defer l.Close()
	rs := take(t, l, all)
	var got []int64
	for _, r := range rs {
		got = append(got, r.x...)
	}
	require.Equal(t, []int64{0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0}, got)
	draws := drawsOf(rs...)
	slices.Sort(draws)
	require.Len(t, slices.Compact(draws), 20)
}
