package main

import (
	"bytes"
	"encoding/json"
	"image/color"
	"image/gif"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// exact are the operators whose integers are those of DALI to the bit; others may round
// otherwise.
var exact = []string{
	"equalize", "erase", "pad", "paste", "multi_paste", "grid_mask", "lookup_table", "jpeg_compression_distortion", "color_space_conversion",
}

// TestPicturesAsRecorded runs calls with random arguments on small random pictures and on
// files of several formats, whose results were recorded from DALI 2.4.0 (CPU).
func TestPicturesAsRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/dali_pictures.json")
	require.NoError(t, err)
	var calls []struct {
		applyEntry
		Output []recorded `json:"output"`
	}
	require.NoError(t, decodeJSON(text, &calls))
	cmd := applyCmd{Data: "testdata"}
	seen := map[string]bool{}
	for _, c := range calls {
		seen[c.Operator] = true
		t.Run(c.ID, func(t *testing.T) {
			got := cmd.apply(c.applyEntry)
			require.Empty(t, got.Error)
			require.Len(t, got.Output, len(c.Output))
			for i, want := range c.Output {
				requireRecorded(t, want, got.Output[i])
				if slices.Contains(exact, c.Operator) && want.DType == "uint8" {
					for j, v := range want.Data {
						require.Equal(t, element(t, v), element(t, got.Output[i].Data[j]), "element %d", j)
					}
				}
			}
		})
	}
	for _, operator := range exact {
		require.Contains(t, seen, operator)
	}
}

// A GIF's first frame lies on a black picture, as the standard library decodes it.
func TestApplyDecodesTheFirstFrameOfGIF(t *testing.T) {
	for _, name := range []string{"formats/first.gif", "formats/two.gif"} {
		text, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		all, err := gif.DecodeAll(bytes.NewReader(text))
		require.NoError(t, err)
		cmd := applyCmd{Data: "testdata"}
		got := cmd.apply(applyEntry{Operator: "decoders.image", Inputs: []applyArray{{File: name}}})
		require.Empty(t, got.Error)
		w := all.Config.Width
		require.Equal(t, []int{all.Config.Height, w, 3}, got.Output[0].Shape)
		for i := range got.Output[0].Data {
			c := color.NRGBAModel.Convert(all.Image[0].At(i/3%w, i/3/w)).(color.NRGBA)
			require.Equal(t, float64([]byte{c.R, c.G, c.B}[i%3]), element(t, got.Output[0].Data[i]))
		}
	}
}

// Arguments that cannot be are errors of one line, which names the operator.
func TestApplyRefusesArgumentsOfPictures(t *testing.T) {
	picture := applyArray{DType: "uint8", Shape: []int{1, 2, 3}, Layout: "HWC", Data: []any{json.Number("1"), json.Number("2"), json.Number("3"), json.Number("4"), json.Number("5"), json.Number("6")}}
	cmd := applyCmd{}
	for operator, c := range map[string]struct{ args, want string }{
		"rotate":           {`{"angle":[1,2]}`, "angle is [1 2]; a number is wanted"},
		"warp_affine":      {`{"matrix":[1,2]}`, "Matrix has 2 values; 6 are wanted"},
		"gaussian_blur":    {`{"window_size":4}`, "the window has 4 pixels; an odd number of at most 8191 is wanted"},
		"laplacian":        {`{"window_size":25}`, "WindowSize is 25; an odd number, 3 … 23, is wanted"},
		"erase":            {`{"anchor":[1],"shape":[1,2]}`, "Anchor has 1 values and Shape 2; as many are wanted, 2 for each region"},
		"pad":              {`{"axes":[3]}`, "axis 3 is not one of the 3 dimensions of the input"},
		"paste":            {`{"ratio":0.5}`, "Ratio is 0.5; it must be 1 or more"},
		"multi_paste":      {`{"in_ids":[1]}`, "InIDs holds 1; there are pictures 0 … 0"},
		"grid_mask":        {`{"tile":0}`, "Tile is 0; a whole number of 1 or more is wanted"},
		"lookup_table":     {`{"keys":[-1],"values":[1]}`, "the key -1 is not possible; keys are 0 … 65535"},
		"water":            {`{"interp_type":"INTERP_CUBIC"}`, `interp_type is "INTERP_CUBIC", which is not known`},
		"color_twist":      {`{"dtype":"types.INT"}`, `no element type "int"`},
		"transforms.scale": {`{"scale":[1,2],"center":[1,2,3]}`, "Center has 3 values; one per coordinate is wanted"},
		"transforms.shear": {`{"angles":[1,100]}`, "Angles holds 100; -90 … 90 degrees are possible"},
	} {
		var args map[string]any
		require.NoError(t, decodeJSON([]byte(c.args), &args))
		in := []applyArray{picture}
		if args["scale"] != nil || args["angles"] != nil {
			in = nil
		}
		got := cmd.apply(applyEntry{Operator: operator, Args: args, Inputs: in})
		require.Contains(t, got.Error, operator+": ")
		require.Contains(t, got.Error, c.want)
		require.NotContains(t, got.Error, "\n")
	}
}
