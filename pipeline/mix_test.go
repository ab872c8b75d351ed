package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// labelled is numbers that can fall short of being mixed.
type labelled struct {
	numbers
	outputs []datum.Spec
	meta    datum.Meta
}

func (s labelled) Outputs() []datum.Spec { return s.outputs }
func (s labelled) Meta() datum.Meta      { return s.meta }

// mixed defines a mix of sources of whole numbers whose sizes are given.
func mixed(g *Graph, o ReaderOptions, m Mix, sizes ...int64) (v Value) {
	g.Mix(o, m, func() {
		for _, n := range sizes {
			v = g.Read(ReaderOptions{}, numbers{n: n})[0]
		}
	})
	return v
}

// random adds a random number, and the epoch and index that a kernel sees.
func random(g *Graph) Value {
	r := g.NewRandom()
	return g.Add(Op{
		Name: "random", Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{3}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error {
				if _, err := out[0].Resize(3); err != nil {
					return err
				}
				numbers := r.At(c)
				copy(out[0].Int64s(), []int64{int64(numbers.Uint64() >> 1), c.Epoch(), c.Index()})
				return nil
			}), nil
		},
	})[0]
}

// filled runs epochs of the first reader under Fill, without an end.
func filled(t *testing.T, p *Pipeline) *Runner {
	t.Helper()
	cfg := p.readers[0].PlanConfig(p.opt.BatchSize, p.opt.Seed)
	cfg.Policy = shard.Fill
	plan, err := shard.New(cfg)
	require.NoError(t, err)
	orders, err := p.Engine().Orders(0)
	require.NoError(t, err)
	r, err := p.NewRunner(orders.Feed(plan, 0, 0))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// The draws go on over epochs, ids lead to the sources, and a sample that comes again
// meets other random numbers, in the same epoch as well.
func TestAMixDrawsFromItsSources(t *testing.T) {
	p, err := New(Options{BatchSize: 4, Workers: 2, Seed: 9}, func(g *Graph) {
		g.Output("x", mixed(g, ReaderOptions{}, Mix{Weights: []int64{1, 3}, Draws: 8}, 5, 2))
		g.Output("random", random(g))
	})
	require.NoError(t, err)
	run := filled(t, p)
	r := p.Readers()[0]
	var x, ids []int64
	given, seen := make([]int64, 2), map[int64]bool{}
	for k := range 6 {
		b, err := run.Next(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, k/2, b.Epoch())
		for row, id := range b.IDs() {
			source, sample := r.Locate(id)
			require.EqualValues(t, sample, b.Int32s("x")[row])
			require.Equal(t, fmt.Sprint("number ", sample), r.Source.Describe(id))
			size := r.Sources[source].Len()
			require.Equal(t, given[source]%size, sample, "each source in its order")
			drawn := b.Int64s("random")[3*row:][:3]
			require.Equal(t, []int64{given[source] / size, id}, drawn[1:])
			require.False(t, seen[drawn[0]], "a draw's random numbers are its own")
			seen[drawn[0]] = true
			given[source]++
			x, ids = append(x, sample), append(ids, id)
		}
		b.Release()
	}
	require.Equal(t, []int64{6, 18}, given)
	require.Equal(t, []int64{0, 1, 0, 0, 1, 0, 1, 1}, x[:8])
	require.Equal(t, []int64{5, 6, 0, 5, 6, 5, 1, 6}, ids[:8])
	require.EqualValues(t, 7, r.Len())
}

// Without Draws an epoch has as many as the sources have samples. A mix may be of
// parts, and be read beside another reader.
func TestAMixOfParts(t *testing.T) {
	part := Split{Folds: 5, Holdout: true, Seed: 3}
	p, err := New(Options{BatchSize: 6}, func(g *Graph) {
		var v Value
		g.Mix(ReaderOptions{Name: "both", Shuffle: true}, Mix{Weights: []int64{1, 1}}, func() {
			g.Read(ReaderOptions{Split: part}, numbers{n: 20})
			v = g.Read(ReaderOptions{}, numbers{n: 2})[0]
		})
		g.Output("y", g.Read(ReaderOptions{}, numbers{n: 3})[0])
		g.Output("x", v)
	})
	require.NoError(t, err)
	r := p.Readers()[0]
	require.Equal(t, "both", r.Name)
	require.EqualValues(t, 6, r.Mix.Draws)
	b, err := filled(t, p).Next(t.Context())
	require.NoError(t, err)
	held := shown(t, numbers{n: 20}, part)
	for row, id := range b.IDs() {
		source, sample := r.Locate(id)
		want := r.Sources[source].WholeIndex(sample)
		require.EqualValues(t, want, b.Int32s("x")[row])
		if source == 0 {
			require.Contains(t, held, want)
		}
	}
	require.Equal(t, []int32{0, 1, 2, 0, 1, 2}, b.Int32s("y"))
	source, sample := p.Readers()[1].Locate(2)
	require.Equal(t, []int64{0, 2}, []int64{int64(source), sample})
}

// The hints for a sample reach the source that it comes from.
func TestAMixPassesHintsOn(t *testing.T) {
	memory, disk := &nearby{numbers: numbers{n: 2}}, &slowDisk{numbers: numbers{n: 3}, ahead: 7}
	other := &slowDisk{numbers: numbers{n: 4}, ahead: 5}
	p, err := New(Options{BatchSize: 1}, func(g *Graph) {
		g.Mix(ReaderOptions{}, Mix{Weights: []int64{1, 1, 1}}, func() {
			g.Read(ReaderOptions{}, memory)
			g.Read(ReaderOptions{}, disk)
			g.Output("x", g.Read(ReaderOptions{}, other)[0])
		})
	})
	require.NoError(t, err)
	src := p.Readers()[0].Source
	require.Equal(t, 7, src.(datum.Prefetcher).ReadAhead())
	for i := range src.Len() {
		src.(datum.Prefetcher).Prefetch(t.Context(), i)
		src.(datum.Toucher).Touch(i)
	}
	require.Equal(t, []int64{0, 1, 2}, disk.asked)
	require.Equal(t, []int64{0, 1, 2, 3}, other.asked)
	require.Equal(t, []int64{0, 1}, memory.touched)
}

// What identifies the data are its sources, in their order.
func TestAMixHasTheFingerprintOfItsSources(t *testing.T) {
	print := func(fingerprints ...uint64) uint64 {
		p, err := New(Options{BatchSize: 1}, func(g *Graph) {
			weights := slices.Repeat([]int64{1}, len(fingerprints))
			g.Mix(ReaderOptions{}, Mix{Weights: weights}, func() {
				for _, f := range fingerprints {
					meta := datum.Meta{Classes: []string{"a", "b"}, Fingerprint: f}
					g.Output(fmt.Sprint(f), g.Read(ReaderOptions{}, labelled{numbers{n: 4}, numbers{}.Outputs(), meta})[0])
				}
			})
		})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, p.Readers()[0].Meta().Classes)
		return p.Readers()[0].Meta().Fingerprint
	}
	require.Equal(t, print(1, 2), print(1, 2))
	require.NotEqual(t, print(1, 2), print(2, 1))
	require.NotEqual(t, print(1, 2), print(1, 3))
	require.NotEqual(t, print(1), print(1, 2))
}

