package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake says that figures mean nothing.
var fake = os.Getenv("PLANKTON_FAKE") != ""

// library returns the driver library to open.
func library(t testing.TB) string {
	if fake {
		return fakedriver.Open(t).Library
	}
	return "libcuda.so.1"
}

// open opens the GPU, or the fake driver if PLANKTON_FAKE says so.
func open(t testing.TB, kind cuda.ContextKind) *cuda.Device {
	d := cudatest.OpenGPU(t, cuda.Options{Library: library(t), Context: kind})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// size is n on a GPU, and little on the fake driver.
func size(n, little int) int {
	if fake {
		return little
	}
	return n
}

// verdict says whether a target is met, and fails a test on a GPU where it is not.
func verdict(t *testing.T, what string, met bool, figures string) {
	word := "met"
	switch {
	case fake:
		word = "fake driver: not a figure"
	case !met:
		word = "missed"
		t.Fail()
	}
	fmt.Printf("verdict: %s: %s: %s\n", what, word, figures)
}

// atLeast is verdict for a share with a target.
func atLeast(t *testing.T, what string, share, target float64) {
	verdict(t, what, share >= target, fmt.Sprintf("%.1f %%, target %.0f %%", 100*share, 100*target))
}

// results returns the path of a file among the results.
func results(t testing.TB, name string) string {
	dir := os.Getenv("PLANKTON_RESULTS")
	if dir == "" {
		dir = t.TempDir()
	}
	return filepath.Join(dir, name)
}

// took returns the median of how long work takes by the clock of the GPU, once it
// is warm.
func took(t testing.TB, d *cuda.Device, work func(q *cuda.Queue) error) time.Duration {
	s := cudatest.Stream(t, d)
	var times []time.Duration
	for i := range size(60, 6) {
		begin := s.Record()
		s.Do(cudatest.On(work))
		end := s.Record()
		require.NoError(t, s.Synchronize(t.Context()))
		d, err := end.Elapsed(begin)
		require.NoError(t, err)
		if i >= size(10, 1) {
			times = append(times, d)
		}
	}
	require.NoError(t, s.Close())
	return median(times)
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// rate returns GB/s.
func rate(bytes int, took time.Duration) float64 { return float64(bytes) / took.Seconds() / 1e9 }
