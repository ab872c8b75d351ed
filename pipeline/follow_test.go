package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFollowRefusals(t *testing.T) {
	pictures := ReaderOptions{Name: "pictures", Shuffle: true}
	follow := ReaderOptions{Name: "masks", Follow: "pictures"}
	with := func(change func(*ReaderOptions)) ReaderOptions {
		o := follow
		change(&o)
		return o
	}
	even := Mix{Weights: []int64{1, 1}}
	for want, define := range map[string]func(*Graph){
		`pipeline: masks: Follow names "pictures", but the readers before it are []; read what it follows first, under that name`: func(g *Graph) {
			g.Read(follow, numbers{n: 10})
		},
		`pipeline: masks: it has 9 samples, but reader "pictures", which it follows, has 10; both must have the same, in the same order`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			g.Read(follow, numbers{n: 9})
		},
		`pipeline: masks: it has 5 samples, but reader "pictures", which it follows, has 10 without its Split; both must have the same, in the same order`: func(g *Graph) {
			o := pictures
			o.Split = Split{Folds: 2}
			g.Read(o, numbers{n: 10})
			g.Read(follow, numbers{n: 5})
		},
		`pipeline: masks: it follows reader "pictures", whose shards, padding, order and Split it has; leave those options out`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			g.Read(with(func(o *ReaderOptions) { o.Shuffle = true }), numbers{n: 10})
		},
		`pipeline: masks: ShardID is 1; with 1 shards it must be 0 … 0`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			g.Read(with(func(o *ReaderOptions) { o.ShardID = 1 }), numbers{n: 10})
		},
		`pipeline: masks: it follows reader "pictures" and draws what that draws; leave Weights, Stages and Draws out`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			mixed(g, follow, even, 5, 5)
		},
		`pipeline: masks: it mixes 2 sources, but reader "pictures", which it follows, does not; give it one source, or as many`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			mixed(g, follow, Mix{}, 5, 5)
		},
		`pipeline: masks: its source 0 has 4 samples, but that of reader "pictures", which it follows, has 5; both must have the same, in the same order`: func(g *Graph) {
			mixed(g, pictures, even, 5, 5)
			mixed(g, follow, Mix{}, 4, 6)
		},
		`pipeline: pictures: source 0: a source cannot follow a reader; let the mix follow it`: func(g *Graph) {
			g.Mix(pictures, even, func() { g.Read(follow, numbers{n: 1}) })
		},
		`pipeline: masks: source 0: the mix follows reader "pictures", whose Splits it has; leave Split out`: func(g *Graph) {
			mixed(g, pictures, even, 5, 5)
			g.Mix(follow, Mix{}, func() { g.Read(ReaderOptions{Split: Split{Folds: 2}}, numbers{n: 5}) })
		},
		`pipeline: masks: a sequence can neither follow a reader nor be followed; use a Source with random access`: func(g *Graph) {
			g.Read(pictures, numbers{n: 10})
			g.ReadSequence(follow, count{n: 10})
		},
	} {
		_, err := New(Options{BatchSize: 1}, func(g *Graph) {
			define(g)
			g.Output("x", g.Read(ReaderOptions{}, numbers{n: 1})[0])
		})
		require.EqualError(t, err, want)
	}
}

// A sample that fails in what follows is named by it, and what describes the reader is
// what describes its leader.
func TestWhatFollowsNamesItsSamples(t *testing.T) {
	part := Split{Folds: 2, Holdout: true, Seed: 3}
	p, err := New(Options{BatchSize: 5, OnError: Skip}, func(g *Graph) {
		g.Output("x", g.Read(ReaderOptions{Name: "pictures", Split: part, PadLastBatch: true}, numbers{n: 10})[0])
		y := g.Read(ReaderOptions{Name: "masks", Follow: "pictures"}, numbers{n: 10, read: func(_ context.Context, i int64) error {
			if i%3 == 0 {
				return errors.New("damaged")
			}
			return nil
		}})[0]
		g.Output("y", y)
	})
	require.NoError(t, err)
	b, err := filled(t, p).Next(t.Context())
	require.NoError(t, err)
	failed := 0
	for row, e := range b.Errors() {
		want := p.Readers()[0].WholeIndex(b.IDs()[row])
		if e == nil {
			require.EqualValues(t, want, b.Int32s("y")[row])
			continue
		}
		failed++
		require.Equal(t, want, e.Index)
		require.Equal(t, "masks", e.Op)
		require.Equal(t, numbers{}.Describe(want), e.Source)
	}
	require.Positive(t, failed)
	require.Less(t, failed, 5)
	require.Equal(t, p.Readers()[0], p.Readers()[1].Leader())
}
