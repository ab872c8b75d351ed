package cuda_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a device of the fake driver that the test closes.
func open(t testing.TB, drv *fakedriver.Driver, o cuda.Options) *cuda.Device {
	t.Helper()
	o.Library = drv.Library
	d, err := cuda.OpenWith(0, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

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
		d, err := cuda.Open(0)
		if os.Getenv("PLANKTON_CUDA") == "" && (errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice)) {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.NoError(t, d.Close())
		test(t, func(t testing.TB) *cuda.Device {
			d, err := cuda.Open(0)
			require.NoError(t, err)
			return d
		})
	})
}
