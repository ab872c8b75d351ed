package iterator

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// sampledSetups are setups of 22 samples with a sampler or groups, by name.
func sampledSetups() map[string]setup {
	weights, labels, lengths := make([]float64, 22), make([]int32, 22), make([]int64, 22)
	for i := range weights {
		weights[i], labels[i], lengths[i] = float64(i%5), int32(i*i%3), int64(i*7%11+1)
	}
	labels[2] = 2
	all := map[string]setup{}
	for name, change := range map[string]func(*Options){
		"weighted":           func(o *Options) { o.Sampler = shard.Weighted{Weights: weights, Draws: 30} },
		"weighted once":      func(o *Options) { o.Sampler = shard.Weighted{Weights: weights, Draws: 9, Once: true} },
		"class-balanced":     func(o *Options) { o.Sampler = shard.ClassBalanced{Labels: labels} },
		"subset":             func(o *Options) { o.Sampler = shard.Subset{Samples: []int64{3, 20, 7, 5, 1, 0, 11}} },
		"repeated":           func(o *Options) { o.Sampler = shard.Repeated{Times: 3, Apart: 4} },
		"curriculum":         func(o *Options) { o.Sampler = shard.Curriculum{Keys: weights, Start: 0.3, Epochs: 3} },
		"curriculum, sorted": func(o *Options) { o.Sampler, o.Partition = shard.Curriculum{Keys: weights, Window: 5}, shard.ByStep },
		"buckets":            func(o *Options) { o.Groups, o.Partition = &shard.Groups{Lengths: lengths, Window: 15}, shard.ByStep },
		"budget": func(o *Options) {
			o.Groups, o.Partition = &shard.Groups{Lengths: lengths, Window: 15, Budget: 17, Padded: true}, shard.ByStep
		},
	} {
		s := base()
		change(&s.loader)
		all[name] = s
	}
	return all
}

// A run with a sampler goes on from its state bit for bit, whatever workers there are.
func TestSampledRunsAreRestoredBitForBit(t *testing.T) {
	setups := sampledSetups()
	names := slices.Sorted(maps.Keys(setups))
	rapid.Check(t, func(t *rapid.T) {
		s := setups[rapid.SampledFrom(names).Draw(t, "setup")]
		first, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer first.Close()
		for range rapid.IntRange(0, 2).Draw(t, "epochs") {
			take(t, first, all)
		}
		take(t, first, rapid.IntRange(1, 3).Draw(t, "batches"))
		state := storedState(t, stateOf(t, first))
		s.options.Workers, s.options.PrefetchDepth = rapid.IntRange(1, 4).Draw(t, "workers"), rapid.IntRange(1, 4).Draw(t, "depth")
		second, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer second.Close()
		require.NoError(t, second.Restore(state))
		for range 2 {
			require.Equal(t, take(t, first, all), take(t, second, all))
		}
	})
}

// Worlds that change within an epoch read together what one reads alone, with the same
// random numbers: no two draws have the same.
func TestSampledRunsAreTheSameInEveryWorld(t *testing.T) {
	setups := sampledSetups()
	names := slices.Sorted(maps.Keys(setups))
	rapid.Check(t, func(t *rapid.T) {
		s := setups[rapid.SampledFrom(names).Draw(t, "setup")]
		alone, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		want := drawsOf(take(t, alone, all)...)
		require.NoError(t, alone.Close())

		var got []int64
		var state State
		for first := true; first || state.Position().Epoch == 0; first = false {
			ranks, n := rapid.IntRange(1, 3).Draw(t, "ranks"), rapid.SampledFrom([]int{1, 2, all}).Draw(t, "steps")
			var after State
			lens := map[int]bool{}
			for rank := range ranks {
				s := s
				s.reader.NumShards, s.reader.ShardID = ranks, rank
				l, err := New(s.loader, s.pipe(t))
				require.NoError(t, err)
				if !first {
					require.NoError(t, l.Restore(state))
				}
				rs := take(t, l, n)
				lens[len(rs)] = true
				got = append(got, drawsOf(rs...)...)
				after = storedState(t, stateOf(t, l))
				require.NoError(t, l.Close())
			}
			require.Len(t, lens, 1, "all ranks take as many steps")
			state = after
		}
		require.ElementsMatch(t, want, got)
		slices.Sort(got)
		require.Len(t, slices.Compact(got), len(want), "random numbers of two draws are the same")
	})
}

