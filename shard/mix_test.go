package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMixProportions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(1, 60), 1, 9).Draw(t, "weights")
		m, err := NewMix(weights...)
		require.NoError(t, err)
		total := int64(0)
		for _, w := range weights {
			total += w
		}
		drawn := make([]int64, len(weights))
		for k := range int64(3 * m.Period()) {
			source, draw := m.At(k)
			require.Equal(t, drawn[source], draw, "draw %d of %v", k, weights)
			drawn[source]++
			for i, w := range weights {
				// |drawn - (k+1)·w/total| < 1, times total
				off := drawn[i]*total - (k+1)*w
				require.True(t, -total < off && off < total, "source %d after %d draws of %v", i, k+1, weights)
			}
		}
		require.Zero(t, total%int64(m.Period()))

		far := rapid.Int64Range(0, 1<<50).Draw(t, "far") * int64(m.Period())
		source, draw := m.At(far)
		first, _ := m.At(0)
		require.Equal(t, first, source)
		require.Equal(t, far/total*weights[source]+far%total/int64(m.Period())*weights[source]*int64(m.Period())/total, draw)
	})
}

func TestMixErrors(t *testing.T) {
	for _, weights := range [][]int64{{}, {0}, {1, -1}, {1, MaxMixPeriod}, {1<<62 + 1, 1<<62 + 3}} {
		_, err := NewMix(weights...)
		var cfgErr *ConfigError
		require.ErrorAs(t, err, &cfgErr, "%v", weights)
		require.Equal(t, "Weights", cfgErr.Field)
	}
	m, err := NewMix(1<<62, 1<<61)
	require.NoError(t, err)
	require.Equal(t, 3, m.Period())
}

// TestMixSchedule compares with the plain search for the earliest deadline of a draw that is
// due: stored positions rely on the order.
func TestMixSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := NewMix(rapid.SliceOfN(rapid.Int64Range(1, 90), 1, 30).Draw(t, "weights")...)
		require.NoError(t, err)
		period := int64(m.Period())
		given := make([]int64, len(m.weights))
		for k := range period {
			next, earliest := 0, period+1
			for i, w := range m.weights {
				due, late := given[i]*period/w, ceilDiv((given[i]+1)*period, w)
				if due <= k && late < earliest {
					next, earliest = i, late
				}
			}
			source, draw := m.At(k)
			require.Equal(t, next, source)
			require.Equal(t, given[next], draw)
			given[next]++
		}
	})
}
