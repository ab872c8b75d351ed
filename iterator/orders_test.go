package iterator

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// from is numbers that begin somewhere: sample i is first+i.
type from struct {
	numbers
	first int64
}

func (s from) Read(ctx context.Context, i int64, out []*datum.Tensor) error {
	return put(out, s.first+i)
}

// index adds the index that a kernel sees.
func index(g *pipeline.Graph) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "index", Outputs: []datum.Spec{{DType: datum.Int64}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error { return put(out, c.Index()) }), nil
		},
	})[0]
}

// side is a reader of a random pipeline, and what it reads: one source, or a mix.
type side struct {
	options pipeline.ReaderOptions
	sizes   []int64
	splits  []pipeline.Split
	mix     pipeline.Mix
}

// anySplit draws a split of n samples, or none.
func anySplit(t *rapid.T, n int64) (s pipeline.Split) {
	if n >= 2 && rapid.Bool().Draw(t, "split") {
		s.Folds = rapid.IntRange(2, int(min(n, 4))).Draw(t, "folds")
		s.Fold = rapid.IntRange(0, s.Folds-1).Draw(t, "fold")
		s.Holdout = rapid.Bool().Draw(t, "holdout")
		s.Seed = rapid.Uint64().Draw(t, "split seed")
	}
	return s
}

func anySide(t *rapid.T, name string) side {
	s := side{options: pipeline.ReaderOptions{
		Name: name, Shuffle: rapid.Bool().Draw(t, "shuffle"), PadLastBatch: rapid.IntRange(0, 3).Draw(t, "pad") == 0,
		NumShards: rapid.IntRange(1, 4).Draw(t, "shards"),
	}}
	s.options.ShardID = rapid.IntRange(0, s.options.NumShards-1).Draw(t, "rank")
	sources := 1
	if rapid.IntRange(0, 2).Draw(t, "mixed") == 0 {
		sources = rapid.IntRange(1, 3).Draw(t, "sources")
		s.mix.Draws = rapid.Int64Range(1, 30).Draw(t, "draws")
	}
	for range sources {
		n := rapid.Int64Range(1, 20).Draw(t, "samples")
		s.sizes, s.splits = append(s.sizes, n), append(s.splits, anySplit(t, n))
		s.mix.Weights = append(s.mix.Weights, rapid.Int64Range(1, 4).Draw(t, "weight"))
	}
	return s
}

// read adds the side's reader, whose samples are numbered through the whole.
func (s side) read(g *pipeline.Graph) (v pipeline.Value) {
	if s.mix.Draws == 0 {
		o := s.options
		o.Split = s.splits[0]
		return g.Read(o, from{numbers{n: s.sizes[0]}, 0})[0]
	}
	g.Mix(s.options, s.mix, func() {
		first := int64(0)
		for i, n := range s.sizes {
			v = g.Read(pipeline.ReaderOptions{Split: s.splits[i]}, from{numbers{n: n}, first})[0]
			first += n
		}
	})
	return v
}

// whole is the number of samples without Splits.
func (s side) whole() (n int64) {
	for _, size := range s.sizes {
		n += size
	}
	return n
}

// anyLoader draws how a loader goes through the epochs of a reader.
func anyLoader(t *rapid.T, driver *side) Options {
	o := Options{
		ReaderName: driver.options.Name,
		LastBatch:  rapid.SampledFrom([]shard.Policy{shard.Partial, shard.Fill, shard.Drop}).Draw(t, "policy"),
		Partition:  rapid.SampledFrom([]shard.Partition{shard.ByShard, shard.ByStep}).Draw(t, "partition"),
	}
	if o.Partition == shard.ByShard && driver.mix.Draws == 0 {
		driver.options.StickToShard = rapid.Bool().Draw(t, "stick")
	}
	return o
}

// valid lists an output's valid rows of a number of batches.
func valid(t require.TestingT, l *Loader, n int, names ...string) [][]int64 {
	rows := make([][]int64, len(names))
	for b, err := range l.Steps(context.Background(), n) {
		require.NoError(t, err)
		for row, ok := range b.Mask() {
			for i, name := range names {
				if ok {
					rows[i] = append(rows[i], b.Int64s(name)[row])
				}
			}
		}
	}
	return rows
}