func TestMixRefusals(t *testing.T) {
	plain := numbers{}.Outputs()
	source := func(outputs []datum.Spec, classes ...string) labelled {
		return labelled{numbers{n: 4}, outputs, datum.Meta{Classes: classes}}
	}
	of := func(sources ...datum.Source) func(*Graph) {
		return func(g *Graph) {
			for _, s := range sources {
				g.Read(ReaderOptions{}, s)
			}
		}
	}
	for _, c := range []struct {
		options ReaderOptions
		mix     Mix
		define  func(*Graph)
		want    string
	}{
		{define: func(*Graph) {}, want: "reader: the mix has no sources; read them in the function that is given to Mix"},
		{mix: Mix{Draws: -1}, want: "reader: Draws is -1; it must be 1 to 1152921504606846976, or 0 for as many as the sources have"},
		{options: ReaderOptions{Split: Split{Folds: 2}}, want: "reader: a mix cannot be split; split its sources"},
		{
			define: func(g *Graph) { g.Mix(ReaderOptions{Name: "inner"}, Mix{}, func() {}) },
			want:   "reader: entry 0: the mix has no sources; read them in the function that is given to Mix",
		},
		{
			define: func(g *Graph) { g.Mix(ReaderOptions{Shuffle: true}, Mix{}, func() {}) },
			want:   "reader: entry 0 is a mix with options of a reader; they belong to the outermost mix, and Splits to its sources",
		},
		{
			define: func(g *Graph) { g.Mix(ReaderOptions{}, Mix{Draws: 3}, func() {}) },
			want:   "reader: entry 0 is a mix with Draws; they belong to the outermost mix",
		},
		{
			define: func(g *Graph) {
				g.Read(ReaderOptions{}, numbers{n: 3})
				g.Mix(ReaderOptions{}, Mix{Weights: []int64{1}}, func() { of(numbers{n: 3}, numbers{n: 3})(g) })
			},
			want: "reader: entry 1: Weights has 1, but the mix has 2 entries; give one for each source and for each mix within",
		},
		{
			define: func(g *Graph) { g.ReadSequence(ReaderOptions{}, count{}) },
			want:   "reader: a sequence cannot be a source of a mix: it has no length; use a Source with random access",
		},
		{
			define: func(g *Graph) { g.Read(ReaderOptions{Shuffle: true}, numbers{n: 3}) },
			want:   "reader: source 0: shards, padding and shuffling are options of the mix; leave them out of its sources",
		},
		{define: of(numbers{}), want: "reader: the data set is empty"},
		{
			define: of(source(plain), source(append(plain, plain...))),
			want:   "reader: source 1: it has 2 outputs, source 0 has 1",
		},
		{
			define: of(source(plain), source([]datum.Spec{{DType: datum.Int32, Shape: []int{2}}})),
			want:   "reader: source 1: output 0 is int32 2 (0 classes), that of source 0 is int32 scalar (0 classes); all sources must have the same",
		},
		{
			define: of(source(plain), source([]datum.Spec{{DType: datum.Int32, Classes: 3}})),
			want:   "reader: source 1: output 0 is int32 scalar (3 classes), that of source 0 is int32 scalar (0 classes); all sources must have the same",
		},
		{
			define: of(source(plain, "a", "b"), source(plain, "b", "a")),
			want:   `reader: source 1: its classes are ["b" "a"], those of source 0 are ["a" "b"]; labels must mean the same in all sources, so give all the same class names`,
		},
		{mix: Mix{Weights: []int64{1}}, define: of(numbers{n: 3}, numbers{n: 3}), want: "reader: shard: Weights is [1]; want one for each of the 2 Sources"},
		{
			mix: Mix{Weights: []int64{1}, Stages: []shard.Stage{{Weights: []int64{1}}}}, define: of(numbers{n: 3}),
			want: "reader: shard: Shares.Stages[0] is from epoch 0, draw 0 on; want a place behind the beginning and behind the stages before",
		},
		{mix: Mix{Weights: []int64{0}}, define: of(numbers{n: 3}), want: "reader: shard: Weights is [0]; want positive numbers; leave out a source that gives nothing"},
		{
			options: ReaderOptions{StickToShard: true}, mix: Mix{Weights: []int64{1}}, define: of(numbers{n: 3}),
			want: "reader: shard: StickToShard is true; want false with Sources: every epoch goes on with other samples",
		},
	} {
		_, err := New(Options{BatchSize: 2}, func(g *Graph) {
			g.Mix(c.options, c.mix, func() { c.define(g) })
			g.Output("x", g.Read(ReaderOptions{Name: "other"}, numbers{n: 3})[0])
		})
		var wrong *BuildError
		require.ErrorAs(t, err, &wrong)
		require.EqualError(t, err, "pipeline: "+c.want)
		if invalid := (*shard.ConfigError)(nil); c.mix.Weights != nil {
			require.ErrorAs(t, err, &invalid)
		}
	}
}

