package benchmarks

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

const batchSize = 64

// data returns a folder of the test data, or skips the benchmark.
func data(b *testing.B, name string) string {
	b.Helper()
	dir := datatest.Data(b, name)
	if _, err := os.Stat(dir); err != nil {
		b.Skip(err)
	}
	return dir
}

// open returns a loader of a workload, shuffled, for one rank. It is closed when the
// test ends.
func open(tb testing.TB, c workload.Config) *iterator.Loader {
	tb.Helper()
	c.World, c.Shuffle, c.Options.Seed = 1, true, 1
	p, data, err := workload.New(context.Background(), c)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, data.Close()) })
	return loaderOf(tb, p)
}

// loaderOf returns a loader of a pipeline, which is closed when the test ends.
func loaderOf(tb testing.TB, p *pipeline.Pipeline) *iterator.Loader {
	tb.Helper()
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, l.Close()) })
	return l
}

// drain takes batches until b.N samples were seen.
func drain(b *testing.B, l *iterator.Loader) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	seen := 0
	for seen < b.N {
		for batch, err := range l.Epoch(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if seen += batch.NumValid(); seen >= b.N {
				break
			}
		}
	}
	b.ReportMetric(float64(seen)/b.Elapsed().Seconds(), "images/s")
}

func BenchmarkLoader(b *testing.B) {
	for _, w := range []struct {
		name, workload, dir string
		exact               bool
	}{
		{"train", "train", "imagenet-sample", false},
		{"train-exact-rgb", "train", "imagenet-sample", true},
		{"strong", "strong", "imagenet-sample", false},
		{"eval", "eval", "imagenet-sample", false},
		{"decode", "decode", "imagenet-sample", false},
		{"mnist", "mnist", "mnist", false},
	} {
		b.Run(w.name, func(b *testing.B) {
			l := open(b, workload.Config{
				Name: w.workload, Data: data(b, w.dir), Size: 224, Options: pipeline.Options{BatchSize: batchSize, ExactRGB: w.exact},
			})
			for _, err := range l.Epoch(b.Context()) { // until everything is warm
				require.NoError(b, err)
			}
			drain(b, l)
		})
	}
}
