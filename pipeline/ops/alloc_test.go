package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// endless is a pipeline.Feed without end over n samples.
type endless struct{ n, batch int64 }

func (f endless) Locate(seq int64) (epoch, step int64, ok bool) { return 0, seq, true }
func (f endless) AppendBatch(dst []int64, _ int, _, step int64) []int64 {
	for row := range f.batch {
		dst = append(dst, (step*f.batch+row)%f.n)
	}
	return dst
}

// Once every buffer has seen its largest sample, no operator allocates. There is
// one worker, so that none meets its first sample late.
func TestWarmOperatorsAllocateNothing(t *testing.T) {
	if memstats.Invariants {
		t.Skip("builds with the tag invariants allocate for what they check")
	}
	const n = 2
	photo := encodeJPEG(t, smooth(40, 50))
	drawing := encodePNG(t, smooth(40, 50))
	pics := readers.Rows(make([]uint8, n*12*10*3), 12, 10, 3).WithLayout(datum.HWC)
	chain := func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		v = ops.Resize(g, v, ops.ResizeOptions{Shorter: 20})
		return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{
			CropOptions: ops.CropOptions{Height: 16, Width: 16, PosX: ops.Uniform(g, 0, 1)},
			Mean:        ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
		})
	}
	for _, c := range []struct {
		name   string
		exact  bool
		column readers.Column
		define func(g *pipeline.Graph, v pipeline.Value)
	}{
		{"pictures", false, pics, func(g *pipeline.Graph, v pipeline.Value) {
			crop := ops.Crop(g, v, ops.CropOptions{Height: 8, Width: 12, OutOfBounds: ops.BoundsPad, Fill: []float64{1, 2, 3}})
			g.Output("crop", crop)
			g.Output("flip", ops.Flip(g, v, ops.FlipOptions{Vertical: ops.CoinFlip(g, 0.5)}))
			g.Output("resize", ops.Resize(g, crop, ops.ResizeOptions{Height: 20, Width: 5, DType: datum.Float32}))
			g.Output("cmn", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{PadOutput: true, DType: datum.Float16}))
			g.Output("chain", chain(g, v))
		}},
		{"arrays", false, readers.Rows(make([]float32, n*6), 2, 3), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("normalize", ops.Normalize(g, v, ops.NormalizeOptions{Axes: []int{0}, Mean: ops.Constant(g, 3)}))
			labels := ops.Cast(g, v, datum.Int32)
			g.Output("one_hot", ops.OneHot(g, labels, ops.OneHotOptions{Classes: 5, DType: datum.Uint8}))
		}},
		{"photographs", false, readers.Ragged([][]byte{photo, photo}), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("fused", chain(g, ops.DecodeImage(g, v, ops.DecodeOptions{})))
			g.Output("decoded", ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Gray}))
		}},
		{"drawings", false, readers.Ragged([][]byte{drawing, drawing}), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("decoded", ops.DecodeImage(g, v, ops.DecodeOptions{}))
		}},
		{"photographs, exactly", true, readers.Ragged([][]byte{photo, photo}), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("fused", chain(g, ops.DecodeImage(g, v, ops.DecodeOptions{})))
			g.Output("decoded", ops.DecodeImage(g, v, ops.DecodeOptions{}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := pipeline.New(pipeline.Options{BatchSize: 8, Workers: 1, ExactRGB: c.exact}, func(g *pipeline.Graph) {
				c.define(g, readers.Slices(g, readers.SlicesOptions{}, c.column)[0])
			})
			require.NoError(t, err)
			r, err := p.NewRunner(endless{n, 8})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			step := func() {
				b, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
			}
			for range 20 {
				step()
			}
			require.Zero(t, testing.AllocsPerRun(50, step), "allocations per batch of 8")
		})
	}
}