// model is the samples that a reader alone delivers: its own epochs, one behind the other.
func (s side) model(t require.TestingT, o pipeline.Options, rows int) (all []int64) {
	policy := shard.Partial
	if s.options.PadLastBatch {
		policy = shard.Fill
	}
	p, err := pipeline.New(o, func(g *pipeline.Graph) {
		if s.options.Name == "b" { // it has the place that it has beside a
			g.Read(pipeline.ReaderOptions{Name: "a"}, numbers{n: 1})
		}
		g.Output("x", s.read(g))
	})
	require.NoError(t, err)
	r := p.Readers()[len(p.Readers())-1]
	cfg := r.PlanConfig(o.BatchSize, o.Seed)
	cfg.Policy = policy
	plan, err := shard.New(cfg)
	require.NoError(t, err)
	for epoch := int64(0); len(all) < rows && epoch < 1000; epoch++ {
		for step := range plan.Steps(epoch) {
			for _, id := range plan.AppendBatch(nil, epoch, step, r.ShardID) {
				all = append(all, r.WholeIndex(id))
			}
		}
	}
	return all[:rows]
}

// A reader that does not drive reads on: its rows are its epochs, one behind the other,
// wherever the driver's batches and epochs end, and resumed at any of them.
func TestReadersThatDoNotDriveReadOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := pipeline.Options{BatchSize: rapid.IntRange(1, 6).Draw(t, "batch"), Workers: 2, Seed: rapid.Uint64().Draw(t, "seed")}
		sides := []side{anySide(t, "a"), anySide(t, "b")}
		drives := rapid.IntRange(0, 1).Draw(t, "driver")
		driver, other := &sides[drives], &sides[1-drives]
		lo := anyLoader(t, driver)
		open := func() *Loader {
			p, err := pipeline.New(o, func(g *pipeline.Graph) {
				for _, s := range sides {
					g.Output(s.options.Name, s.read(g))
				}
				g.Output("index", index(g))
			})
			require.NoError(t, err)
			l, err := New(lo, p)
			if err != nil {
				require.ErrorIs(t, err, shard.ErrNoSteps)
				t.Skip(err)
			}
			return l
		}
		l := open()
		defer l.Close()
		n := 3*l.Len() + 2
		got := valid(t, l, n, "a", "b", "index")
		require.Equal(t, got[0], got[2], "the index is that of the first reader")
		if len(got[0]) == 0 {
			return
		}
		if !other.options.StickToShard {
			require.Equal(t, other.model(t, o, len(got[1-drives])), got[1-drives])
		}
		resumes(t, open, n, "a", "b", "index")
	})
}

// resumes checks that a loader goes on from every step of n as if it had not stopped.
func resumes(t *rapid.T, open func() *Loader, n int, names ...string) {
	whole, second := open(), open()
	defer whole.Close()
	defer second.Close()
	at := rapid.IntRange(0, n).Draw(t, "resumed at")
	valid(t, whole, at, names...)
	require.NoError(t, second.Restore(storedState(t, stateOf(t, whole))))
	require.Equal(t, valid(t, whole, n, names...), valid(t, second, n, names...))
}

// What follows shows, row for row, what has the index of its leader's sample, whatever
// that does and whoever drives.
func TestWhatFollowsHasTheIndexOfItsLeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := pipeline.Options{BatchSize: rapid.IntRange(1, 6).Draw(t, "batch"), Workers: 2, Seed: rapid.Uint64().Draw(t, "seed")}
		leader, other := anySide(t, "a"), anySide(t, "b")
		beside := rapid.Bool().Draw(t, "beside another reader")
		driver := &leader
		if beside && rapid.Bool().Draw(t, "that drives") {
			driver = &other
		}
		lo := anyLoader(t, driver)
		chained, mixed := rapid.Bool().Draw(t, "chained"), leader.mix.Draws > 0 && rapid.Bool().Draw(t, "a mix follows")
		const far = 1000
		define := func(g *pipeline.Graph) {
			g.Output("a", leader.read(g))
			if beside {
				other.read(g)
			}
			follow := pipeline.ReaderOptions{Name: "f", Follow: "a"}
			if mixed {
				var v pipeline.Value
				g.Mix(follow, pipeline.Mix{}, func() {
					first := int64(far)
					for _, n := range leader.sizes {
						v = g.Read(pipeline.ReaderOptions{}, from{numbers{n: n}, first})[0]
						first += n
					}
				})
				g.Output("f", v)
			} else {
				g.Output("f", g.Read(follow, from{numbers{n: leader.whole()}, far})[0])
			}
			if chained {
				g.Output("g", g.Read(pipeline.ReaderOptions{Follow: "f"}, from{numbers{n: leader.whole()}, far})[0])
			} else {
				g.Output("g", g.Read(pipeline.ReaderOptions{Follow: "a"}, from{numbers{n: leader.whole()}, far})[0])
			}
		}
		open := func() *Loader {
			p, err := pipeline.New(o, define)
			require.NoError(t, err)
			l, err := New(lo, p)
			if err != nil {
				require.ErrorIs(t, err, shard.ErrNoSteps)
				t.Skip(err)
			}
			return l
		}
		l := open()
		defer l.Close()
		n := 2*l.Len() + 2
		got := valid(t, l, n, "a", "f", "g")
		for row := range got[0] {
			require.Equal(t, []int64{far + got[0][row], far + got[0][row]}, []int64{got[1][row], got[2][row]})
		}
		resumes(t, open, n, "a", "f", "g")

		// Without an iterator likewise, under Fill.
		p, err := pipeline.New(o, define)
		require.NoError(t, err)
		d := dali.New(p)
		defer d.Close()
		for range 5 {
			b, err := d.Run(context.Background())
			require.NoError(t, err)
			require.Equal(t, b.Int64s("f"), b.Int64s("g"))
			for row, x := range b.Int64s("a") {
				require.Equal(t, far+x, b.Int64s("f")[row])
			}
		}
	})
}

