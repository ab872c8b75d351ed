//go:build xla

package gomlxplugin

import (
	"os"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/stretchr/testify/require"
)

// On XLA a model learns what it learns from copies, too, and nothing is copied.
func TestXLA(t *testing.T) {
	if os.Getenv("PJRT_PLUGIN_LIBRARY_PATH") == "" {
		t.Skip("PJRT_PLUGIN_LIBRARY_PATH is not set: it names the folder of pjrt_c_api_cpu_plugin.so")
	}
	xla.EnableAutoInstall(false)
	be, err := compute.NewWithConfig("xla:cpu")
	require.NoError(t, err)
	defer be.Finalize()
	require.True(t, be.HasSharedBuffers())
	for _, rows := range []Rows{Valid, Masked} {
		s := setup{backend: be, n: 160, batch: 16, shuffle: true}
		if rows == Masked {
			s.n = 150
		}
		var copies byHand
		for again := dataset(t, loader(t, s), Options{Rows: rows}); len(copies) < 30; {
			copies = append(copies, drain(t, again)...)
		}
		ours, theirs := newTrainer(be), newTrainer(be)
		ds := dataset(t, loader(t, s), Options{Rows: rows})
		_, err := train.NewLoop(ours).RunEpochs(ds, 3)
		require.NoError(t, err)
		require.NotEmpty(t, ds.memory[0].blocks, "batches lie in memory of XLA")
		_, err = train.NewLoop(theirs).RunEpochs(copies, 1)
		require.NoError(t, err)
		require.Equal(t, weightsOf(t, theirs), weightsOf(t, ours), rows)
	}
}
