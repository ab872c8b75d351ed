package ops_test

import (
	"image"
	"image/color"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// withNumbers is epoch for pictures of one pixel of three channels, 100, 150 and 200, that
// come with arrays of numbers.
func withNumbers(t *testing.T, numbers []float32, each int, define func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value) ([]array, error) {
	t.Helper()
	n := len(numbers) / each
	var pixels []uint8
	for range n {
		pixels = append(pixels, 100, 150, 200)
	}
	got, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		vs := readers.Slices(g, readers.SlicesOptions{}, picture(1, 1, 3, pixels...), readers.Rows(numbers, each))
		g.Output("out", define(g, vs[0], vs[1]))
	})
	return got["out"], err
}

func TestArgumentsOfPicturesAreReadPerSample(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []float32
		each    int
		define  func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value
		want    [][]float64
	}{
		{"brightness", []float32{1, 0.5, 2}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Brightness(g, v, ops.BrightnessOptions{Brightness: x})
		}, [][]float64{{100, 150, 200}, {50, 75, 100}, {200, 255, 255}}},
		{"shift", []float32{0, -0.5}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.BrightnessContrast(g, v, ops.BrightnessContrastOptions{BrightnessShift: x, DType: datum.Float32})
		}, [][]float64{{100, 150, 200}, {99.5, 149.5, 199.5}}},
		{"contrast", []float32{0, 2}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Contrast(g, v, ops.ContrastOptions{Contrast: x})
		}, [][]float64{{128, 128, 128}, {72, 172, 255}}},
		{"saturation", []float32{1, 0}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Saturation(g, v, ops.SaturationOptions{Saturation: x})
		}, [][]float64{{100, 150, 200}, {141, 141, 141}}},
		{"value", []float32{0, 1}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.HSV(g, v, ops.HSVOptions{Value: x})
		}, [][]float64{{0, 0, 0}, {100, 150, 200}}},
		{"hue", []float32{0, 360}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Hue(g, v, ops.HueOptions{Hue: x})
		}, [][]float64{{100, 150, 200}, {100, 150, 200}}},
		{"matrix", []float32{1, 0, 0, 0, 1, 0, 1, 0, 5, 0, 1, 0}, 6, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: x, Fill: ops.Constant(g, 7)})
		}, [][]float64{{100, 150, 200}, {7, 7, 7}}},
		{"fill", []float32{1, 2, 3, 4, 5, 6}, 3, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Constant(g, 0, 0), Shape: ops.Constant(g, 1, 1), Fill: x})
		}, [][]float64{{1, 2, 3}, {4, 5, 6}}},
		{"shape", []float32{1, 1, 1, 2}, 2, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Pad(g, v, ops.PadOptions{AxisNames: "HW", Shape: x})
		}, [][]float64{{100, 150, 200}, {100, 150, 200, 0, 0, 0}}},
		{"size", []float32{1, 1, 1, 2}, 2, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Constant(g, 0), Size: x})
		}, [][]float64{{100, 150, 200}, {100, 150, 200, 100, 150, 200}}},
		{"mask", []float32{0, 1}, 1, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.Water(g, v, ops.WaterOptions{Mask: x})
		}, [][]float64{{100, 150, 200}, {0, 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := withNumbers(t, c.numbers, c.each, c.define)
			require.NoError(t, err)
			for i, want := range c.want {
				require.Equal(t, want, got[i].data, "sample %d", i)
			}
		})
	}
}

func TestBadArgumentsOfPicturesAreTheSamplesErrors(t *testing.T) {
	for _, c := range []struct {
		numbers []float32
		define  func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value
		want    string
	}{
		{[]float32{1, 0, 0, 0, 0, 0}, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: x, Forward: true})
		}, "warp_affine: Matrix has no inverse, which Forward asks for"},
		{[]float32{1e30, 0, 0, 0, 1, 0}, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: x})
		}, "too far from the source"},
		{[]float32{1, 1, 1, 1, 1, 1}, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.MultiPaste(g, []pipeline.Value{v, v, v}, ops.MultiPasteOptions{OutAnchors: x})
		}, "multi_paste: region 0 of 1×1 pixels does not fit at 1, 1 into the result of 1×1; set OutputSize"},
		{[]float32{0, 0, 0, 0, 0, 0}, func(g *pipeline.Graph, v, x pipeline.Value) pipeline.Value {
			return ops.GaussianBlur(g, v, ops.GaussianBlurOptions{Sigma: x})
		}, "gaussian_blur: Sigma has 6 values; one, or 2, is wanted"},
	} {
		_, err := withNumbers(t, c.numbers, 6, c.define)
		var bad *pipeline.SampleError
		require.ErrorAs(t, err, &bad)
		require.NotErrorAs(t, err, new(*pipeline.PanicError))
		require.Contains(t, err.Error(), c.want)
	}
}

