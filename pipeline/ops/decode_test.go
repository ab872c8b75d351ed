package ops_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func encodeJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// gray is a picture whose pixels are 10·row + column.
func gray(h, w int) *image.Gray {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = uint8(i/w*10 + i%w)
	}
	return m
}

// smooth is a colour picture without sharp edges, which JPEG keeps well.
func smooth(h, w int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{uint8(40 + 160*x/w), uint8(50 + 150*y/h), uint8(60 + 70*(x+y)/(w+h)), 255})
		}
	}
	return m
}

func decode(t *testing.T, file []byte, o ops.DecodeOptions) array {
	t.Helper()
	got := only(t, readers.Ragged([][]byte{file}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.DecodeImage(g, v, o)
	})[0]
	require.Equal(t, datum.Uint8, got.dtype)
	require.Equal(t, datum.HWC, got.layout)
	return got
}

func TestDecodePNG(t *testing.T) {
	at := func(m interface {
		image.Image
		Set(x, y int, c color.Color)
	}, colors ...color.Color) image.Image {
		for x, c := range colors {
			m.Set(x, 0, c)
		}
		return m
	}
	r := image.Rect(0, 0, 2, 1)
	for _, c := range []struct {
		name string
		file []byte
		rgb  []float64
		grey bool
	}{
		{"gray", encodePNG(t, gray(1, 2)), []float64{0, 0, 0, 1, 1, 1}, true},
		{"16-bit gray", encodePNG(t, at(image.NewGray16(r), color.Gray16{0x1234}, color.Gray16{0xffff})),
			[]float64{0x12, 0x12, 0x12, 255, 255, 255}, true},
		{"RGB", encodePNG(t, at(image.NewNRGBA(r), color.NRGBA{1, 2, 3, 255}, color.NRGBA{200, 100, 0, 255})),
			[]float64{1, 2, 3, 200, 100, 0}, false},
		{"RGBA without its alpha", encodePNG(t, at(image.NewNRGBA(r), color.NRGBA{200, 100, 50, 10}, color.NRGBA{1, 2, 3, 0})),
			[]float64{200, 100, 50, 1, 2, 3}, false},
		{"16-bit RGBA", encodePNG(t, at(image.NewNRGBA64(r), color.NRGBA64{0x1080, 0x2080, 0x3080, 0x8000}, color.NRGBA64{A: 0xffff})),
			[]float64{0x10, 0x20, 0x30, 0, 0, 0}, false},
		{"palette", encodePNG(t, at(image.NewPaletted(r, color.Palette{color.NRGBA{9, 8, 7, 255}, color.NRGBA{250, 60, 70, 80}}),
			color.NRGBA{9, 8, 7, 255}, color.NRGBA{250, 60, 70, 80})), []float64{9, 8, 7, 250, 60, 70}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, array{datum.Uint8, datum.HWC, []int{1, 2, 3}, c.rgb}, decode(t, c.file, ops.DecodeOptions{}))
			rgb := c.rgb
			require.Equal(t, []float64{rgb[2], rgb[1], rgb[0], rgb[5], rgb[4], rgb[3]}, decode(t, c.file, ops.DecodeOptions{Type: ops.BGR}).data)

			luma := decode(t, c.file, ops.DecodeOptions{Type: ops.Gray})
			require.Equal(t, []int{1, 2, 1}, luma.shape)
			ycc := decode(t, c.file, ops.DecodeOptions{Type: ops.YCbCr})
			for i := range 2 {
				r, g, b := rgb[3*i], rgb[3*i+1], rgb[3*i+2]
				require.InDelta(t, 0.299*r+0.587*g+0.114*b, luma.data[i], 0.51)
				require.InDelta(t, 16+(65.481*r+128.553*g+24.966*b)/255, ycc.data[3*i], 0.51)
				require.InDelta(t, 128+(-37.797*r-74.203*g+112*b)/255, ycc.data[3*i+1], 0.51)
				require.InDelta(t, 128+(112*r-93.786*g-18.214*b)/255, ycc.data[3*i+2], 0.51)
			}

			stored := decode(t, c.file, ops.DecodeOptions{Type: ops.Any})
			if c.grey {
				require.Equal(t, []int{1, 2, 1}, stored.shape)
				require.Equal(t, luma.data, stored.data)
			} else {
				require.Equal(t, rgb, stored.data)
			}
		})
	}
}

