package benchmarks

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage/index"
)

// BenchmarkRawReading compares the processor time of reading encoded pictures, without
// decoding, from a folder, from tar archives and from TFRecords with and without their
// checksums. Runs take turns, and what is reported is the median of the ratios to the
// folder's run of the same turn: machines change their speed while they are measured. All
// files are written in one piece, since the page cache keeps them in larger pages then.
//
//	PLANKTON_DATA=... go test -run '^$' -bench RawReading -benchtime 20x ./benchmarks
func BenchmarkRawReading(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(datatest.Data(b, "imagenet-sample"), "*.JPEG"))
	require.NoError(b, err)
	const copies, perShard = 10, 100
	folder, tars, records := b.TempDir(), b.TempDir(), b.TempDir()
	var archive bytes.Buffer
	var packed *tar.Writer
	var record []byte
	n := 0
	finish := func() {
		if n > 0 {
			require.NoError(b, packed.Close())
			require.NoError(b, os.WriteFile(filepath.Join(tars, fmt.Sprintf("%04d.tar", n)), archive.Bytes(), 0o666))
			require.NoError(b, os.WriteFile(filepath.Join(records, fmt.Sprintf("%04d.tfrecord", n)), record, 0o666))
		}
	}
	for range copies {
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(b, err)
			if n%perShard == 0 {
				finish()
				archive.Reset()
				packed, record = tar.NewWriter(&archive), nil
			}
			name := fmt.Sprintf("%05d.jpg", n)
			require.NoError(b, os.WriteFile(filepath.Join(folder, name), data, 0o666))
			require.NoError(b, packed.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644}))
			_, err = packed.Write(data)
			require.NoError(b, err)
			record = index.AppendRecord(record, index.ExamplePieces(index.Feature{Key: "image/encoded", Bytes: data})...)
			n++
		}
	}
	finish()

	sources := []struct {
		name string
		read func(g *pipeline.Graph) pipeline.Value
	}{
		{"folder", func(g *pipeline.Graph) pipeline.Value {
			v, _ := readers.File(g, readers.FileOptions{Root: folder, Shuffle: true})
			return v
		}},
		{"tar", func(g *pipeline.Graph) pipeline.Value { return shards(g, readers.ShardsOptions{Root: tars}) }},
		{"tfrecord", func(g *pipeline.Graph) pipeline.Value { return shards(g, readers.ShardsOptions{Root: records}) }},
		{"unchecked", func(g *pipeline.Graph) pipeline.Value {
			return shards(g, readers.ShardsOptions{Root: records, Unchecked: true})
		}},
	}
	var loaders []*iterator.Loader
	for _, s := range sources {
		p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Workers: 2, Seed: 1}, func(g *pipeline.Graph) { g.Output("x", s.read(g)) })
		require.NoError(b, err)
		l := loaderOf(b, p)
		cpuOf(b, l) // warm
		loaders = append(loaders, l)
	}
	ratios := make([][]float64, len(sources))
	var own []float64
	for b.Loop() {
		base := 0.0
		for i, l := range loaders {
			cpu := cpuOf(b, l)
			if i == 0 {
				base = cpu
				own = append(own, cpu/float64(n)*1000)
			}
			ratios[i] = append(ratios[i], cpu/base)
		}
	}
	b.ReportMetric(median(own), "folder-CPU-s/1000")
	for i, s := range sources[1:] {
		b.ReportMetric(median(ratios[i+1]), s.name+"/folder")
	}
}

func shards(g *pipeline.Graph, o readers.ShardsOptions) pipeline.Value {
	o.Shuffle = true
	o.IndexOptions.Repeats = true
	members, _ := readers.Shards(g, o)
	return members[0]
}

// cpuOf returns the processor time of an epoch, in seconds.
func cpuOf(b *testing.B, l *iterator.Loader) float64 {
	start := usage.CPU()
	for _, err := range l.Epoch(context.Background()) {
		require.NoError(b, err)
	}
	return (usage.CPU() - start).Seconds()
}
