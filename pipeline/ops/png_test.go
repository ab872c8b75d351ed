package ops_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// behindHeader returns a PNG file with a chunk more, behind its header.
func behindHeader(file []byte, kind string, body []byte) []byte {
	c := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	c = append(append(c, kind...), body...)
	c = binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))
	return bytes.Join([][]byte{file[:33], c, file[33:]}, nil)
}

// A mask is what its file stores: indices of a palette, or the numbers of a grey file,
// which are not spread where they have fewer than 8 bits.
func TestDecodeIndices(t *testing.T) {
	palette := make(color.Palette, 22)
	for i := range palette {
		palette[i] = color.NRGBA{uint8(40 * i), uint8(90 * i), uint8(7 * i), 255}
	}
	mask := image.NewPaletted(image.Rect(0, 0, 3, 2), palette)
	mask.Pix = []uint8{0, 15, 21, 1, 1, 20}
	shades := image.NewGray(image.Rect(0, 0, 3, 2))
	shades.Pix = []uint8{0, 33, 255, 7, 8, 1}
	for _, c := range []struct {
		name string
		file []byte
		want []float64
	}{
		{"palette", encodePNG(t, mask), []float64{0, 15, 21, 1, 1, 20}},
		{"grey", encodePNG(t, shades), []float64{0, 33, 255, 7, 8, 1}},
		{"grey of 4 bits", pngFile(2, 3, 4, 0, 0, []byte{0, 0x1f, 0x30, 0, 0x45, 0x60}), []float64{1, 15, 3, 4, 5, 6}},
		{"grey of 2 bits", pngFile(2, 3, 2, 0, 0, []byte{0, 0b00_01_10_00, 0, 0b11_10_01_00}), []float64{0, 1, 2, 3, 2, 1}},
		{"grey of 1 bit", pngFile(2, 3, 1, 0, 0, []byte{0, 0b101_00000, 0, 0b011_00000}), []float64{1, 0, 1, 0, 1, 1}},
		{"interlaced", pngFile(2, 3, 8, 0, 1, []byte{0, 1, 0, 3, 0, 2, 0, 4, 5, 6}), []float64{1, 2, 3, 4, 5, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := array{datum.Uint8, datum.HWC, []int{2, 3, 1}, c.want}
			require.Equal(t, want, decode(t, c.file, ops.DecodeOptions{Type: ops.Indexed}))
		})
	}
	for _, c := range []struct{ file, want string }{
		{string(encodePNG(t, smooth(2, 2))), "the picture is RGB of 8 bits; Type Indexed wants one with a palette, or a grey one of at most 8 bits"},
		{string(encodePNG(t, image.NewGray16(image.Rect(0, 0, 2, 2)))), "the picture is grey of 16 bits; Type Indexed wants one with a palette, or a grey one of at most 8 bits"},
		{string(encodeJPEG(t, gray(8, 8))), "a JPEG file has no palette, which Type Indexed wants: store masks as PNG"},
	} {
		msg := fails(t, readers.Ragged([][]byte{[]byte(c.file)}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Indexed})
		})
		require.Equal(t, "pipeline: readers.Slices[0]: decoders.image: "+c.want, msg)
	}
}

// Pictures are turned as their chunk eXIf says, whole and in regions.
func TestDecodeTurnsPNG(t *testing.T) {
	turned := [][]float64{
		1: {1, 2, 3, 4, 5, 6}, 2: {3, 2, 1, 6, 5, 4}, 3: {6, 5, 4, 3, 2, 1}, 4: {4, 5, 6, 1, 2, 3},
		5: {1, 4, 2, 5, 3, 6}, 6: {4, 1, 5, 2, 6, 3}, 7: {6, 3, 5, 2, 4, 1}, 8: {3, 6, 2, 5, 1, 4},
	}
	for _, interlaced := range []byte{0, 1} {
		file := pngFile(2, 3, 8, 0, 0, []byte{0, 1, 2, 3, 0, 4, 5, 6})
		if interlaced == 1 {
			file = pngFile(2, 3, 8, 0, 1, []byte{0, 1, 0, 3, 0, 2, 0, 4, 5, 6})
		}
		for orientation := 1; orientation <= 8; orientation++ {
			exif := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
			exif[18] = byte(orientation)
			f := behindHeader(file, "eXIf", exif)
			want := array{datum.Uint8, datum.HWC, []int{2, 3, 1}, turned[orientation]}
			if orientation >= 5 {
				want.shape = []int{3, 2, 1}
			}
			require.Equal(t, want, decode(t, f, ops.DecodeOptions{Type: ops.Any}))
			require.Equal(t, turned[1], decode(t, f, ops.DecodeOptions{Type: ops.Any, IgnoreOrientation: true}).data)

			f[45] ^= 1 // in the chunk: nobody can trust it now
			require.Equal(t, turned[1], decode(t, f, ops.DecodeOptions{Type: ops.Any}).data)
		}
	}
}

// A context that ends while a picture is decoded ends the decoding: what follows it is
// not reached.
func TestDecodingPNGEndsWithTheContext(t *testing.T) {
	for _, interlaced := range []byte{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		var reached atomic.Bool
		file := pngFile(1000, 1000, 8, 0, interlaced, make([]byte, 1000*1000+1875))
		if interlaced == 0 {
			file = pngFile(1000, 1000, 8, 0, 0, make([]byte, 1001*1000))
		}
		p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
			watch := func(f func()) func(*datum.Sample, []*datum.Tensor, []*datum.Tensor) error {
				return func(_ *datum.Sample, in, out []*datum.Tensor) error {
					f()
					return out[0].CopyFrom(in[0])
				}
			}
			bytes := ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{v.Spec()}}, watch(cancel), v)[0]
			pixels := ops.DecodeImage(g, bytes, ops.DecodeOptions{})
			g.Output("out", ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{pixels.Spec()}}, watch(func() { reached.Store(true) }), pixels)[0])
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		for _, err = range l.Epoch(ctx) {
			if err != nil {
				break
			}
		}
		require.True(t, errors.Is(err, context.Canceled), "%v", err)
		require.NoError(t, l.Close())
		require.False(t, reached.Load())
	}
}