// DALI reads on from row to row: so does a small reader beside a large one, and a large
// one that a small one drives shows all its samples equally often.
func TestReadersOfOtherSizes(t *testing.T) {
	build := func(driver string) *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
			g.Output("big", g.Read(pipeline.ReaderOptions{Name: "big"}, numbers{n: 10})[0])
			g.Output("small", g.Read(pipeline.ReaderOptions{Name: "small"}, numbers{n: 3})[0])
		})
		require.NoError(t, err)
		l, err := New(Options{ReaderName: driver}, p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	require.Equal(t, []int64{0, 1, 2, 0, 1, 2, 0, 1}, valid(t, build("big"), 2, "small")[0])
	seen := make([]int, 10)
	for _, x := range valid(t, build("small"), 10, "big")[0] {
		seen[x]++
	}
	require.Equal(t, slices.Repeat([]int{3}, 10), seen)
}

// Two readers that shuffle do not shuffle alike, whichever drives, and neither order
// depends on who does.
func TestEachReaderHasASeedOfItsOwn(t *testing.T) {
	orders := func(driver string) [][]int64 {
		p, err := pipeline.New(pipeline.Options{BatchSize: 5, Seed: 2}, func(g *pipeline.Graph) {
			for _, name := range []string{"a", "b"} {
				g.Output(name, g.Read(pipeline.ReaderOptions{Name: name, Shuffle: true}, numbers{n: 50})[0])
			}
		})
		require.NoError(t, err)
		l, err := New(Options{ReaderName: driver}, p)
		require.NoError(t, err)
		defer l.Close()
		return valid(t, l, 30, "a", "b")
	}
	first := orders("a")
	require.NotEqual(t, first[0], first[1])
	require.Equal(t, first, orders("b"))
}

// Pictures and masks need no ReaderName, and go on in another world.
func TestAFollowerGoesOnInAnotherWorld(t *testing.T) {
	build := func(ranks, rank int) *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 12 / ranks, Seed: 3}, func(g *pipeline.Graph) {
			g.Output("x", g.Read(pipeline.ReaderOptions{Shuffle: true, NumShards: ranks, ShardID: rank}, numbers{n: 50})[0])
			g.Output("y", g.Read(pipeline.ReaderOptions{Follow: "reader"}, from{numbers{n: 50}, 0})[0])
		})
		require.NoError(t, err)
		l, err := New(Options{Partition: shard.ByStep}, p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	one := build(1, 0)
	valid(t, one, 2, "x")
	two := []*Loader{build(2, 0), build(2, 1)}
	for _, l := range two {
		require.NoError(t, l.Restore(storedState(t, stateOf(t, one))))
	}
	for range 6 {
		var x, y []int64
		for _, l := range two {
			rows := valid(t, l, 1, "x", "y")
			x, y = append(x, rows[0]...), append(y, rows[1]...)
		}
		require.Equal(t, valid(t, one, 1, "x")[0], x)
		require.Equal(t, x, y)
	}
}

func TestFollowersThatCannotDrive(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "pictures"}, numbers{n: 4})[0])
		g.Read(pipeline.ReaderOptions{Name: "masks", Follow: "pictures"}, numbers{n: 4})
	})
	require.NoError(t, err)
	_, err = New(Options{ReaderName: "masks"}, p)
	require.EqualError(t, err, `iterator: ReaderName: reader "masks" follows reader "pictures"; name "pictures"`)
	l, err := New(Options{Mode: shard.DALI}, p)
	require.NoError(t, err, "what follows has no bookkeeping of its own")
	defer l.Close()
	state := stateOf(t, l)

	q, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "pictures"}, numbers{n: 4})[0])
		g.Read(pipeline.ReaderOptions{Name: "masks"}, numbers{n: 4})
	})
	require.NoError(t, err)
	other, err := New(Options{ReaderName: "pictures"}, q)
	require.NoError(t, err)
	defer other.Close()
	var mismatch *MismatchError
	require.ErrorAs(t, other.Restore(state), &mismatch)
	require.Contains(t, fmt.Sprint(mismatch), "the order of reader masks was follows pictures, now it is reads on, plan/1")
}
