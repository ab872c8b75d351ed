package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Once every buffer has seen its largest sample, no operator allocates. There is
// one worker, so that none meets its first sample late.
func TestWarmOperatorsAllocateNothing(t *testing.T) {
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
		{"colours and regions", false, pics, func(g *pipeline.Graph, v pipeline.Value) {
			u := func(lo, hi float64) pipeline.Value { return ops.Uniform(g, lo, hi) }
			g.Output("brightness", ops.BrightnessContrast(g, v, ops.BrightnessContrastOptions{Brightness: u(0, 2), Contrast: u(0, 2)}))
			g.Output("twist", ops.ColorTwist(g, v, ops.ColorTwistOptions{Hue: u(0, 360), DType: datum.Float32}))
			g.Output("space", ops.ColorSpaceConversion(g, v, ops.RGB, ops.YCbCr))
			g.Output("equalize", ops.Equalize(g, v))
			g.Output("erase", ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Constant(g, 1, 2), Shape: ops.Constant(g, 3, 4), Fill: ops.Constant(g, 1, 2, 3)}))
			g.Output("pad", ops.Pad(g, v, ops.PadOptions{AxisNames: "HW", Shape: ops.Constant(g, 14, 9), Align: ops.Constant(g, 4)}))
			g.Output("paste", ops.Paste(g, v, ops.PasteOptions{Ratio: ops.Constant(g, 1.5), X: u(0, 1), Fill: ops.Constant(g, 1, 2, 3)}))
			g.Output("multi", ops.MultiPaste(g, []pipeline.Value{v, v}, ops.MultiPasteOptions{InIDs: ops.Constant(g, 1, 0, 1), ShapesRel: ops.Constant(g, 0.5, 0.5, 0.2, 0.3, 0.1, 0.1)}))
			g.Output("grid", ops.GridMask(g, v, ops.GridMaskOptions{Tile: ops.Constant(g, 4), Angle: u(0, 1)}))
			g.Output("lookup", ops.LookupTable(g, v, ops.LookupTableOptions{Keys: []int{1}, Values: []float64{2}}))
		}},
		{"augmentations", false, pics, func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("trivial", ops.TrivialAugmentWide(g, v, ops.TrivialAugmentOptions{}))
			g.Output("jitter", ops.ColorJitter(g, v, ops.ColorJitterOptions{Contrast: [2]float64{0, 2}, Hue: [2]float64{-0.1, 0.1}}))
			g.Output("erasing", ops.RandomErasing(g, v, ops.RandomErasingOptions{}))
			g.Output("auto", ops.AutoAugment(g, v, ops.AutoAugmentOptions{}))
			g.Output("mix", ops.AugMix(g, v, ops.AugMixOptions{Depth: 3}))
			g.Output("rand", ops.RandAugment(g, v, ops.RandAugmentOptions{Ops: 3}))
		}},
		{"warps and filters", false, pics, func(g *pipeline.Graph, v pipeline.Value) {
			m := ops.CombineMatrices(g, false,
				ops.RotationMatrix(g, ops.RotationMatrixOptions{Angle: ops.Uniform(g, 0, 90), Center: ops.Constant(g, 5, 6)}),
				ops.ScaleMatrix(g, ops.ScaleMatrixOptions{Scale: ops.Constant(g, 2, 3)}))
			g.Output("warp", ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: m, Forward: true, Fill: ops.Constant(g, 3)}))
			g.Output("wide", ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: m, DType: datum.Float32}))
			g.Output("rotate", ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Constant(g, 30), Interp: ops.Nearest}))
			g.Output("blur", ops.GaussianBlur(g, v, ops.GaussianBlurOptions{Sigma: ops.Constant(g, 1.5)}))
			g.Output("laplacian", ops.Laplacian(g, v, ops.LaplacianOptions{WindowSize: ops.Constant(g, 5)}))
			g.Output("filter", ops.Filter(g, v, ops.FilterOptions{Filter: m, Border: ops.BorderWrap}))
			g.Output("water", ops.Water(g, v, ops.WaterOptions{PhaseX: ops.Uniform(g, 0, 3)}))
			g.Output("sphere", ops.Sphere(g, v, ops.SphereOptions{Interp: ops.Linear}))
			g.Output("jpeg", ops.JPEGCompressionDistortion(g, v, ops.Uniform(g, 1, 100)))
		}},
		{"regions of files", true, readers.Ragged([][]byte{photo, drawing}), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("crop", ops.DecodeCrop(g, v, ops.DecodeCropOptions{CropOptions: ops.CropOptions{Height: 20, Width: 30, PosX: ops.Uniform(g, 0, 1)}}))
			g.Output("slice", ops.DecodeSlice(g, v, ops.DecodeSliceOptions{Start: ops.Constant(g, 3, 4), Shape: ops.Constant(g, 20, 30)}))
			g.Output("shape", ops.PeekImageShape(g, v, ops.PeekImageShapeOptions{}))
		}},
		{"arrays", false, readers.Rows(make([]float32, n*6), 2, 3), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("normalize", ops.Normalize(g, v, ops.NormalizeOptions{Axes: []int{0}, Mean: ops.Constant(g, 3)}))
			labels := ops.Cast(g, v, datum.Int32)
			g.Output("one_hot", ops.OneHot(g, labels, ops.OneHotOptions{Classes: 5, DType: datum.Uint8}))
			g.Output("times two", ops.Mul(g, v, ops.Constant(g, 2)))
			g.Output("clamped", ops.Clamp(g, v, v, ops.Constants(g, datum.Float32, 1)))
			g.Output("times rows", ops.Mul(g, v, ops.Constants(g, datum.Float32, 1, 2, 3)))
			g.Output("flat", ops.Reshape(g, v, ops.ReshapeOptions{Shape: ops.Constants(g, datum.Int32, -1)}))
			g.Output("joined", ops.Cat(g, 0, v, v))
			g.Output("stacked", ops.Stack(g, 1, "", v, v))
			g.Output("looked up", ops.LookupTable(g, labels, ops.LookupTableOptions{Keys: []int{1}, Values: []float64{3}}))
		}},
		{"photographs", false, readers.Ragged([][]byte{photo, photo}), func(g *pipeline.Graph, v pipeline.Value) {
			g.Output("fused", chain(g, ops.DecodeImage(g, v, ops.DecodeOptions{})))
			g.Output("decoded", ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Gray}))
		}},
		{"strong augmentation", false, readers.Ragged([][]byte{photo, photo}), func(g *pipeline.Graph, v pipeline.Value) {
			v = ops.Resize(g, ops.DecodeImage(g, v, ops.DecodeOptions{}), ops.ResizeOptions{Height: 16, Width: 16})
			v = ops.ColorTwist(g, v, ops.ColorTwistOptions{Hue: ops.Uniform(g, 0, 360)})
			v = ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Std: ops.ImageNetStd})
			g.Output("fused", ops.RandomErasing(g, v, ops.RandomErasingOptions{}))
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
			allocatesNothing(t, n, pipeline.Options{ExactRGB: c.exact}, func(g *pipeline.Graph) {
				c.define(g, readers.Slices(g, readers.SlicesOptions{}, c.column)[0])
			})
		})
	}
}

// allocatesNothing looks whether batches of a pipeline whose reader has n samples are made
// without an allocation, once they are warm.
func allocatesNothing(t *testing.T, n int64, o pipeline.Options, define func(g *pipeline.Graph)) {
	t.Helper()
	if memstats.Invariants {
		t.Skip("builds with the tag invariants allocate for what they check")
	}
	o.BatchSize, o.Workers = 8, 1
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	r, err := p.Engine().NewRunner(feedtest.Endless(n, int64(o.BatchSize)))
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
	alloctest.None(t, 50, step, "batches of", o.BatchSize)
}
