package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/benchmarks/gpu/verdict"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake says that figures mean nothing.
var fake = os.Getenv("PLANKTON_FAKE") != ""

// on says what the tests run on.
var on = verdict.Machine{Fake: fake}

// library returns the driver library to open. The fake driver has two GPUs.
func library(t testing.TB) string {
	if fake {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.Devices, 2)
		return drv.Library
	}
	return "libcuda.so.1"
}

// open opens the GPU, or the fake driver if PLANKTON_FAKE says so.
func open(t testing.TB, kind cuda.ContextKind) *cuda.Device {
	d := cudatest.OpenGPU(t, cuda.Options{Library: library(t), Context: kind})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// second opens another GPU, nil where there is none.
func second(t testing.TB) *cuda.Device {
	d, err := cuda.OpenWith(1, cuda.Options{Library: library(t)})
	if errors.Is(err, cuda.ErrNoDevice) {
		return nil
	}
	require.NoError(t, err)
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

// atLeast judges a share with a goal.
func atLeast(t *testing.T, line string, share, goal float64, figures string) {
	on.Judge(t, line, share >= goal, "%.1f %%: %s", 100*share, figures)
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
