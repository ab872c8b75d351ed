package usage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUsageGrowsWithWork(t *testing.T) {
	before := CPU()
	if before == 0 {
		t.Skip("this system does not tell the processor time")
	}
	began := time.Now()
	for CPU()-before < 10*time.Millisecond {
		require.Less(t, time.Since(began), time.Minute, "work must show")
	}
	if peak := PeakMemory(); peak != 0 {
		require.Greater(t, peak, int64(1<<20))
		require.Less(t, peak, int64(1<<40))
	}
}
