package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

func TestBuildErrorsNameTheOperator(t *testing.T) {
	var foreign pipeline.Value
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		foreign = readers.Slices(g, readers.SlicesOptions{}, picture(4, 4, 3, ramp(48)...))[0]
		g.Output("x", foreign)
	})
	require.NoError(t, err)

	// Values that the definitions start from.
	var pic, planes, label, file, vector, decoded pipeline.Value
	none := pipeline.Value{}
	type g = *pipeline.Graph
	cmn := func(o ops.CropMirrorNormalizeOptions) func(g) {
		return func(g g) { ops.CropMirrorNormalize(g, pic, o) }
	}
	resize := func(o ops.ResizeOptions) func(g) { return func(g g) { ops.Resize(g, pic, o) } }
	crop := func(o ops.CropOptions) func(g) { return func(g g) { ops.Crop(g, pic, o) } }
	normalize := func(o ops.NormalizeOptions) func(g) { return func(g g) { ops.Normalize(g, pic, o) } }
	random := func(o ops.RandomCropOptions) func(g) { return func(g g) { ops.DecodeRandomCrop(g, file, o) } }
	two := 2

	for _, c := range []struct {
		define func(g g)
		want   string
	}{
		// Inputs.
		{func(g g) { ops.DecodeImage(g, none, ops.DecodeOptions{}) }, "decoders.image: the input is missing"},
		{func(g g) { ops.DecodeRandomCrop(g, none, ops.RandomCropOptions{}) }, "decoders.image_random_crop: the input is missing"},
		{func(g g) { ops.Resize(g, none, ops.ResizeOptions{}) }, "resize: the input is missing"},
		{func(g g) { ops.Crop(g, none, ops.CropOptions{}) }, "crop: the input is missing"},
		{func(g g) { ops.Flip(g, none, ops.FlipOptions{}) }, "flip: the input is missing"},
		{func(g g) { ops.CropMirrorNormalize(g, none, ops.CropMirrorNormalizeOptions{}) }, "crop_mirror_normalize: the input is missing"},
		{func(g g) { ops.Normalize(g, none, ops.NormalizeOptions{AxisNames: "HW"}) }, "normalize: the input is missing"},
		{func(g g) { ops.Cast(g, none, datum.Float32) }, "cast: the input is missing"},
		{func(g g) { ops.OneHot(g, none, ops.OneHotOptions{}) }, "one_hot: the input is missing"},
		{func(g g) { ops.Func(g, ops.FuncOptions{}, nil, pic, none) }, "func: input 1 is missing"},
		{func(g g) { ops.Func(g, ops.FuncOptions{Name: "blend"}, nil, none) }, "blend: input 0 is missing"},
		{func(g g) { ops.Flip(g, foreign, ops.FlipOptions{}) }, "flip: input 0 belongs to another pipeline"},
		{func(g g) { ops.Crop(g, pic, ops.CropOptions{Height: 1, PosX: foreign}) },
			"crop: PosX is uint8 HWC 4×4×3; one number per sample is wanted"},
		{func(g g) { ops.DecodeImage(g, label, ops.DecodeOptions{}) },
			"decoders.image: the input is int32 scalar; the bytes of a picture file are wanted, uint8 of one dimension"},
		{func(g g) { ops.Resize(g, file, ops.ResizeOptions{Height: 2, Width: 2}) },
			"resize: the input is uint8 ?; a picture H×W×C (layout HWC) is wanted: decode it first"},
		{func(g g) { ops.Crop(g, planes, ops.CropOptions{}) },
			"crop: the input is uint8 CHW 3×4×4; a picture H×W×C (layout HWC) is wanted: put this operator before the one that makes CHW, or have that make HWC"},
		{func(g g) {
			ops.Flip(g, ops.OneHot(g, ops.Cast(g, vector, datum.Int32), ops.OneHotOptions{Classes: 2}), ops.FlipOptions{})
		},
			"flip: the input is float32 5×2; a picture H×W×C (layout HWC) is wanted: give it a third dimension for its channels, one for grey"},
		{func(g g) { ops.Resize(g, pic, ops.ResizeOptions{Mode: ops.Stretch}) },
			"resize: no size is given: set Height and Width, or Shorter, or Longer"},
		{func(g g) { ops.OneHot(g, ops.Cast(g, label, datum.Float32), ops.OneHotOptions{Classes: 2}) },
			"one_hot: the labels are float32 scalar; integers are wanted"},
		{func(g g) { ops.Flip(g, pic, ops.FlipOptions{Horizontal: vector}) },
			"flip: Horizontal is float32 5; one number per sample is wanted"},
		{func(g g) { ops.Flip(g, pic, ops.FlipOptions{Vertical: file}) },
			"flip: Vertical is uint8 ?; one number per sample is wanted"},
		{func(g g) { ops.Flip(g, pic, ops.FlipOptions{Vertical: ops.Cast(g, label, datum.Float16)}) },
			"flip: Vertical is float16 scalar; one number per sample is wanted"},

		// Decoders.
		{func(g g) { ops.DecodeImage(g, file, ops.DecodeOptions{Type: 9}) },
			"decoders.image: Type is 9; it must be RGB, Gray, BGR, YCbCr, Any or Indexed"},
		{func(g g) { ops.DecodeImage(g, file, ops.DecodeOptions{MaxPixels: -1}) },
			"decoders.image: MaxPixels is -1; it must be positive"},
		{random(ops.RandomCropOptions{Area: [2]float64{0, 1}}), "decoders.image_random_crop: Area is 0 … 1; it must lie in (0, 1]"},
		{random(ops.RandomCropOptions{Area: [2]float64{0.5, 1.5}}), "decoders.image_random_crop: Area is 0.5 … 1.5; it must lie in (0, 1]"},
		{random(ops.RandomCropOptions{Aspect: [2]float64{2, 1}}), "decoders.image_random_crop: Aspect is 2 … 1; it must be positive and ascending"},
		{random(ops.RandomCropOptions{Attempts: -1}), "decoders.image_random_crop: Attempts is -1; it must not be negative"},

		// Resize.
		{resize(ops.ResizeOptions{Height: 2, Shorter: 3}), "resize: give Height and Width, or Shorter, or Longer: only one of them"},
		{resize(ops.ResizeOptions{Shorter: 2, Longer: 3}), "resize: give Height and Width, or Shorter, or Longer: only one of them"},
		{resize(ops.ResizeOptions{Mode: 9}), "resize: unknown mode 9 or filter 0, 0, 0"},
		{resize(ops.ResizeOptions{Interp: 9}), "resize: unknown mode 0 or filter 9, 0, 0"},
		{resize(ops.ResizeOptions{Height: math.NaN()}), "resize: an extent is NaN; it must be finite"},
		{resize(ops.ResizeOptions{Height: 2, Width: 2, MaxWidth: -1}), "resize: MaxHeight is 0 and MaxWidth -1; they must not be negative"},
		{resize(ops.ResizeOptions{DType: datum.Int32}), "resize: the output type is int32; uint8 and float32 are possible"},
		{resize(ops.ResizeOptions{ROIStart: [2]float64{1, 1}, ROIEnd: [2]float64{1, 1}}),
			"resize: the region from [1 1] to [1 1] of a 4×4 picture is empty"},
		{func(g g) { ops.Resize(g, decoded, ops.ResizeOptions{Height: 1e9, Width: 1}) },
			"resize: an output of 1e+09 samples, at most 1048576 are possible"},

		// Crop and crop_mirror_normalize.
		{crop(ops.CropOptions{Height: -1}), "crop: the region is -1×0; extents must not be negative"},
		{crop(ops.CropOptions{OutOfBounds: 7}), "crop: OutOfBounds is 7; it must be BoundsError, BoundsPad or BoundsTrim"},
		{crop(ops.CropOptions{Width: 5}), "crop: a region of 0×5 does not fit into uint8 HWC 4×4×3; resize first, or set OutOfBounds"},
		{crop(ops.CropOptions{OutOfBounds: ops.BoundsPad, Fill: []float64{1, 2}}),
			"crop: Fill has 2 values for 3 channels; one, or one per channel, is wanted"},
		{cmn(ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Width: -1}}),
			"crop_mirror_normalize: the region is 0×-1; extents must not be negative"},
		{cmn(ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 5, Width: 5}}),
			"crop_mirror_normalize: a region of 5×5 does not fit into uint8 HWC 4×4×3; resize first, or set OutOfBounds"},
		{func(g g) {
			v := ops.Resize(g, decoded, ops.ResizeOptions{Height: 224, Width: 224})
			ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 256, Width: 256}})
		}, "crop_mirror_normalize: a region of 256×256 does not fit into uint8 HWC 224×224×3; resize first, or set OutOfBounds"},
		{cmn(ops.CropMirrorNormalizeOptions{Mean: []float64{1, 2}}),
			"crop_mirror_normalize: Mean has 2 values for 3 channels; one, or one per channel, is wanted"},
		{cmn(ops.CropMirrorNormalizeOptions{Std: []float64{1, 2, 3, 4}}),
			"crop_mirror_normalize: Std has 4 values for 3 channels; one, or one per channel, is wanted"},
		{cmn(ops.CropMirrorNormalizeOptions{Std: []float64{1, 0, 1}}),
			"crop_mirror_normalize: Std holds a zero; values would become infinite"},
		{cmn(ops.CropMirrorNormalizeOptions{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}), conventions("crop_mirror_normalize")},
		{cmn(ops.CropMirrorNormalizeOptions{Mean: []float64{-1, 1, 0}, Std: []float64{0.99}, Scale: 0.5}), conventions("crop_mirror_normalize")},
		{cmn(ops.CropMirrorNormalizeOptions{Std: []float64{0.5}}), conventions("crop_mirror_normalize")},
		{func(g g) {
			ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, pic), ops.CropMirrorNormalizeOptions{Mean: []float64{0.5}, Std: []float64{0.5}})
		}, conventions("device_crop_mirror_normalize")},
		{func(g g) {
			ops.Normalize(g, pic, ops.NormalizeOptions{Mean: ops.Constant(g, 0.1307), StdDev: ops.Constant(g, 0.3081)})
		}, conventions("normalize")},
		{cmn(ops.CropMirrorNormalizeOptions{Layout: "CWH"}),
			`crop_mirror_normalize: the layout is "CWH"; CHW and HWC are possible`},
		{cmn(ops.CropMirrorNormalizeOptions{DType: 99}), "crop_mirror_normalize: DType is DType(99), which is no element type"},
		{func(g g) {
			v := ops.DecodeImage(g, file, ops.DecodeOptions{Type: ops.Any})
			ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{PadOutput: true})
		}, "crop_mirror_normalize: PadOutput needs a known number of channels; the input is uint8 HWC ?×?×?"},
		{cmn(ops.CropMirrorNormalizeOptions{PadOutput: true, CropOptions: ops.CropOptions{OutOfBounds: ops.BoundsPad, Fill: []float64{1, 2, 3}}}),
			"crop_mirror_normalize: Fill has 3 values, and PadOutput adds channels that none of them is for; one value is wanted"},

		// Normalize, cast, one_hot.
		{normalize(ops.NormalizeOptions{Axes: []int{0}, AxisNames: "H"}), "normalize: give Axes or AxisNames, not both"},
		{normalize(ops.NormalizeOptions{AxisNames: "HF"}), `normalize: axis 'F' is not in the layout "HWC" of the input`},
		{normalize(ops.NormalizeOptions{Axes: []int{3}}), "normalize: axis 3 is not one of the 3 dimensions of the input"},
		{normalize(ops.NormalizeOptions{AxisNames: "HWH"}), "normalize: axis 0 is named twice"},
		{normalize(ops.NormalizeOptions{DDoF: -1}), "normalize: DDoF is -1 and Epsilon 0; they must not be negative"},
		{normalize(ops.NormalizeOptions{Epsilon: -1}), "normalize: DDoF is 0 and Epsilon -1; they must not be negative"},
		{normalize(ops.NormalizeOptions{DType: 99}), "normalize: DType is DType(99), which is no element type"},
		{func(g g) {
			one := ops.Constant(g, 1)
			ops.Normalize(g, pic, ops.NormalizeOptions{Axes: []int{0}, Mean: one, StdDev: one})
		}, "normalize: axes are given, but with Mean and StdDev nothing is computed along them; leave one of the three out"},
		{func(g g) { ops.Cast(g, pic, 0) }, "cast: DType is DType(0), which is no element type"},
		{func(g g) { ops.OneHot(g, label, ops.OneHotOptions{}) },
			"one_hot: the reader does not know the number of classes: set Classes"},
		{func(g g) { ops.OneHot(g, label, ops.OneHotOptions{Classes: -1}) }, "one_hot: Classes is -1; it must be positive"},
		{func(g g) { ops.OneHot(g, label, ops.OneHotOptions{Classes: 2, Axis: &two}) },
			"one_hot: Axis is 2; labels of 0 dimensions allow 0 … 0"},
		{func(g g) { ops.OneHot(g, label, ops.OneHotOptions{Classes: 2, DType: 99}) },
			"one_hot: DType is DType(99), which is no element type"},

		// Random numbers.
		{func(g g) { ops.CoinFlip(g, 1.5) }, "coin_flip: the probability is 1.5; it must be 0 … 1"},
		{func(g g) { ops.CoinFlip(g, math.NaN()) }, "coin_flip: the probability is NaN; it must be 0 … 1"},
		{func(g g) { ops.Uniform(g, 1, 1) }, "uniform: the range is [1, 1); it must be finite and not empty"},
		{func(g g) { ops.Uniform(g, 0, math.Inf(1)) }, "uniform: the range is [0, +Inf); it must be finite and not empty"},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
				in := readers.Slices(g, readers.SlicesOptions{},
					picture(4, 4, 3, ramp(48)...), readers.Rows(ramp(48), 3, 4, 4).WithLayout(datum.CHW),
					readers.Rows([]int32{1}), readers.Ragged([][]byte{{1}}), readers.Rows(make([]float32, 5), 5))
				pic, planes, label, file, vector = in[0], in[1], in[2], in[3], in[4]
				decoded = ops.DecodeImage(g, file, ops.DecodeOptions{})
				g.Output("x", pic)
				require.NoError(t, g.Err())
				c.define(g)
			})
			var build *pipeline.BuildError
			require.ErrorAs(t, err, &build)
			require.EqualError(t, err, "pipeline: "+c.want)
		})
	}
}

