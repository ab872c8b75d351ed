package png

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	stdpng "image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

// chunk returns a chunk of a file.
func chunk(kind string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, kind...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// kind is what files there are.
type kind struct {
	color      ColorType
	depth      int
	interlaced bool
}

var kinds = allKinds()

func allKinds() (all []kind) {
	for _, c := range []ColorType{Gray, RGB, Paletted, GrayAlpha, RGBA} {
		for _, depth := range []int{1, 2, 4, 8, 16} {
			if possible(byte(depth), c) {
				all = append(all, kind{c, depth, false}, kind{c, depth, true})
			}
		}
	}
	return all
}

// between returns the chunks that a kind must have between its header and its pixels.
func (k kind) between(r *rand.Rand) (chunks [][]byte) {
	if k.color == Paletted {
		colours := make([]byte, 3*(1+r.IntN(1<<k.depth)))
		for i := range colours {
			colours[i] = byte(r.IntN(256))
		}
		chunks = append(chunks, chunk("PLTE", colours))
	}
	return chunks
}

// header returns the beginning of a file.
func header(k kind, h, w int) []byte {
	body := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	interlacing := byte(0)
	if k.interlaced {
		interlacing = 1
	}
	return append([]byte(signature), chunk("IHDR", append(body, byte(k.depth), byte(k.color), 0, 0, interlacing))...)
}

// file returns a file of rows that are filtered already, in chunks of so many bytes
// of compressed data.
func file(k kind, h, w int, rows []byte, level, piece int, between ...[]byte) []byte {
	f := header(k, h, w)
	for _, c := range between {
		f = append(f, c...)
	}
	var z bytes.Buffer
	c, _ := zlib.NewWriterLevel(&z, level)
	_, _ = c.Write(rows)
	_ = c.Close()
	for z.Len() > 0 {
		f = append(f, chunk("IDAT", z.Next(piece))...)
	}
	return append(f, chunk("IEND", nil)...)
}

// filtered returns random rows with random filters.
func filtered(r *rand.Rand, k kind, h, w int) (stored []byte) {
	head := &Header{Width: w, Height: h, Color: k.color, Depth: k.depth, Interlaced: k.interlaced}
	noise := 1 + r.IntN(256)
	for _, p := range head.passes() {
		rows, columns := p.size(head)
		for range rows {
			stored = append(stored, byte(r.IntN(5)))
			for range head.rowBytes(columns) {
				stored = append(stored, byte(r.IntN(noise)))
			}
		}
	}
	return stored
}

// rounded is the nearest of 255 shades to one of 65535.
func rounded(v uint16) byte { return byte((uint32(v)*510 + 65535) / 131070) }

// at returns a pixel as image/png shows it, but 16 bits rounded to 8 and alpha left out.
func at(m image.Image, x, y int) [3]byte {
	switch m := m.(type) {
	case *image.NRGBA64:
		c := m.NRGBA64At(x, y)
		return [3]byte{rounded(c.R), rounded(c.G), rounded(c.B)}
	case *image.RGBA64:
		c := m.RGBA64At(x, y)
		return [3]byte{rounded(c.R), rounded(c.G), rounded(c.B)}
	case *image.Gray16:
		c := rounded(m.Gray16At(x, y).Y)
		return [3]byte{c, c, c}
	}
	c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
	if p, ok := m.(*image.Paletted); ok {
		c = color.NRGBAModel.Convert(p.Palette[p.ColorIndexAt(x, y)]).(color.NRGBA)
	}
	if n, ok := m.(*image.NRGBA); ok {
		c = n.NRGBAAt(x, y)
	}
	return [3]byte{c.R, c.G, c.B}
}

// pixels decodes a region of a file, with bytes between the rows that stay as they are.
func pixels(t require.TestingT, d *Decoder, data []byte, region func(Header) image.Rectangle, f Format) ([]byte, Header, error) {
	h, err := d.Open(context.Background(), data)
	if err != nil {
		return nil, h, err
	}
	r := region(h)
	const gap = 3
	n := r.Dx() * f.channels()
	dst := bytes.Repeat([]byte{0xa5}, r.Dy()*(n+gap))
	if err := d.Decode(context.Background(), dst, n+gap, r, f); err != nil {
		return nil, h, err
	}
	var dense []byte
	for ; len(dst) > 0; dst = dst[n+gap:] {
		dense = append(dense, dst[:n]...)
		require.Equal(t, "\xa5\xa5\xa5", string(dst[n:n+gap]))
	}
	return dense, h, nil
}

func everything(h Header) image.Rectangle { return image.Rect(0, 0, h.Width, h.Height) }

// repaired returns a file whose ancillary chunks, or all of them, have right checksums.
func repaired(data []byte, all bool) []byte {
	data = bytes.Clone(data)
	for pos := len(signature); pos+chunkHead+chunkTail <= len(data); {
		n := int(binary.BigEndian.Uint32(data[pos:]))
		end := pos + chunkHead + n
		if n > len(data) || end+chunkTail > len(data) {
			break
		}
		if all || data[pos+4]&0x20 != 0 {
			binary.BigEndian.PutUint32(data[end:], crc32.ChecksumIEEE(data[pos+4:end]))
		}
		pos = end + chunkTail
	}
	return data
}

// compare decodes a file with both decoders. It returns what image/png made of it,
// nil if both refuse it.
func compare(t require.TestingT, d *Decoder, data []byte) image.Image {
	want, wantErr := stdpng.Decode(bytes.NewReader(data))
	got, h, err := pixels(t, d, data, everything, FormatRGB)
	if err == nil && wantErr != nil && strings.Contains(wantErr.Error(), "invalid checksum") {
		want, wantErr = stdpng.Decode(bytes.NewReader(repaired(data, false)))
	}
	if wantErr != nil {
		if !strings.Contains(wantErr.Error(), "too much pixel data") { // behind the end of the stream
			require.Error(t, err, "%v", wantErr)
		}
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "png: "), err.Error())
		}
		return nil
	}
	require.NoError(t, err)
	require.Equal(t, want.Bounds(), everything(h))
	for i := range len(got) / 3 {
		x, y := i%h.Width, i/h.Width
		if a, b := at(want, x, y), [3]byte(got[3*i:]); a != b {
			require.Equal(t, a, b, "pixel %d, %d", x, y)
		}
	}
	return want
}

// photographs returns n files of natural pictures, from the data folder, as convert
// makes them.
func photographs(t testing.TB, n int, convert func(image.Image) image.Image) (files [][]byte) {
	t.Helper()
	_, photographs := datatest.Photographs(t)
	for _, photograph := range photographs[:n] {
		m, _, err := image.Decode(bytes.NewReader(photograph))
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, stdpng.Encode(&b, convert(m)))
		files = append(files, b.Bytes())
	}
	return files
}

// drawn returns a picture drawn onto another kind of one.
func drawn(m image.Image, onto draw.Image) image.Image {
	draw.Draw(onto, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return onto
}

func asRGB(m image.Image) image.Image { return drawn(m, image.NewRGBA(m.Bounds())) }
