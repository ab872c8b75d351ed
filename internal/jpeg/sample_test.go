package jpeg

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"image"
	stdjpeg "image/jpeg"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

func TestSamplePlanesAgainstStandardLibrary(t *testing.T) {
	names, files := datatest.Photographs(t)
	if testing.Short() {
		files = files[:40]
	}
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

// TestPixelsAgainstVectors compares with pictures that NVIDIA DALI decoded.
func TestPixelsAgainstVectors(t *testing.T) {
	raw := datatest.Vectors(t, "dali_operators.json")
	names, files := datatest.Photographs(t)
	byName := map[string][]byte{}
	for i, name := range names {
		byName[name] = files[i]
	}
	var vectors struct {
		Entries []struct {
			ID, Operator string
			Args         json.RawMessage
			Inputs       []json.RawMessage
			Output       json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &vectors))
	formats := map[string]Format{
		"types.RGB": FormatRGB, "types.ANY_DATA": FormatRGB, "types.BGR": FormatBGR,
		"types.GRAY": FormatGray, "types.YCbCr": FormatYCbCr,
	}
	var d Decoder
	compared := 0
	for _, e := range vectors.Entries {
		if e.Operator != "decoders.image" || len(e.Output) == 0 {
			continue
		}
		var args struct {
			OutputType        string `json:"output_type"`
			AdjustOrientation *bool  `json:"adjust_orientation"`
		}
		var input struct{ File string }
		var output []struct{ SHA1 string }
		require.NoError(t, json.Unmarshal(e.Args, &args))
		require.NoError(t, json.Unmarshal(e.Inputs[0], &input))
		require.NoError(t, json.Unmarshal(e.Output, &output))
		data, ok := byName[input.File]
		if !ok {
			continue
		}
		h, err := d.Header(data)
		require.NoError(t, err)
		format := formats[args.OutputType]
		stride := h.Width * format.Channels()
		pix := make([]byte, stride*h.Height)
		require.NoError(t, d.Pixels(pix, stride, data, image.Rect(0, 0, h.Width, h.Height), format))
		if args.AdjustOrientation == nil || *args.AdjustOrientation {
			switch h.Orientation {
			case 1:
			case 6:
				pix = turnClockwise(pix, h.Width, h.Height, format.Channels())
			default:
				t.Fatalf("%s: orientation %d is not in this test", e.ID, h.Orientation)
			}
		}
		sum := sha1.Sum(pix)
		assert.Equal(t, output[0].SHA1, hex.EncodeToString(sum[:]), "%s: %s of %s", e.ID, args.OutputType, input.File)
		compared++
	}
	require.Positive(t, compared)
}

// turnClockwise turns a picture by 90°.
func turnClockwise(pix []byte, width, height, channels int) []byte {
	out := make([]byte, 0, len(pix))
	for x := range width {
		for y := height - 1; y >= 0; y-- {
			at := (y*width + x) * channels
			out = append(out, pix[at:at+channels]...)
		}
	}
	return out
}

// smallPictures returns up to n of the 32×32 pictures.
func smallPictures(tb testing.TB, n int) (files [][]byte) {
	tb.Helper()
	f, err := os.Open(datatest.Data(tb, "cifar10-jpeg.tar"))
	require.NoError(tb, err)
	defer f.Close()
	for r := tar.NewReader(f); len(files) < n; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(tb, err)
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(strings.ToLower(h.Name), "g") {
			continue
		}
		data, err := io.ReadAll(r)
		require.NoError(tb, err)
		files = append(files, data)
	}
	require.NotEmpty(tb, files)
	return files
}

func TestSmallPicturesAgainstStandardLibrary(t *testing.T) {
	var d Decoder
	var p Planes
	for _, data := range smallPictures(t, 1000) {
		img, err := stdjpeg.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.NoError(t, d.Planes(&p, data, img.Bounds(), 1))
		requireNearPlanes(t, &p, img, 1, "")
	}
}