// Bytes are computed in integers where both sides are bytes, else in float32: the two must
// agree but for rounding.
func TestBytesAndFloatsOfPicturesAgree(t *testing.T) {
	pic := picture(9, 7, 3, ramp(9*7*3)...)
	for name, define := range map[string]func(g *pipeline.Graph, v pipeline.Value, to datum.DType) pipeline.Value{
		"color_twist": func(g *pipeline.Graph, v pipeline.Value, to datum.DType) pipeline.Value {
			return ops.ColorTwist(g, v, ops.ColorTwistOptions{Hue: ops.Constant(g, 77), Saturation: ops.Constant(g, 1.7), DType: to})
		},
		"brightness": func(g *pipeline.Graph, v pipeline.Value, to datum.DType) pipeline.Value {
			return ops.BrightnessContrast(g, v, ops.BrightnessContrastOptions{Brightness: ops.Constant(g, 1.3), Contrast: ops.Constant(g, 0.7), DType: to})
		},
		"rotate": func(g *pipeline.Graph, v pipeline.Value, to datum.DType) pipeline.Value {
			return ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Constant(g, 33), Fill: ops.Constant(g, 5), DType: to})
		},
	} {
		got, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, pic)[0]
			g.Output("bytes", define(g, v, datum.Uint8))
			g.Output("floats", define(g, v, datum.Float32))
		})
		require.NoError(t, err)
		for i, x := range got["floats"][0].data {
			require.InDelta(t, max(0, min(x, 255)), got["bytes"][0].data[i], 0.51, "%s, element %d", name, i)
		}
	}
}

// A program's own decoder takes files that no other knows; what it says of their size
// counts, and its panics are errors.
func TestFormatsOfTheProgram(t *testing.T) {
	dot := image.NewGray(image.Rect(0, 0, 2, 1))
	copy(dot.Pix, []uint8{30, 60})
	format := ops.Format{
		Name: "dots", Magic: "??dots",
		Decode: func(r io.Reader) (image.Image, error) {
			all, err := io.ReadAll(r)
			if len(all) > 6 {
				panic("more than dots")
			}
			return dot, err
		},
		DecodeConfig: func(io.Reader) (image.Config, error) {
			return image.Config{ColorModel: color.GrayModel, Width: 2, Height: 1}, nil
		},
	}
	decode := func(o ops.DecodeOptions) func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			o.Formats = []ops.Format{format}
			return ops.DecodeImage(g, v, o)
		}
	}
	file := readers.Ragged([][]byte{[]byte("01dots")})
	require.Equal(t, []float64{30, 30, 30, 60, 60, 60}, only(t, file, decode(ops.DecodeOptions{}))[0].data)
	got := only(t, file, decode(ops.DecodeOptions{Type: ops.Any}))[0]
	require.Equal(t, []int{1, 2, 1}, got.shape)
	require.Equal(t, []float64{30, 60}, got.data)
	require.Contains(t, fails(t, readers.Ragged([][]byte{[]byte("01dots!")}), decode(ops.DecodeOptions{})), "decoders.image: dots file: the decoder panicked")
	require.Contains(t, fails(t, file, decode(ops.DecodeOptions{MaxPixels: 1})), "dots file: 2×1 pixels; 1 to 1 are possible (MaxPixels)")
	require.Contains(t, fails(t, file, decode(ops.DecodeOptions{Type: ops.Indexed})), "Type Indexed is not for dots files: store masks as PNG")
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		format.Decode = nil
		g.Output("out", decode(ops.DecodeOptions{})(g, readers.Slices(g, readers.SlicesOptions{}, file)[0]))
	})
	require.ErrorContains(t, err, `the format "dots" lacks a name, the magic that its files begin with, or a function`)
}

// Extents that are the same for all samples are known when the pipeline is built, so that
// batches are one array.
func TestExtentsOfPicturesAreKnown(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, picture(5, 6, 3, ramp(90)...))[0]
		size := ops.Constant(g, 9, 8)
		g.Output("rotate", ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Uniform(g, 0, 9), Size: size}))
		g.Output("warp", ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: ops.Constant(g, 1, 0, 0, 0, 1, 0)}))
		g.Output("pad", ops.Pad(g, v, ops.PadOptions{AxisNames: "HW", Shape: size}))
		g.Output("paste", ops.MultiPaste(g, []pipeline.Value{v}, ops.MultiPasteOptions{OutputSize: size}))
		g.Output("matrix", ops.RotationMatrix(g, ops.RotationMatrixOptions{Angle: ops.Uniform(g, 0, 9)}))
	})
	require.NoError(t, err)
	for name, want := range map[string][]int{"rotate": {9, 8, 3}, "warp": {5, 6, 3}, "pad": {9, 8, 3}, "paste": {9, 8, 3}, "matrix": {2, 3}} {
		spec := p.Spec(name)
		require.Equal(t, want, spec.Shape, name)
	}
}

// What changes labels takes their number of classes away, on which OneHot relies.
func TestReplacedLabelsHaveNoClasses(t *testing.T) {
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		labels := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{0, 2}).WithClasses(3))[0]
		require.Equal(t, 3, labels.Spec().Classes)
		require.Zero(t, ops.LookupTable(g, labels, ops.LookupTableOptions{Keys: []int{0}, Values: []float64{7}, DType: datum.Int32}).Spec().Classes)
		g.Output("out", labels)
	})
	require.NoError(t, err)
}
