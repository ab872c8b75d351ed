//go:build cuda

package gorgoniaplugin_test

import (
	"os"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/stretchr/testify/require"
)

// TestBatchesAreReadOnAGPU is for a program that finds the driver of a GPU and NVIDIA's
// cuBLAS by the names of the fakes that it is linked to, as benchmarks/gpu/run.sh
// makes it. Every other test with the tag cuda looks into the fake driver.
func TestBatchesAreReadOnAGPU(t *testing.T) {
	if os.Getenv("PLANKTON_CUDA") == "" {
		t.Skip("PLANKTON_CUDA is not set: it says that the driver is that of a GPU")
	}
	readBatches(t)
}

// TestTrainingOnAGPU is a thousand steps of a layer with a bias, an activation and a
// gradient, beside the host's.
func TestTrainingOnAGPU(t *testing.T) {
	if os.Getenv("PLANKTON_CUDA") == "" {
		t.Skip("PLANKTON_CUDA is not set: it says that the driver is that of a GPU")
	}
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
