package benchmarks

import (
	"os"
	"testing"

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

// loader returns a warm loader of a workload: one epoch has been read.
func loader(b *testing.B, name, dir string, exact bool) *iterator.Loader {
	b.Helper()
	p, err := workload.New(workload.Config{
		Name: name, Data: data(b, dir), Size: 224, World: 1, Shuffle: true,
		Options: pipeline.Options{BatchSize: batchSize, Seed: 1, ExactRGB: exact},
	})
	if err != nil {
		b.Fatal(err)
	}
	l, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	for _, err := range l.Epoch(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// drain runs body on batches until b.N samples were seen.
func drain(b *testing.B, l *iterator.Loader, body func(*iterator.Batch)) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	seen := 0
	for seen < b.N {
		for batch, err := range l.Epoch(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			body(batch)
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
		{"eval", "eval", "imagenet-sample", false},
		{"decode", "decode", "imagenet-sample", false},
		{"mnist", "mnist", "mnist", false},
	} {
		b.Run(w.name, func(b *testing.B) {
			drain(b, loader(b, w.workload, w.dir, w.exact), func(*iterator.Batch) {})
		})
	}
}
