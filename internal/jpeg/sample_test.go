package jpeg

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"image"
	stdjpeg "image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// samples returns the sample photographs by name.
func samples(tb testing.TB) (names []string, files [][]byte) {
	tb.Helper()
	dir := os.Getenv("PLANKTON_DATA")
	if dir == "" {
		tb.Skip("PLANKTON_DATA is not set: no sample photographs")
	}
	names, err := filepath.Glob(filepath.Join(dir, "imagenet-sample", "*.JPEG"))
	require.NoError(tb, err)
	require.NotEmpty(tb, names)
	for i, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(tb, err)
		files = append(files, data)
		names[i] = filepath.Base(name)
	}
	return names, files
}

func TestSamplePlanesAgainstStandardLibrary(t *testing.T) {
	names, files := samples(t)
	var d Decoder
	var p Planes
	for i, data := range files {
		img, err := stdjpeg.Decode(bytes.NewReader(data))
		require.NoError(t, err, names[i])
		require.NoError(t, d.Planes(&p, data, img.Bounds(), 1), names[i])
		requireNearPlanes(t, &p, img, 1, names[i])
	}
}

// requireNearPlanes compares the planes with those of the standard library.
func requireNearPlanes(t *testing.T, p *Planes, img image.Image, tolerance int, name string) {
	t.Helper()
	compare := func(i int, pix []uint8, stride int) {
		plane := &p.Plane[i]
		for y := plane.Rect.Min.Y; y < plane.Rect.Max.Y; y++ {
			row := pix[y*stride:]
			for x, v := range plane.Row(y) {
				if diff := int(v) - int(row[plane.Rect.Min.X+x]); diff > tolerance || diff < -tolerance {
					t.Fatalf("%s: plane %d at %d,%d: got %d, the standard library has %d", name, i, x, y, v, row[plane.Rect.Min.X+x])
				}
			}
		}
	}
	switch img := img.(type) {
	case *image.Gray:
		compare(0, img.Pix, img.Stride)
	case *image.YCbCr:
		compare(0, img.Y, img.YStride)
		compare(1, img.Cb, img.CStride)
		compare(2, img.Cr, img.CStride)
	default:
		t.Fatalf("%s: no comparison for %T", name, img)
	}
}

func TestPixelsAgainstVectors(t *testing.T) {
	dir := os.Getenv("PLANKTON_VECTORS")
	if dir == "" {
		t.Skip("PLANKTON_VECTORS is not set: no recorded pictures")
	}
	names, files := samples(t)
	data := map[string][]byte{}
	for i, name := range names {
		data[name] = files[i]
	}
	raw, err := os.ReadFile(filepath.Join(dir, "dali_operators.json"))
	require.NoError(t, err)
	var vectors struct {
		Entries []struct {
			ID, Operator string
			Args         struct {
				OutputType        string `json:"output_type"`
				AdjustOrientation *bool  `json:"adjust_orientation"`
			}
			Inputs []struct{ File string }
			Output json.RawMessage
		}
	}
	_ = json.Unmarshal(raw, &vectors)
	formats := map[string]Format{"types.RGB": FormatRGB, "types.ANY_DATA": FormatRGB, "types.BGR": FormatBGR, "types.GRAY": FormatGray, "types.YCbCr": FormatYCbCr}
	var d Decoder
	for _, e := range vectors.Entries {
		if e.Operator != "decoders.image" || len(e.Inputs) != 1 {
			continue
		}
		var out []struct {
			Shape []int
			SHA1  string
		}
		require.NoError(t, json.Unmarshal(e.Output, &out))
		file := data[e.Inputs[0].File]
		h, err := d.Header(file)
		require.NoError(t, err)
		format := formats[e.Args.OutputType]
		stride := h.Width * format.Channels()
		pix := make([]byte, stride*h.Height)
		require.NoError(t, d.Pixels(pix, stride, file, image.Rect(0, 0, h.Width, h.Height), format))
		sum := sha1.Sum(pix)
		t.Log(e.ID, e.Args.OutputType, h.Orientation, hex.EncodeToString(sum[:]) == out[0].SHA1)
	}
}
