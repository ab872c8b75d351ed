package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEach runs a test on the fake driver and, where there is one, on a GPU.
// PLANKTON_CUDA=1 makes it a failure that there is none.
func onEach(t *testing.T, test func(t *testing.T, open func(t testing.TB) *cuda.Device)) {
	t.Run("fake", func(t *testing.T) {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.DelayUS, 50)
		test(t, func(t testing.TB) *cuda.Device {
			d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
			require.NoError(t, err)
			return d
		})
	})
	t.Run("gpu", func(t *testing.T) {
		require.NoError(t, cudatest.OpenGPU(t, cuda.Options{}).Close())
		test(t, func(t testing.TB) *cuda.Device { return cudatest.OpenGPU(t, cuda.Options{}) })
	})
}
