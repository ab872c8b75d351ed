package benchmarks

import (
	"testing"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// BenchmarkNormalize makes batches of 64 float32 pictures, 3×224×224, of shuffled bytes in memory: by an operator for single
// samples, and by one for whole batches on the host, which reads a batch of bytes. Both mirror half of the pictures. A loop
// that sets a batch of that size to zero is what they are compared with.
func BenchmarkNormalize(b *testing.B) {
	const batch, size, pictures = 64, 3 * 224 * 224, 512
	pix := make([]byte, pictures*size)
	for i := range pix {
		pix[i] = byte(i * 7)
	}
	x := make([]float32, batch*size)
	for _, c := range []struct {
		name      string
		normalize func(*pipeline.Graph, pipeline.Value, ops.CropMirrorNormalizeOptions) pipeline.Value
	}{
		{"samples", ops.CropMirrorNormalize},
		{"batches", ops.DeviceCropMirrorNormalize},
	} {
		b.Run(c.name, func(b *testing.B) {
			besideLoop(b, pictures, batch, func([]int) { clear(x) }, func(g *pipeline.Graph) {
				img := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(pix, 224, 224, 3))[0]
				g.Output("image", c.normalize(g, img, ops.CropMirrorNormalizeOptions{
					Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
				}))
			})
		})
	}
}