// Mistakes are found once; what follows them neither panics nor hides them.
func TestOperatorsAfterAMistake(t *testing.T) {
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := ops.DecodeImage(g, pipeline.Value{}, ops.DecodeOptions{})
		v = ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{})
		v = ops.Resize(g, v, ops.ResizeOptions{Height: -1, DType: 99})
		v = ops.Crop(g, v, ops.CropOptions{PosX: ops.Uniform(g, 2, 1)})
		v = ops.Flip(g, v, ops.FlipOptions{Horizontal: ops.CoinFlip(g, 3)})
		v = ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mirror: v})
		v = ops.Normalize(g, v, ops.NormalizeOptions{AxisNames: "HW", Mean: ops.Constant(g, 1)})
		v = ops.Cast(g, v, 0)
		v = ops.OneHot(g, v, ops.OneHotOptions{})
		v = ops.Func(g, ops.FuncOptions{Outputs: make([]datum.Spec, 1)}, nil, v)[0]
		g.Output("x", v)
	})
	require.EqualError(t, err, "pipeline: decoders.image: the input is missing")
}

// conventions is the message about numbers for pixels 0 … 1.
func conventions(op string) string {
	return op + ": Mean and Std are those of pixels 0 … 1, but the pictures are uint8, 0 … 255: multiply both by 255, as ops.ImageNetMean and ops.ImageNetStd are"
}