// A feed must tell the draws of a mix apart.
func TestAMixNeedsAMixFeed(t *testing.T) {
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		g.Output("x", mixed(g, ReaderOptions{}, Mix{Weights: []int64{1}}, 4))
	})
	require.NoError(t, err)
	_, err = runner(t, p, 4).Next(t.Context())
	require.EqualError(t, err, `pipeline: reader "reader" is a mix and needs a MixFeed, not feedtest.Feed`)
}

// A bad sample is named by its source and its place in the mix.
func TestABadSampleOfAMix(t *testing.T) {
	broken := errors.New("broken")
	p, err := New(Options{BatchSize: 4}, func(g *Graph) {
		v := mixed(g, ReaderOptions{}, Mix{Weights: []int64{1, 1}}, 3, 2)
		g.Output("square", square(g, v, func(i int32) error {
			if i == 1 {
				return broken
			}
			return nil
		}))
	})
	require.NoError(t, err)
	_, err = filled(t, p).Next(t.Context())
	var bad *SampleError
	require.ErrorAs(t, err, &bad)
	require.ErrorIs(t, err, broken)
	require.Equal(t, "number 1", bad.Source)
	require.EqualValues(t, 1, bad.Index)
}

// tenfold are numbers in memory, ten times as large as their index, with a second output that is
// the number and what comes after it.
type tenfold struct {
	numbers
	most *int // samples of a call
}

