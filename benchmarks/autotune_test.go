package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// BenchmarkAutotune lets a pipeline of the train workload tune itself for ten
// seconds, from one worker on, and then compares it with fixed numbers of
// workers: all run in turn, a fraction of a second each, so that other load on
// the machine falls on all of them. It reports the rates and, as "of-best", the
// tuned one's share of the best fixed one.
func BenchmarkAutotune(b *testing.B) {
	dir := data(b, "imagenet-sample")
	train := func(workers int, tune *pipeline.Autotune) *iterator.Loader {
		return open(b, workload.Config{
			Name: "train", Data: dir, Size: 224, Options: pipeline.Options{BatchSize: batchSize, Workers: workers, Autotune: tune},
		})
	}
	// spin uses batches for so long and returns how many samples there were, and
	// the time.
	spin := func(l *iterator.Loader, d time.Duration) (samples int, took time.Duration) {
		began := time.Now()
		for time.Since(began) < d {
			for batch, err := range l.Epoch(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				samples += batch.NumValid()
				if time.Since(began) >= d {
					break
				}
			}
		}
		return samples, time.Since(began)
	}
	tuned := train(1, &pipeline.Autotune{})
	spin(tuned, 10*time.Second)
	setting := tuned.Stats().Pipelines[0]
	names := []string{"tuned", "1-worker", "2-workers", "3-workers", "4-workers"}
	loaders := []*iterator.Loader{tuned}
	for n := 1; n <= 4; n++ {
		loaders = append(loaders, train(n, nil))
		spin(loaders[n], 200*time.Millisecond)
	}
	var samples [5]int
	var took [5]time.Duration
	b.ResetTimer()
	for b.Loop() {
		for i, l := range loaders {
			n, d := spin(l, 100*time.Millisecond)
			samples[i] += n
			took[i] += d
		}
	}
	best := 0.0
	rate := func(i int) float64 { return float64(samples[i]) / took[i].Seconds() }
	for i := range loaders {
		b.ReportMetric(rate(i), fmt.Sprintf("%s/s", names[i]))
		if i > 0 {
			best = max(best, rate(i))
		}
	}
	b.ReportMetric(rate(0)/best, "of-best")
	b.ReportMetric(float64(setting.Workers.Workers), "workers")
	b.ReportMetric(float64(setting.Queue.Depth), "depth")
}