// Numbers that may be meant are taken: of other types, and where one of them is for 0 … 255.
func TestNumbersOfOneConventionAreTaken(t *testing.T) {
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		bytes := readers.Slices(g, readers.SlicesOptions{}, picture(2, 2, 3, ramp(12)...))[0]
		floats := ops.Cast(g, bytes, datum.Float32)
		small, large, unknown := ops.Constant(g, 0.5), ops.Constant(g, 50), ops.Uniform(g, 0, 1)
		for i, v := range []pipeline.Value{
			ops.CropMirrorNormalize(g, floats, ops.CropMirrorNormalizeOptions{Mean: []float64{0.5}, Std: []float64{0.5}}),
			ops.CropMirrorNormalize(g, bytes, ops.CropMirrorNormalizeOptions{Mean: []float64{0.5, 0.5, 1.5}, Std: []float64{0.5}}),
			ops.CropMirrorNormalize(g, bytes, ops.CropMirrorNormalizeOptions{Mean: []float64{0.5}, Std: []float64{0.5, 1, 0.5}}),
			ops.CropMirrorNormalize(g, bytes, ops.CropMirrorNormalizeOptions{Mean: []float64{0.5}}),
			ops.Normalize(g, floats, ops.NormalizeOptions{Mean: small, StdDev: small}),
			ops.Normalize(g, bytes, ops.NormalizeOptions{Mean: small, StdDev: large}),
			ops.Normalize(g, bytes, ops.NormalizeOptions{Mean: large, StdDev: small}),
			ops.Normalize(g, bytes, ops.NormalizeOptions{Mean: small}),
			ops.Normalize(g, bytes, ops.NormalizeOptions{StdDev: small}),
			ops.Normalize(g, bytes, ops.NormalizeOptions{Mean: unknown, StdDev: unknown}),
		} {
			g.Output(fmt.Sprint(i), v)
		}
	})
	require.NoError(t, err)
}