func (s tenfold) Gathers() bool { return s.n > 1 }

func (s tenfold) Gather(index []int64, out []datum.Rows) bool {
	*s.most = max(*s.most, len(index))
	for i, x := range index {
		if x >= s.n {
			return false
		}
		if out[0].Data != nil {
			datum.View[int32](out[0].Data)[i] = int32(10 * x)
		}
		copy(datum.View[int32](out[1].Data)[2*i:2*i+2], []int32{int32(10 * x), int32(10*x + 1)})
		index[i] = -1
	}
	return true
}

// The sources of a mix copy their samples into the rows of these, many by one call where they come one after
// the other.
func TestTheSourcesOfAMixGather(t *testing.T) {
	var most int
	m := &mixSource{}
	for _, n := range []int64{5, 3, 9} {
		m.add(tenfold{numbers{n: n}, &most})
	}
	require.True(t, m.Gathers())
	a, b := make([]int32, 7), make([]int32, 14)
	out := []datum.Rows{{Data: datum.BytesOf(a)}, {Data: datum.BytesOf(b)}}
	index := make([]int64, 7)
	gather := func() {
		copy(index, []int64{4, 0, 5, 16, 8, 15, 7})
		require.True(t, m.Gather(index, out))
	}
	gather()
	require.Equal(t, []int32{40, 0, 0, 80, 0, 70, 20}, a)
	require.Equal(t, []int32{40, 41, 0, 1, 0, 1, 80, 81, 0, 1, 70, 71, 20, 21}, b)
	require.Equal(t, 3, most)
	out[0].Data = nil
	alloctest.None(t, 100, gather)
	require.False(t, m.Gather([]int64{1, 17}, out), "what a source refuses")

	m.add(tenfold{numbers{n: 1}, &most})
	require.False(t, m.Gathers(), "one that never gathers")
	m = &mixSource{}
	m.add(numbers{n: 5})
	require.False(t, m.Gathers(), "one that cannot")
}

// fetchedTenfold are numbers that are fetched ahead.
type fetchedTenfold struct{ numbers }

func (fetchedTenfold) ReadAhead() int { return 4 }

func (fetchedTenfold) Prefetch(context.Context, int64) bool { return true }

// Of a mix of parts of data sets, those that cannot be fetched ahead are left alone.
func TestAMixFetchesWhatCanBeFetched(t *testing.T) {
	m := &mixSource{}
	m.add(&splitSource{Source: numbers{n: 8}, split: Split{Holdout: true}, held: 4})
	m.add(fetchedTenfold{numbers{n: 4}})
	require.Equal(t, 4, m.ReadAhead())
	require.False(t, m.Prefetch(t.Context(), 1))
	require.True(t, m.Prefetch(t.Context(), 5))
}
