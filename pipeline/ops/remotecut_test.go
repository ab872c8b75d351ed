package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A cut behind a resize, with a crop or without, is fused with the decoder as a chain that
// ends in uint8 is, and makes the same bits; so does the normalisation behind it.
func TestRemoteCutFusesAsAChainOfBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChain(rt)
		file := encodePNG(t, noise(rt, rapid.IntRange(1, 40).Draw(rt, "height"), rapid.IntRange(1, 40).Draw(rt, "width")))
		if rapid.Bool().Draw(rt, "JPEG") {
			file = encodeJPEG(t, smooth(rapid.IntRange(1, 40).Draw(rt, "height"), rapid.IntRange(1, 40).Draw(rt, "width")))
			file = turned(file, rapid.ByteRange(1, 8).Draw(rt, "orientation"))
		}
		o := pipeline.Options{BatchSize: 1, Workers: 1, ExactRGB: rapid.Bool().Draw(rt, "exact"), Seed: rapid.Uint64().Draw(rt, "seed")}
		results := make([]map[string][]array, 2)
		for i, cut := range []bool{false, true} {
			p, err := pipeline.New(o, func(g *pipeline.Graph) {
				v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
				d := ops.DecodeOptions{Type: c.colour}
				if c.random {
					v = ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{DecodeOptions: d})
				} else {
					v = ops.DecodeImage(g, v, d)
				}
				v = ops.Resize(g, v, c.resize)
				window := c.cmn.CropOptions
				window.PosY, window.PosX = ops.Constant(g, c.posY), ops.Constant(g, c.posX)
				mirror := ops.CoinFlip(g, 0.5)
				if cut {
					if window.Height != 0 || window.Width != 0 {
						v = ops.Crop(g, v, window)
					}
					v = ops.RemoteCut(g, v)
				} else {
					v = ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: window, DType: datum.Uint8, Layout: datum.HWC})
				}
				g.Output("bytes", v)
				g.Output("out", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mean: []float64{100}, Std: []float64{50}, Mirror: mirror}))
			})
			require.NoError(t, err)
			fused := c.resize.Interp != ops.Nearest && c.resize.Interp != ops.Gaussian
			if fused != strings.Contains(p.String(), "resize+") {
				rt.Fatalf("fused: %v, but the pipeline is\n%s", fused, p)
			}
			if !strings.Contains(p.String(), "crop_mirror_normalize →") {
				rt.Fatalf("what stands behind the cut was fused across it:\n%s", p)
			}
			results[i], err = run(t, p)
			require.NoError(t, err)
		}
		require.Equal(rt, results[0], results[1])
	})
}

// The cut hands on what it is given, whatever that is.
func TestRemoteCutHandsOn(t *testing.T) {
	column := readers.Ragged([][]float32{{1, 2, 3}, {}, {4}})
	got := only(t, column, ops.RemoteCut)
	want := only(t, column, func(_ *pipeline.Graph, v pipeline.Value) pipeline.Value { return v })
	require.Equal(t, want, got)
}

// A picture of floats, one padded by its crop, and one that is cropped twice are not fused.
func TestRemoteCutAfterWhatIsNotFused(t *testing.T) {
	data := picture(6, 6, 3, ramp(108)...)
	for name, front := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
		"floats": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4, DType: datum.Float32})
		},
		"padded": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			return ops.Crop(g, v, ops.CropOptions{Height: 5, Width: 5, OutOfBounds: ops.BoundsPad, Fill: []float64{7}})
		},
		"cropped twice": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 5, Width: 5})
			v = ops.Crop(g, v, ops.CropOptions{Height: 4, Width: 4, PosY: ops.Constant(g, 0)})
			return ops.Crop(g, v, ops.CropOptions{Height: 3, Width: 3, PosX: ops.Constant(g, 1)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			cut := only(t, data, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return ops.RemoteCut(g, front(g, v)) })
			require.Equal(t, only(t, data, front), cut)
		})
	}
}