// A state of another sampler, of other keys or of none is refused by name.
func TestStatesOfOtherSamplers(t *testing.T) {
	setups := sampledSetups()
	l := setups["weighted"].loaderOf(t)
	take(t, l, 2)
	state := stateOf(t, l)
	for want, change := range map[string]func(*setup){
		"the plan's sampler was weighted, now it is subset": func(s *setup) { s.loader.Sampler = setups["subset"].loader.Sampler },
		"the plan's sampler was weighted, now it is none":   func(s *setup) { s.loader.Sampler = nil },
		"the plan's draws was 30, now it is 31": func(s *setup) {
			w := s.loader.Sampler.(shard.Weighted)
			w.Draws++
			s.loader.Sampler = w
		},
		"the plan's weights was": func(s *setup) {
			w := s.loader.Sampler.(shard.Weighted)
			w.Weights = slices.Clone(w.Weights)
			w.Weights[3]++
			s.loader.Sampler = w
		},
	} {
		s := setups["weighted"]
		change(&s)
		var mismatch *MismatchError
		require.ErrorAs(t, s.loaderOf(t).Restore(state), &mismatch)
		require.ErrorContains(t, mismatch, want)
	}
	var mismatch *MismatchError
	require.ErrorAs(t, base().loaderOf(t).Restore(stateOf(t, setups["buckets"].loaderOf(t))), &mismatch)
	require.ErrorContains(t, mismatch, "the plan's")
}

func TestSampledLoadersThatCannotBe(t *testing.T) {
	for field, change := range map[string]func(*setup){
		"Weighted.Weights": func(s *setup) { s.loader.Sampler = shard.Weighted{Weights: []float64{1}} },
		"Sampler": func(s *setup) {
			s.loader.Sampler, s.loader.Mode, s.reader.Shuffle = shard.Repeated{Times: 2}, shard.DALI, false
		},
		"Partition": func(s *setup) { s.loader.Groups = &shard.Groups{Lengths: make([]int64, 22)} },
	} {
		s := base()
		change(&s)
		_, err := New(s.loader, s.pipe(t))
		var invalid *shard.ConfigError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "a"}, numbers{n: 3})[0])
		g.Read(pipeline.ReaderOptions{Name: "b"}, numbers{n: 5})
	})
	require.NoError(t, err)
	_, err = New(Options{ReaderName: "a", Partition: shard.ByStep, Groups: &shard.Groups{Lengths: make([]int64, 3)}}, p)
	var option *OptionError
	require.ErrorAs(t, err, &option)
	require.Equal(t, "Groups", option.Field)
	require.True(t, sampledSetups()["budget"].loaderOf(t).Uneven())
}

// Of a pipeline whose first reader does not drive, a sampler of the driver has no say in its
// random numbers.
func TestASamplerOfALaterReader(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "first"}, numbers{n: 20})[0])
		g.Output("y", g.Read(pipeline.ReaderOptions{Name: "driver"}, numbers{n: 4})[0])
		g.Output("draw", draw(g))
	})
	require.NoError(t, err)
	l, err := New(Options{ReaderName: "driver", Sampler: shard.Repeated{Times: 5}}, p)
	require.NoError(t, err)
	defer l.Close()
	var xs []int64
	for _, r := range take(t, l, all) {
		xs = append(xs, r.x...)
	}
	require.Equal(t, upTo(20), xs)
}

// Mixes within mixes and stages have the shares that they say, and one state.
func TestMixesWithinMixes(t *testing.T) {
	open := func() *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 10}, func(g *pipeline.Graph) {
			var x pipeline.Value
			read := func(n int64) { x = g.Read(pipeline.ReaderOptions{}, numbers{n: n})[0] }
			g.Mix(pipeline.ReaderOptions{Shuffle: true}, pipeline.Mix{Weights: []int64{1, 1}, Draws: 40, Stages: []shard.Stage{{Epoch: 1, Weights: []int64{3, 1}}}}, func() {
				g.Mix(pipeline.ReaderOptions{}, pipeline.Mix{Weights: []int64{3, 1}}, func() { read(10); read(11) })
				read(100)
			})
			g.Output("x", x)
			g.Output("draw", draw(g))
		})
		require.NoError(t, err)
		l, err := New(Options{}, p)
		require.NoError(t, err)
		return l
	}
	l := open()
	defer l.Close()
	reader := l.Pipelines()[0].Readers()[0]
	for _, want := range [][]int{{15, 5, 20}, {23, 7, 10}} {
		got := make([]int, 3)
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			for _, id := range b.IDs() {
				source, _ := reader.Locate(id)
				got[source]++
			}
		}
		for i := range want {
			require.InDelta(t, want[i], got[i], 1)
		}
	}
	take(t, l, 2)
	state := stateOf(t, l)
	again := open()
	defer again.Close()
	require.NoError(t, again.Restore(state))
	require.Equal(t, take(t, l, all), take(t, again, all))
}
