//go:build cuda

package gorgoniaplugin_test

import (
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/benchmarks/gpu/verdict"
	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// on says what the tests run on, for the table of benchmarks/gpu.
var on = verdict.Machine{Fake: os.Getenv("PLANKTON_CUDA") == ""}

// onAGPU skips tests for a program that finds the driver of a GPU.
func onAGPU(t *testing.T) {
	t.Helper()
	if on.Fake {
		t.Skip("PLANKTON_CUDA is not set: it says that the driver is that of a GPU")
	}
}

// TestBatchesAreReadOnAGPU is for a program that finds the driver of a GPU and NVIDIA's
// cuBLAS by the names of the fakes that it is linked to, as benchmarks/gpu/run.sh
// makes it. Every other test with the tag cuda looks into the fake driver.
func TestBatchesAreReadOnAGPU(t *testing.T) {
	onAGPU(t)
	readBatches(t)
}

// readsInPlace writes other numbers to the device's memory of every batch before the graph
// runs. The product is that of these: a run that uploaded the batch would bring the old ones.
func readsInPlace(t *testing.T, epochs int) {
	f, vm, got, want := attached(t, gpuLoader(t, 2, uploaded(40, 1)))
	device := vm.(gorgonia.CUDAMachine).Contexts()[0]
	steps, uploaded := 0, 0
	for b, err := range f.Epochs(t.Context(), epochs) {
		require.NoError(t, err)
		mem, other := b.Bytes("x"), make([]float32, 4*features)
		for i := range other {
			other[i] = float32(steps + i)
		}
		require.NoError(t, device.Do(func() error {
			return cu.MemcpyHtoD(cu.DevicePtr(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), unsafe.Pointer(&other[0]), int64(len(mem)))
		}))
		require.NoError(t, vm.RunAll())
		if !slices.Equal(want(other), (*got).Data().([]float32)) {
			uploaded++
		}
		vm.Reset()
		steps++
	}
	on.Judge(t, "uploads", uploaded == 0, "%d of %d batches", uploaded, steps)
}

func TestRunAllReadsInPlaceOnAGPU(t *testing.T) {
	onAGPU(t)
	readsInPlace(t, 100)
}

func TestRunAllReadsInPlace(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 20)
	readsInPlace(t, 3)
}

// TestTrainingOnAGPU is a thousand steps of a layer with a bias, an activation and a
// gradient, beside the host's.
func TestTrainingOnAGPU(t *testing.T) {
	onAGPU(t)
	trainAndResume(t, 1000)
}

// readBatches multiplies every batch of five epochs by weights.
func readBatches(t *testing.T) {
	f, vm, got, want := attached(t, gpuLoader(t, 2, uploaded(40, 1)))
	require.Equal(t, []gorgoniaplugin.Placement{{Node: "x"}}, f.Placements())
	steps := 0
	for b, err := range f.Epochs(t.Context(), 5) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		require.Equal(t, want(rowsOf(b, 1)), (*got).Data(), "step %d of epoch %d", b.Step(), b.Epoch())
		vm.Reset()
		steps++
	}
	require.Equal(t, 50, steps)
}
