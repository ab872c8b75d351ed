// Package ops holds the operators of a pipeline under the names of NVIDIA
// DALI's, which they follow: docs/operators.md says what agrees and what does
// not. Each adds itself to a graph and returns its output; a mistake, such as a
// picture operator on a label, comes out of pipeline.New and names the operator.
//
// Pictures are uint8 H×W×C (layout HWC) unless an operator says otherwise,
// values 0 … 255. Sizes are in pixels, height before width. An option of type
// pipeline.Value takes a number per sample, such as the result of CoinFlip, or an
// array of numbers where it says so; Constant makes one of fixed numbers, and none
// means the option's default.
//
// The operators by group:
//
//   - Decoding: [DecodeImage], [DecodeCrop], [DecodeSlice], [DecodeRandomCrop], [PeekImageShape].
//   - Size and place of pictures: [Resize], [Crop], [Flip], [CropMirrorNormalize], [Rotate],
//     [WarpAffine] by the matrices of [TranslationMatrix], [ScaleMatrix], [RotationMatrix],
//     [ShearMatrix], [CropMatrix], [CombineMatrices].
//   - Colours: [BrightnessContrast], [Brightness], [Contrast], [ColorTwist], [HSV], [Hue],
//     [Saturation], [ColorSpaceConversion], [Equalize], [LookupTable].
//   - Filters and distortions: [GaussianBlur], [Laplacian], [Filter], [GridMask], [Water],
//     [Sphere], [JPEGCompressionDistortion].
//   - Erasing, padding, pasting: [Erase], [Pad], [PadSequence], [Paste], [MultiPaste].
//   - Values, types, labels: [Normalize], [Cast], [CastLike], [OneHot].
//   - Shapes of arrays: [Slice], [Subscript], [Transpose], [Reshape], [Reinterpret], [Squeeze],
//     [ExpandDims], [Cat], [Stack].
//   - Arithmetic: [Add], [Sub], [Mul], [Div], [FloorDiv], [Mod], [Pow], [FPow], [Atan2], [Min],
//     [Max], [Clamp], [Neg], [Abs]; bits: [Not], [And], [Or], [Xor], [ShiftLeft], [ShiftRight];
//     comparisons: [Equal], [NotEqual], [Less], [LessEqual], [Greater], [GreaterEqual].
//   - Functions: [Sqrt], [Rsqrt], [Cbrt], [Exp], [Log], [Log2], [Log10], [FAbs], [Floor], [Ceil],
//     [Sin], [Cos], [Tan], [Asin], [Acos], [Atan], [Sinh], [Cosh], [Tanh], [Asinh], [Acosh],
//     [Atanh].
//   - Reductions: [ReduceSum], [ReduceMean], [ReduceMeanSquare], [ReduceRMS], [ReduceMin],
//     [ReduceMax], [ReduceVariance], [ReduceStdDev].
//   - Augmentations, with torchvision v2's magnitudes: [TrivialAugmentWide], [RandAugment],
//     [AutoAugment], [AugMix], [ColorJitter], [RandomErasing]; of whole batches [Mixup], [CutMix].
//   - Random numbers: [CoinFlip], [Uniform], one number; [CoinFlips], [Uniforms], [Normal], [Beta],
//     [Choice], numbers or arrays with arguments per sample; [RandomWindow], a region, and [MaskOf],
//     which sees that a region means the same in a mask.
//   - Constants and a program's own operators: [Constant], [Constants], [Func].
//   - What decoders keep of JPEG files: [FillEntropyIndex].
//   - What remote workers leave to the training program: [RemoteCut].
//   - On a device, for whole batches: [ToDevice], [DeviceDecodeImage], [DeviceDecodeResize], [DeviceResize],
//     [DeviceCropMirrorNormalize], [DeviceOneHot].
//
// Packages boxes and audio below this one have the operators on boxes, points and sound.
package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// given checks that the input v is there.
func given(g *pipeline.Graph, op string, v pipeline.Value) {
	if !v.Set() {
		g.Fail(op, errors.New("the input is missing"))
	}
}

// element checks that t is an element type.
func element(g *pipeline.Graph, op string, t datum.DType) {
	if t.Size() == 0 {
		g.Fail(op, fmt.Errorf("DType is %v, which is no element type", t))
	}
}

// picture checks that v is a picture in HWC order and returns what is known of
// it.
func picture(g *pipeline.Graph, op string, v pipeline.Value) datum.Spec {
	given(g, op, v)
	s := v.Spec()
	switch {
	case g.Err() != nil:
	case len(s.Shape) != 3 || (s.Layout != datum.HWC && s.Layout != ""):
		g.Fail(op, fmt.Errorf("the input is %s; a picture H×W×C (layout HWC) is wanted: %s", s, toPicture(s)))
	}
	return s
}

// toPicture says what makes a picture of an array that is none.
func toPicture(s datum.Spec) string {
	switch {
	case s.Layout == datum.CHW:
		return "put this operator before the one that makes CHW, or have that make HWC"
	case len(s.Shape) > 1:
		return "give it a third dimension for its channels, one for grey"
	}
	return "decode it first"
}

// pictureSpec returns the spec of a picture; negative extents are not known.
func pictureSpec(t datum.DType, h, w, c int) datum.Spec {
	return datum.Spec{DType: t, Layout: datum.HWC, Shape: []int{h, w, c}}
}

// one adds an operator with one output.
func one(g *pipeline.Graph, op pipeline.Op) pipeline.Value { return g.Add(op)[0] }

// each makes a New of a kernel that has no state.
func each(run func(c *datum.Sample, in, out []*datum.Tensor) error) func() (datum.Kernel, error) {
	return func() (datum.Kernel, error) { return datum.KernelFunc(run), nil }
}

// shape3 returns the extents of a picture.
func shape3(t *datum.Tensor) (h, w, c int, err error) {
	s := t.Shape()
	if len(s) != 3 {
		return 0, 0, 0, fmt.Errorf("the input has shape %v, a picture H×W×C is wanted", s)
	}
	return s[0], s[1], s[2], nil
}

// plain returns a kernel's error without the operator's name, which the
// pipeline adds.
func plain(err error) error {
	if err == nil {
		return nil
	}
	var bad *imaging.ArgumentError // on the heap, so behind the return of the common case
	if errors.As(err, &bad) {
		return errors.New(bad.What)
	}
	return err
}
