package ops_test

import (
	"image"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
	"github.com/planktonml/plankton/pipeline/readers"
)

// three are the samples of a column: the second one is bad.
func three[T any](good, bad T) []T { return []T{good, bad, good} }

// What is wrong with a sample is one line that names the sample, the operator and what is wrong;
// under Skip the other samples come, and nothing in the place of the bad one.
func TestBadInput(t *testing.T) {
	type graph = *pipeline.Graph
	type value = pipeline.Value
	floats := func(good, bad []float32) readers.Column { return readers.Ragged(three(good, bad)) }
	files := func(good, bad []byte) readers.Column { return readers.Ragged(three(good, bad)) }
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	photo, drawing, rgb := encodeJPEG(t, smooth(16, 20)), encodePNG(t, image.NewGray(image.Rect(0, 0, 20, 16))), encodePNG(t, smooth(16, 20))
	small := encodePNG(t, image.NewGray(image.Rect(0, 0, 19, 16)))
	tone := wavFile(1, 2, 3, 4, 5, 6, 7, 8)
	flac := append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 34)...)
	copy(flac[18:], "\x01\xf4\x00\xf0\x00\x00\x00\x00") // 8 kHz, one channel, 16 bits, and no frames
	asBoxes := func(g graph, v value) value {
		return ops.Reshape(g, v, ops.ReshapeOptions{Shape: ops.Constant(g, -1, 4)})
	}
	box := []float32{0.1, 0.2, 0.5, 0.6}
	decoded := func(g graph, v value) value { return ops.DecodeImage(g, v, ops.DecodeOptions{}) }
	first := func(v value, _ ...value) value { return v }

	for name, c := range map[string]struct {
		columns []readers.Column
		define  func(g graph, in []value) value
		want    string
	}{
		"a box outside its picture": {[]readers.Column{floats(box, []float32{0.1, 0.2, 0.5, 1.2})}, func(g graph, in []value) value {
			return boxes.Flip(g, asBoxes(g, in[0]), boxes.FlipOptions{})
		}, "bb_flip: box 0 "},
		"a box whose ends are turned around": {[]readers.Column{floats(box, append(append([]float32{}, box...), 0.5, 0.2, 0.1, 0.6))}, func(g graph, in []value) value {
			return boxes.RandomCrop(g, asBoxes(g, in[0]), value{}, boxes.RandomCropOptions{}).Boxes
		}, "random_bbox_crop: box 1 "},
		"a box that is no number": {[]readers.Column{floats(box, []float32{0.1, nan, 0.5, 0.6})}, func(g graph, in []value) value {
			labels := ops.Constants(g, datum.Int32, 1)
			return first(boxes.Encode(g, asBoxes(g, in[0]), labels, boxes.EncodeOptions{Anchors: []float64{0, 0, 1, 1}}))
		}, "box_encoder: box 0 "},
		"fewer labels than boxes": {[]readers.Column{floats(box, append(append([]float32{}, box...), box...)), readers.Rows(make([]int32, 3), 1)}, func(g graph, in []value) value {
			return first(boxes.Encode(g, asBoxes(g, in[0]), in[1], boxes.EncodeOptions{Anchors: []float64{0, 0, 1, 1}}))
		}, "box_encoder: 1 labels for 2 boxes"},
		"a WAV file of 0 samples": {[]readers.Column{files(tone, wavFile())}, func(g graph, in []value) value {
			return first(audio.Decode(g, in[0], audio.DecodeOptions{}))
		}, "decoders.audio: a WAV file of 0 samples"},
		"a WAV file that is cut short": {[]readers.Column{files(tone, tone[:len(tone)-2])}, func(g graph, in []value) value {
			return first(audio.Decode(g, in[0], audio.DecodeOptions{}))
		}, "decoders.audio: the WAV file is cut short: 6 of 8 bytes"},
		"a FLAC file of 0 samples": {[]readers.Column{files(tone, flac)}, func(g graph, in []value) value {
			return first(audio.Decode(g, in[0], audio.DecodeOptions{}))
		}, "decoders.audio: a FLAC file of 0 samples"},
		"no sound at all": {[]readers.Column{files(tone, nil)}, func(g graph, in []value) value {
			return first(audio.Decode(g, in[0], audio.DecodeOptions{}))
		}, "decoders.audio: the file is empty"},
		"a signal of 0 samples": {[]readers.Column{floats(make([]float32, 64), nil)}, func(g graph, in []value) value {
			return audio.Spectrogram(g, in[0], audio.SpectrogramOptions{WindowLength: 16})
		}, "spectrogram: a signal of 0 samples"},
		"a mask of another size": {[]readers.Column{files(rgb, rgb), files(drawing, small)}, func(g graph, in []value) value {
			return ops.MaskOf(g, decoded(g, in[0]), ops.DecodeImage(g, in[1], ops.DecodeOptions{Type: ops.Indexed}))
		}, "mask_of: the mask has 16×19 pixels and its picture 16×20"},
		"a mask of colours": {[]readers.Column{files(drawing, rgb)}, func(g graph, in []value) value {
			return ops.DecodeImage(g, in[0], ops.DecodeOptions{Type: ops.Indexed})
		}, "decoders.image: "},
		"a class that there is not": {[]readers.Column{readers.Rows([]int32{1, 3, 1})}, func(g graph, in []value) value {
			return ops.OneHot(g, in[0], ops.OneHotOptions{Classes: 3})
		}, "one_hot: label 3 is outside"},
		"a picture of no bytes": {[]readers.Column{files(photo, nil)}, func(g graph, in []value) value { return decoded(g, in[0]) }, "decoders.image: the file is empty"},
		"a picture that is cut short": {[]readers.Column{files(photo, photo[:len(photo)/2])}, func(g graph, in []value) value {
			return ops.CropMirrorNormalize(g, ops.Resize(g, decoded(g, in[0]), ops.ResizeOptions{Height: 8, Width: 8}), ops.CropMirrorNormalizeOptions{})
		}, "decoders.image+resize+crop_mirror_normalize: "},
		"zeros instead of a picture": {[]readers.Column{files(photo, make([]byte, 100))}, func(g graph, in []value) value { return decoded(g, in[0]) }, "nothing but zeros"},
		"a picture smaller than its crop": {[]readers.Column{files(rgb, small)}, func(g graph, in []value) value {
			return ops.Crop(g, decoded(g, in[0]), ops.CropOptions{Width: 20})
		}, "crop: "},
		"a region beyond the array": {[]readers.Column{floats(box, box[:2])}, func(g graph, in []value) value {
			return ops.Slice(g, in[0], ops.SliceOptions{End: ops.Constant(g, 3)})
		}, "slice: "},
		"a sequence longer than all may be": {[]readers.Column{floats(box[:2], box)}, func(g graph, in []value) value {
			return first(ops.PadSequence(g, in[0], ops.PadSequenceOptions{Length: 3}))
		}, "pad_sequence: the sequence has 4 steps; Length is 3"},
		"a factor without end": {[]readers.Column{readers.Rows([]float32{1, inf, 1}), files(rgb, rgb)}, func(g graph, in []value) value {
			return ops.ColorTwist(g, decoded(g, in[1]), ops.ColorTwistOptions{Contrast: in[0]})
		}, "color_twist: Contrast is +Inf"},
		"an angle that is no number": {[]readers.Column{readers.Rows([]float32{1, nan, 1}), files(rgb, rgb)}, func(g graph, in []value) value {
			return ops.Rotate(g, decoded(g, in[1]), ops.RotateOptions{Angle: in[0]})
		}, "rotate: "},
		"arrays that do not fit": {[]readers.Column{floats(box, box[:3]), floats(box, box)}, func(g graph, in []value) value { return ops.Add(g, in[0], in[1]) }, "+: the shapes [3] and [4] do not fit"},
		"a division by 0": {[]readers.Column{readers.Rows([]int32{1, 0, 1})}, func(g graph, in []value) value {
			return ops.Mod(g, ops.Constants(g, datum.Int32, 1), in[0])
		}, "%: integers are divided by zero"},
		"an extent below 0": {[]readers.Column{readers.Rows([]float32{1, -2, 1}), floats(box, box)}, func(g graph, in []value) value {
			return ops.Pad(g, in[1], ops.PadOptions{Shape: in[0]})
		}, "pad: "},
		"regions without extents": {[]readers.Column{floats(box[:2], box[:3]), floats(box, box)}, func(g graph, in []value) value {
			return ops.Erase(g, in[1], ops.EraseOptions{Anchor: in[0], Shape: ops.Constant(g, 1, 1), Axes: []int{0}})
		}, "erase: Anchor has 3 values and Shape 2"},
	} {
		t.Run(name, func(t *testing.T) {
			define := func(g graph) {
				g.Output("out", c.define(g, readers.Slices(g, readers.SlicesOptions{Name: "data"}, c.columns...)))
			}
			_, err := epoch(t, pipeline.Options{}, define)
			var sample *pipeline.SampleError
			require.ErrorAs(t, err, &sample)
			require.EqualValues(t, 1, sample.Index)
			require.Contains(t, sample.Error(), "data[1]")
			require.Contains(t, sample.Error(), c.want)
			require.False(t, strings.Contains(err.Error(), "\n"), err)
			require.Less(t, len(sample.Error()), 400, "one line that can be read")

			got, err := epoch(t, pipeline.Options{OnError: pipeline.Skip}, define)
			require.NoError(t, err)
			require.Len(t, got["out"], 2)
			require.Equal(t, got["out"][0], got["out"][1])
		})
	}
}
