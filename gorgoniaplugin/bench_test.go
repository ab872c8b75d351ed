//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"iter"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
	"gorgonia.org/gorgonia"
)

// BenchmarkStep compares a loop over a loader with one over a feed that shows
// its batches to a graph: the difference is the price of the feed.
func BenchmarkStep(b *testing.B) {
	loader := func(b *testing.B) *iterator.Loader {
		x, label := small(64 * 100)
		return newLoader(b, pipeline.Options{BatchSize: 64, Workers: 1}, iterator.Options{LastBatch: shard.Drop}, samples(x, label))
	}
	measure := func(b *testing.B, epochs iter.Seq2[*iterator.Batch, error], step func()) {
		b.ReportAllocs()
		next, stop := iter.Pull2(epochs)
		defer stop()
		for range 10 {
			next()
		}
		for b.Loop() {
			if _, err, _ := next(); err != nil {
				b.Fatal(err)
			}
			step()
		}
		b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
	}
	const forever = 1 << 30
	b.Run("loader", func(b *testing.B) {
		measure(b, loader(b).Epochs(context.Background(), forever), func() {})
	})
	b.Run("feed", func(b *testing.B) {
		f, _, _ := newFeed(b, loader(b))
		measure(b, f.Epochs(context.Background(), forever), func() {})
	})
	b.Run("train", func(b *testing.B) {
		f, vm, m := newFeed(b, loader(b))
		solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.1))
		model := gorgonia.NodesToValueGrads(gorgonia.Nodes{m.w})
		measure(b, f.Epochs(context.Background(), forever), func() {
			if err := vm.RunAll(); err != nil {
				b.Fatal(err)
			}
			if err := solver.Step(model); err != nil {
				b.Fatal(err)
			}
			vm.Reset()
		})
	})
}

// BenchmarkLend is what a feed adds to a step: pointing three nodes at a batch
// and back at zeros.
func BenchmarkLend(b *testing.B) {
	f, _, _ := newFeed(b, newLoader(b, pipeline.Options{BatchSize: 64}, iterator.Options{}, numbered(64, 0)))
	for batch, err := range f.Epoch(context.Background()) {
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		body := func(*iterator.Batch, error) bool { return true }
		for b.Loop() {
			gorgoniaplugin.Lend(f, batch, body)
		}
	}
}
