package benchmarks

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// empty returns a loader of samples that cost nothing: what is left is what a row costs
// beside its work. They are shuffled, as those of a training loop are.
func empty(b *testing.B, workers int) *iterator.Loader {
	p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Workers: workers}, func(g *pipeline.Graph) {
		g.Output("nothing", readers.External(g, readers.ExternalOptions{
			Outputs: []datum.Spec{{DType: datum.Int32}}, Len: 1 << 20, Shuffle: true,
			Read: func(_ context.Context, _ int64, out []*datum.Tensor) error {
				_, err := out[0].Resize()
				return err
			},
		})[0])
	})
	require.NoError(b, err)
	return loaderOf(b, p)
}

// quickest returns the least time of a sample, in nanoseconds, over parts of the run of at
// least so many samples: other programs on the machine make parts longer, never shorter.
func quickest(b *testing.B, l *iterator.Loader, samples, parts int) float64 {
	least, seen, began := math.Inf(1), 0, time.Now()
	for batch, err := range l.Epochs(b.Context(), 1<<30) {
		require.NoError(b, err)
		if seen += batch.NumValid(); seen < samples {
			continue
		}
		now := time.Now()
		least = min(least, float64(now.Sub(began).Nanoseconds())/float64(seen))
		began, seen = now, 0
		if parts--; parts == 0 {
			break
		}
	}
	return least
}

// BenchmarkSerial asks how many processors a pipeline can use. With empty samples, rows
// cannot come faster than what is done for one after the other: the order of the epoch, the
// ticket, the end of a batch and its hand-over. The time of a row on all processors, ns/row, is thus
// a bound from above for the serial part of a row; ns/row-1 is that of one worker. With the
// time of a picture of the train workload for one worker, us/picture, Amdahl's law tells what the
// serial part leaves of 16 processors: x-of-16. It knows nothing of memory that is shared.
func BenchmarkSerial(b *testing.B) {
	dir := data(b, "imagenet-sample")
	row, one, picture := math.Inf(1), math.Inf(1), math.Inf(1)
	all := max(2, runtime.GOMAXPROCS(0))
	wide, narrow := empty(b, all), empty(b, 1)
	train := open(b, workload.Config{Name: "train", Data: dir, Size: 224, Options: pipeline.Options{BatchSize: batchSize, Workers: 1}})
	quickest(b, train, 600, 1) // until the entropy index is there
	for b.Loop() {
		row = min(row, quickest(b, wide, 64*batchSize, 50))
		one = min(one, quickest(b, narrow, 64*batchSize, 50))
		picture = min(picture, quickest(b, train, batchSize, 8))
	}
	b.ReportMetric(row, "ns/row")
	b.ReportMetric(one, "ns/row-1")
	b.ReportMetric(picture/1e3, "us/picture")
	for _, n := range []float64{2, 4, 8, 16, 64} {
		b.ReportMetric((row+picture)/(row+picture/n), "x-of-"+map[float64]string{2: "2", 4: "4", 8: "8", 16: "16", 64: "64"}[n])
	}
}
