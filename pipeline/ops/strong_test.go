package ops_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// The training pipeline of docs/augmentation.md gives pictures and shares of classes, the same
// with any number of workers.
func TestStrongAugmentation(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"a/1.jpg", "a/2.jpg", "b/3.jpg", "b/4.jpg"} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, encodeJPEG(t, smooth(40+i, 50)), 0o666))
	}
	delivered := func(workers int) map[string][]array {
		got, err := epoch(t, pipeline.Options{BatchSize: 4, Workers: workers, Seed: 7}, func(g *pipeline.Graph) {
			file, label := readers.File(g, readers.FileOptions{Root: root, Shuffle: true})
			v := ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{})
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 32, Width: 32})
			v = ops.TrivialAugmentWide(g, v, ops.TrivialAugmentOptions{})
			v = ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5)})
			v = ops.RandomErasing(g, v, ops.RandomErasingOptions{})
			pictures, labels := ops.CutMix(g, v, label, ops.MixOptions{})
			g.Output("pictures", pictures)
			g.Output("labels", labels)
		})
		require.NoError(t, err)
		return got
	}
	got := delivered(1)
	require.Equal(t, got, delivered(3))
	require.Len(t, got["labels"], 4)
	for i, y := range got["labels"] {
		require.Equal(t, []int{3, 32, 32}, got["pictures"][i].shape)
		require.InDelta(t, 1, y.data[0]+y.data[1], 1e-6)
	}
}