func TestDecodeInterlacedPNG(t *testing.T) {
	// Passes of 1, 1 and 2 pixels, each row with a byte for its filter.
	file := pngFile(2, 2, 8, 0, 1, []byte{0, 10, 0, 20, 0, 30, 40})
	require.Equal(t, array{datum.Uint8, datum.HWC, []int{2, 2, 1}, []float64{10, 20, 30, 40}}, decode(t, file, ops.DecodeOptions{Type: ops.Any}))
	msg := fails(t, readers.Ragged([][]byte{file[:len(file)-20]}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.DecodeImage(g, v, ops.DecodeOptions{})
	})
	require.Contains(t, msg, "png: byte 56: the file is cut short: unexpected EOF")
}

func TestDecodeJPEG(t *testing.T) {
	m := smooth(19, 23)
	got := decode(t, encodeJPEG(t, m), ops.DecodeOptions{})
	require.Equal(t, []int{19, 23, 3}, got.shape)
	for i, x := range got.data {
		require.InDelta(t, m.Pix[i/3*4+i%3], x, 12)
	}
	grey := decode(t, encodeJPEG(t, gray(9, 10)), ops.DecodeOptions{Type: ops.Any})
	require.Equal(t, []int{9, 10, 1}, grey.shape)
	require.Equal(t, []int{9, 10, 3}, decode(t, encodeJPEG(t, gray(9, 10)), ops.DecodeOptions{}).shape)
	require.Equal(t, []int{1, 1, 3}, decode(t, encodeJPEG(t, smooth(1, 1)), ops.DecodeOptions{}).shape)
}

// pngHeader returns the beginning of a PNG file of h×w pixels, without data.
func pngHeader(h, w uint32) []byte { return pngFile(h, w, 8, 2, 0, nil)[:33] }

// pngFile returns a PNG file whose pixels are given as they are compressed.
func pngFile(h, w uint32, depth, color, interlace byte, rows []byte) []byte {
	file := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, body []byte) {
		file = binary.BigEndian.AppendUint32(file, uint32(len(body)))
		file = append(append(file, kind...), body...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[len(file)-len(body)-4:]))
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	chunk("IHDR", append(size, depth, color, 0, 0, interlace))
	var z bytes.Buffer
	c := zlib.NewWriter(&z)
	_, _ = c.Write(rows)
	_ = c.Close()
	chunk("IDAT", z.Bytes())
	chunk("IEND", nil)
	return file
}

