package stats_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/stats"
)

func TestTunerTakesBackWhatDoesNotPay(t *testing.T) {
	most := stats.Limits{MaxWorkers: 8, MaxDepth: 8}
	tn := stats.NewTuner(stats.Setting{Workers: 2, Depth: 2}, most)
	s := stats.Run{Elapsed: time.Second, Consumer: stats.Consumer{Samples: 1000}}
	decode := stats.Verdict{Bound: stats.ByOperator}
	var asks []int
	for i := range 200 {
		before := tn.Setting()
		if reverted := tn.Step(s, decode); reverted {
			require.Equal(t, stats.Setting{Workers: 2, Depth: 2}, tn.Setting())
		} else if tn.Setting().Workers > before.Workers {
			asks = append(asks, i)
		}
	}
	require.Greater(t, len(asks), 2)
	for i := 2; i < len(asks); i++ {
		require.Greater(t, asks[i]-asks[i-1], asks[i-1]-asks[i-2]-1, "it asks ever more seldom: %v", asks)
	}

	tn = stats.NewTuner(stats.Setting{Workers: 2, Depth: 2}, most)
	require.False(t, tn.Step(s, stats.Verdict{Bound: stats.ByOperator, ProcessorsFull: true}))
	require.Equal(t, 2, tn.Setting().Workers, "no workers are added to full processors")
}
