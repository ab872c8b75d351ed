package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Every option that changes results changes the pipeline's fingerprint.
func TestFingerprintsShowOptions(t *testing.T) {
	type build func(g *pipeline.Graph, file, picture, label pipeline.Value) pipeline.Value
	decode := func(o ops.DecodeOptions) build {
		return func(g *pipeline.Graph, file, _, _ pipeline.Value) pipeline.Value { return ops.DecodeImage(g, file, o) }
	}
	randomCrop := func(o ops.RandomCropOptions) build {
		return func(g *pipeline.Graph, file, _, _ pipeline.Value) pipeline.Value {
			return ops.DecodeRandomCrop(g, file, o)
		}
	}
	resize := func(o ops.ResizeOptions) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value { return ops.Resize(g, picture, o) }
	}
	crop := func(o ops.CropOptions) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value { return ops.Crop(g, picture, o) }
	}
	cmn := func(o ops.CropMirrorNormalizeOptions) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value {
			return ops.CropMirrorNormalize(g, picture, o)
		}
	}
	normalize := func(o ops.NormalizeOptions) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value {
			return ops.Normalize(g, picture, o)
		}
	}
	oneHot := func(o ops.OneHotOptions) build {
		o.Classes = max(o.Classes, 4)
		return func(g *pipeline.Graph, _, _, label pipeline.Value) pipeline.Value { return ops.OneHot(g, label, o) }
	}
	flip := func(horizontal, vertical bool) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value {
			coin := ops.CoinFlip(g, 0.5)
			var o ops.FlipOptions
			if horizontal {
				o.Horizontal = coin
			}
			if vertical {
				o.Vertical = coin
			}
			return ops.Flip(g, picture, o)
		}
	}
	number := func(f func(g *pipeline.Graph) pipeline.Value) build {
		return func(g *pipeline.Graph, _, _, _ pipeline.Value) pipeline.Value { return f(g) }
	}
	function := func(config string) build {
		return func(g *pipeline.Graph, _, picture, _ pipeline.Value) pipeline.Value {
			return ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{picture.Spec()}, Config: config}, nil, picture)[0]
		}
	}
	builds := []build{
		decode(ops.DecodeOptions{}), decode(ops.DecodeOptions{Type: ops.BGR}), decode(ops.DecodeOptions{IgnoreOrientation: true}),
		randomCrop(ops.RandomCropOptions{}), randomCrop(ops.RandomCropOptions{Area: [2]float64{0.5, 1}}),
		randomCrop(ops.RandomCropOptions{Aspect: [2]float64{1, 1}}), randomCrop(ops.RandomCropOptions{Attempts: 3}),
		resize(ops.ResizeOptions{Height: 2, Width: 2}), resize(ops.ResizeOptions{Height: 2, Width: 2, Interp: ops.Cubic}),
		resize(ops.ResizeOptions{Height: 2, Width: 2, NoAntialias: true}), resize(ops.ResizeOptions{Height: 2, Width: 2, ROIEnd: [2]float64{2, 2}}),
		resize(ops.ResizeOptions{Height: 2, Width: 2, WholePixels: true}),
		crop(ops.CropOptions{Height: 2, Width: 2}), crop(ops.CropOptions{Height: 2, Width: 2, Truncate: true}),
		crop(ops.CropOptions{Height: 2, Width: 2, OutOfBounds: ops.BoundsPad}), crop(ops.CropOptions{Height: 2, Width: 2, OutOfBounds: ops.BoundsPad, Fill: []float64{3}}),
		cmn(ops.CropMirrorNormalizeOptions{}), cmn(ops.CropMirrorNormalizeOptions{Mean: []float64{1}}), cmn(ops.CropMirrorNormalizeOptions{Std: []float64{2}}),
		cmn(ops.CropMirrorNormalizeOptions{Scale: 2}), cmn(ops.CropMirrorNormalizeOptions{Shift: 2}), cmn(ops.CropMirrorNormalizeOptions{Layout: datum.HWC}),
		normalize(ops.NormalizeOptions{}), normalize(ops.NormalizeOptions{Axes: []int{0}}), normalize(ops.NormalizeOptions{DDoF: 1}),
		normalize(ops.NormalizeOptions{Epsilon: 1}), normalize(ops.NormalizeOptions{Scale: 2}), normalize(ops.NormalizeOptions{Shift: 2}),
		oneHot(ops.OneHotOptions{}), oneHot(ops.OneHotOptions{Classes: 5}), oneHot(ops.OneHotOptions{On: 2}), oneHot(ops.OneHotOptions{On: 1, Off: 0.5}),
		oneHot(ops.OneHotOptions{IgnoreUnknown: true}), oneHot(ops.OneHotOptions{DType: datum.Float64}),
		flip(false, false), flip(true, false), flip(false, true),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.CoinFlip(g, 0.5) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.CoinFlip(g, 0.25) }),
		number(func(g *pipeline.Graph) pipeline.Value { g.NewRandom(); return ops.CoinFlip(g, 0.5) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.Uniform(g, 0, 1) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.Uniform(g, 0, 2) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.Uniform(g, -1, 1) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.Constant(g, 1) }),
		number(func(g *pipeline.Graph) pipeline.Value { return ops.Constant(g, 2) }),
		function(""), function("another function"),
	}
	fingerprint := func(b build) string {
		p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{},
				readers.Ragged([][]byte{{1}}), readers.Rows(make([]byte, 4*4*3), 4, 4, 3).WithLayout(datum.HWC), readers.Rows([]int32{0}))
			g.Output("x", b(g, v[0], v[1], v[2]))
		})
		require.NoError(t, err)
		return strings.Join(p.Fingerprint(), "\n")
	}
	seen := map[string]int{}
	for i, b := range builds {
		text := fingerprint(b)
		require.Equal(t, text, fingerprint(b), "a pipeline that is built again has the same")
		require.NotContains(t, text, "0xc", "an address")
		require.NotContains(t, seen, text, "builds %d and %d", seen[text], i)
		seen[text] = i
	}
}
