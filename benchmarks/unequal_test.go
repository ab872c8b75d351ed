package benchmarks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// unequal is a workload in which some samples are many times as slow as the others:
// a sample sleeps, and which ones sleep longer is drawn from their index.
type unequal struct {
	workers, depth int
	share          float64 // of samples that are slow
	times          int64   // as long as the others
}

const unequalUnit = 10 * time.Millisecond

// cost returns how long a sample takes.
func (u unequal) cost(index int64) time.Duration {
	x := uint64(index) * 0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	if float64(x>>11)/(1<<53) < u.share {
		return time.Duration(u.times) * unequalUnit
	}
	return unequalUnit
}

// ahead returns how often the batches made ahead cover the time of a slow sample.
func (u unequal) ahead() float64 {
	mean := 1 + u.share*float64(u.times-1)
	return float64(u.depth*batchSize) * mean / float64(u.workers) / float64(u.times)
}

// ofIdeal returns how near plankton comes to a loader that delivers samples in the order
// in which they are finished: of such a loader no worker ever waits, so that samples take the
// sum of their costs divided by the number of workers. The clock is that of a test's
// bubble: there is no noise in it, and no other cost than the samples'. Batches are taken
// at once, and their order is checked.
func (u unequal) ofIdeal(t *testing.T, batches int) float64 {
	var share float64
	synctest.Test(t, func(t *testing.T) {
		p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Workers: u.workers, PrefetchDepth: u.depth}, func(g *pipeline.Graph) {
			g.Output("index", readers.External(g, readers.ExternalOptions{
				Outputs: []datum.Spec{{DType: datum.Int64}}, Len: 1 << 30,
				Read: func(_ context.Context, index int64, out []*datum.Tensor) error {
					time.Sleep(u.cost(index))
					if _, err := out[0].Resize(); err != nil {
						return err
					}
					out[0].Int64s()[0] = index
					return nil
				},
			})[0])
		})
		require.NoError(t, err)
		l := loaderOf(t, p)
		// The first batches are a start, in which a reordering loader is idle no less.
		var work time.Duration
		var began time.Time
		seen, next := 0, int64(0)
		for batch, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			for _, index := range batch.Int64s("index") {
				require.Equal(t, next, index)
				if seen >= u.depth {
					work += u.cost(index)
				}
				next++
			}
			if seen++; seen == u.depth {
				began = time.Now()
			}
			if seen == u.depth+batches {
				break
			}
		}
		share = work.Seconds() / float64(u.workers) / time.Since(began).Seconds()
		require.NoError(t, l.Close())
	})
	return share
}

// Batches keep their order, and workers go on with the next ones while a slow sample is
// made, as far as PrefetchDepth allows: so depth reaches what a loader reaches that
// delivers what is ready first. It takes as many batches ahead as workers need some time for
// that is longer than a slow sample. With -v the test prints the table of docs/which-loader.md.
func TestOrderCostsNothingWhereDepthHidesSlowSamples(t *testing.T) {
	batches, depths := 200, []int{1, 2, 4, 8, 16}
	workers := []int{2, 8, 16}
	if testing.Short() {
		batches, depths, workers = 100, []int{1, 8}, []int{8}
	}
	var table strings.Builder
	fmt.Fprint(&table, "| slow samples | workers |")
	for _, d := range depths {
		fmt.Fprintf(&table, " depth %d |", d)
	}
	for _, slow := range []unequal{{share: 0.05, times: 10}, {share: 0.05, times: 50}, {share: 0.01, times: 50}} {
		for _, w := range workers {
			fmt.Fprintf(&table, "\n| %g %%, %d times as slow | %d |", 100*slow.share, slow.times, w)
			for _, d := range depths {
				u := slow
				u.workers, u.depth = w, d
				share := u.ofIdeal(t, batches)
				fmt.Fprintf(&table, " %.2f |", share)
				if u.ahead() >= 2 {
					require.Greater(t, share, 0.9)
				}
			}
		}
	}
	t.Log("\n" + table.String())
}