// largeJPEG returns a small file whose header says h×w pixels.
func largeJPEG(t *testing.T, h, w uint16) []byte {
	file := encodeJPEG(t, smooth(8, 8))
	sof := bytes.Index(file, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(file[sof+5:], h)
	binary.BigEndian.PutUint16(file[sof+7:], w)
	return file
}

// largeBMP returns the beginning of a BMP file of h×w pixels.
func largeBMP(h, w uint32) []byte {
	file := make([]byte, 54)
	copy(file, "BM")
	binary.LittleEndian.PutUint32(file[10:], 54)
	binary.LittleEndian.PutUint32(file[14:], 40)
	binary.LittleEndian.PutUint32(file[18:], w)
	binary.LittleEndian.PutUint32(file[22:], h)
	file[26], file[28] = 1, 24
	return file
}

func TestFilesThatAreNoPictures(t *testing.T) {
	photo, drawing := encodeJPEG(t, smooth(40, 40)), encodePNG(t, smooth(40, 40))
	broken := bytes.Clone(drawing)
	broken[len(broken)/2] ^= 0xff
	for _, c := range []struct {
		name string
		file []byte
		want string // pattern
	}{
		{"empty", []byte{}, "the file is empty"},
		{"text", []byte("not an image\n"), `neither JPEG nor PNG, and no .+ picture: the file begins with "not an i"`},
		{"an AVIF picture", []byte("\x00\x00\x00\x20ftypavif"), `neither JPEG nor PNG, and no .+ picture: it is an AVIF picture \(it begins with ".+"\); convert it, leave it out, or give a decoder with DecodeOptions.Formats`},
		{"a GIF's first bytes", []byte("GIF89a\x01\x00"), `GIF file: .+`},
		{"a WebP picture's first bytes", []byte("RIFF\x24\x00\x00\x00WEBPVP8 "), `WebP file: .+`},
		{"a large BMP", largeBMP(60000, 50000), `BMP file: 50000×60000 pixels; 1 to 268435456 are possible \(MaxPixels\)`},
		{"a page", []byte("<!DOCTYPE html>"), `neither JPEG nor PNG, and no .+ picture: it is a page of HTML, .*`},
		{"zeros", make([]byte, 100), `neither JPEG nor PNG, and no .+ picture: the file is nothing but zeros, .*`},
		{"one byte", []byte{0xff}, `neither JPEG nor PNG, and no .+ picture: the file begins with "\\xff"`},
		{"JPEG's first bytes", photo[:2], "(jpeg|turbo): .+"},
		{"a JPEG cut in the header", photo[:30], "(jpeg|turbo): .+"},
		{"a JPEG cut in the data", photo[:len(photo)*2/3], "(jpeg|turbo): .+"},
		{"PNG's first bytes", drawing[:4], "png: byte 4: the file is cut short: unexpected EOF"},
		{"a PNG cut in the header", drawing[:20], "png: byte 20: the file is cut short: unexpected EOF"},
		{"a PNG cut in the data", drawing[:len(drawing)*2/3], `png: byte \d+: the file is cut short: unexpected EOF`},
		{"a damaged PNG", broken, "png: .+"},
		{"a large PNG", pngHeader(60000, 50000), `png: .+: 50000×60000 is 3000000000 pixels, the limit is 268435456 \(MaxPixels\)`},
		{"a large JPEG", largeJPEG(t, 60000, 50000), `(jpeg|turbo): .+ 50000×60000 is 3000000000 pixels, the limit is 268435456 \(.*MaxPixels\)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, op := range []string{"decoders.image", "decoders.image_random_crop"} {
				msg := fails(t, readers.Ragged([][]byte{c.file}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
					if op == "decoders.image" {
						return ops.DecodeImage(g, v, ops.DecodeOptions{})
					}
					return ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{})
				})
				require.Regexp(t, `^pipeline: readers\.Slices\[0\]: `+op+`: (`+c.want+`)$`, msg)
			}
		})
	}
}

// A picture is refused by its header, before memory is taken for its pixels.
func TestMaxPixelsCountsBeforeAllocation(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  []byte
		limit int64
		good  bool
	}{
		{"PNG at the limit", encodePNG(t, smooth(10, 10)), 100, true},
		{"PNG above", encodePNG(t, smooth(10, 10)), 99, false},
		{"JPEG at the limit", encodeJPEG(t, smooth(10, 10)), 100, true},
		{"JPEG above", encodeJPEG(t, smooth(10, 10)), 99, false},
		{"huge PNG", pngHeader(1<<31-1, 1<<31-1), 0, false},
		{"huge JPEG", largeJPEG(t, 1<<16-1, 1<<16-1), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
				v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{c.file}))[0]
				g.Output("x", ops.DecodeImage(g, v, ops.DecodeOptions{MaxPixels: c.limit}))
			})
			if c.good {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
	for _, file := range [][]byte{pngHeader(16000, 16000), largeJPEG(t, 16000, 16000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
			g.Output("x", ops.DecodeImage(g, v, ops.DecodeOptions{MaxPixels: 1 << 20}))
		})
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, "MaxPixels")
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "the pixels are 256 million")
	}
}
