package png

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	_ "image/jpeg"
	stdpng "image/png"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
	color ColorType
	depth int
}

var kinds = []kind{
	{Gray, 1}, {Gray, 2}, {Gray, 4}, {Gray, 8}, {Gray, 16}, {RGB, 8}, {RGB, 16},
	{Paletted, 1}, {Paletted, 2}, {Paletted, 4}, {Paletted, 8}, {GrayAlpha, 8}, {GrayAlpha, 16}, {RGBA, 8}, {RGBA, 16},
}

// header returns the beginning of a file.
func header(k kind, h, w int) []byte {
	body := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	return append([]byte(signature), chunk("IHDR", append(body, byte(k.depth), byte(k.color), 0, 0, 0))...)
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
func filtered(r *rand.Rand, k kind, h, w int) []byte {
	n := (&Header{Width: w, Color: k.color, Depth: k.depth}).rowBytes()
	rows := make([]byte, h*(1+n))
	noise := 1 + r.IntN(256)
	for i := range rows {
		rows[i] = byte(r.IntN(noise))
		if i%(1+n) == 0 {
			rows[i] = byte(r.IntN(5))
		}
	}
	return rows
}

// at returns a pixel as image/png shows it, but 16 bits cut to 8 and alpha left out.
func at(m image.Image, x, y int) [3]byte {
	switch m := m.(type) {
	case *image.NRGBA64:
		c := m.NRGBA64At(x, y)
		return [3]byte{byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8)}
	case *image.RGBA64:
		c := m.RGBA64At(x, y)
		return [3]byte{byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8)}
	case *image.Gray16:
		c := byte(m.Gray16At(x, y).Y >> 8)
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

// pixel returns the same of a decoded file.
func pixel(h Header, p Picture, x, y int) [3]byte {
	b := p.Pix[y*p.Stride+x*p.Step:]
	switch next := max(1, h.Depth/8); {
	case p.Palette != nil:
		return p.Palette[b[0]]
	case h.Color == Gray || h.Color == GrayAlpha:
		return [3]byte{b[0], b[0], b[0]}
	default:
		return [3]byte{b[0], b[next], b[2*next]}
	}
}

// compare decodes a file with both decoders. It returns what image/png made of it,
// nil if both refuse it.
func compare(t require.TestingT, d *Decoder, data []byte) image.Image {
	want, wantErr := stdpng.Decode(bytes.NewReader(data))
	h, err := d.Open(data)
	if err == nil && h.Interlaced {
		return nil
	}
	var got Picture
	if err == nil {
		got, err = d.Decode()
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
	require.Equal(t, want.Bounds(), image.Rect(0, 0, h.Width, h.Height))
	for y := range h.Height {
		for x := range h.Width {
			if a, b := at(want, x, y), pixel(h, got, x, y); a != b {
				require.Equal(t, a, b, "pixel %d, %d", x, y)
			}
		}
	}
	return want
}

// Every kind of file is what image/png makes of it, bit for bit, whatever its size,
// filters, compression and chunks.
func TestEqualsImagePNG(t *testing.T) {
	var d Decoder // one for all: nothing is left of a file in the next one
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		h, w := rapid.IntRange(1, 40).Draw(t, "h"), rapid.IntRange(1, 70).Draw(t, "w")
		level := rapid.IntRange(-2, 9).Draw(t, "level")
		piece := rapid.SampledFrom([]int{1, 2, 7, 100, 1 << 20}).Draw(t, "piece")
		for _, k := range kinds {
			var between [][]byte
			if k.color == Paletted {
				colours := make([]byte, 3*(1+r.IntN(1<<k.depth)))
				for i := range colours {
					colours[i] = byte(r.IntN(256))
				}
				between = append(between, chunk("tEXt", []byte("Title\x00x")), chunk("PLTE", colours))
				if r.IntN(2) == 0 {
					between = append(between, chunk("tRNS", make([]byte, r.IntN(1+len(colours)/3))))
				}
			}
			if k.color == Gray && r.IntN(3) == 0 {
				between = append(between, chunk("tRNS", []byte{0, 1}))
			}
			f := file(k, h, w, filtered(r, k, h, w), level, piece, between...)
			require.NotNil(t, compare(t, &d, f), "%v", k)
		}
	})
}

// Pictures of real content use all of the compression's codes.
func TestEqualsImagePNGOnPhotographs(t *testing.T) {
	var d Decoder
	for _, f := range photographs(t, 12) {
		require.NotNil(t, compare(t, &d, f))
	}
}

// photographs returns n files of natural pictures, from the data folder.
func photographs(t testing.TB, n int) (files [][]byte) {
	t.Helper()
	_, photographs := datatest.Photographs(t)
	for _, photograph := range photographs[:n] {
		m, _, err := image.Decode(bytes.NewReader(photograph))
		require.NoError(t, err)
		rgba := image.NewRGBA(m.Bounds())
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				rgba.Set(x, y, m.At(x, y))
			}
		}
		var b bytes.Buffer
		require.NoError(t, stdpng.Encode(&b, rgba))
		files = append(files, b.Bytes())
	}
	return files
}

func TestRefusals(t *testing.T) {
	gray := kind{Gray, 8}
	rows := []byte{0, 1, 2, 1, 3, 4}
	good := file(gray, 2, 2, rows, 6, 100)
	raw := func(stream string) []byte { // of one pixel
		return slices.Concat(header(gray, 1, 1), chunk("IDAT", []byte(stream)), chunk("IEND", nil))
	}
	interlacing := append([]byte(signature), chunk("IHDR", []byte{0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 2})...)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "png: byte 0: the file is cut short: unexpected EOF"},
		{"no PNG", []byte("\x89PNX\r\n\x1a\n...."), "png: byte 0: not a PNG file"},
		{"cut in the header", good[:20], "png: byte 20: the file is cut short: unexpected EOF"},
		{"cut in the pixels", good[:45], "png: byte 45: the file is cut short: unexpected EOF"},
		{"without an end", good[:len(good)-12], fmt.Sprintf("png: byte %d: the file is cut short: unexpected EOF", len(good)-12)},
		{"checksum of a chunk", bytes.Replace(good, []byte("IHDR"), []byte("IHDS"), 1), `png: byte 29: the checksum of chunk "IHDS" is wrong`},
		{"no pixels", append(header(gray, 2, 2), chunk("IEND", nil)...), "png: byte 33: chunk IEND is out of place"},
		{"nothing in the chunk", raw(""), "png: byte 45: not enough pixel data"},
		{"size", header(gray, 0, 2), "png: byte 16: the picture is 2×0; both are 1 … 2147483647"},
		{"depth", header(kind{RGB, 4}, 2, 2), "png: byte 24: 4 bits of colour type 2 do not exist"},
		{"colour type", header(kind{5, 8}, 2, 2), "png: byte 24: 8 bits of colour type 5 do not exist"},
		{"interlacing", interlacing, "png: byte 26: compression 0, filter 0 and interlacing 2 do not all exist"},
		{"length of a chunk", append(header(gray, 2, 2), "\x80\x00\x00\x00IDAT...."...), "png: byte 33: a chunk has 2147483648 bytes; 2147483647 is the most"},
		{"a transparent colour beside alpha", file(kind{RGBA, 8}, 2, 2, rows, 6, 100, chunk("tRNS", make([]byte, 6))), "png: byte 33: chunk tRNS is out of place"},
		{"no palette", file(kind{Paletted, 8}, 2, 2, rows, 6, 100), "png: byte 33: chunk IDAT is out of place"},
		{"palette", file(kind{Paletted, 1}, 2, 2, rows, 6, 100, chunk("PLTE", make([]byte, 9))), "png: byte 33: chunk PLTE has 9 bytes, which it cannot"},
		{"gray palette", file(gray, 2, 2, rows, 6, 100, chunk("PLTE", make([]byte, 9))), "png: byte 33: chunk PLTE is out of place"},
		{"too few rows", file(gray, 2, 2, rows[:3], 0, 100), "png: byte 64: not enough pixel data"},
		{"too many rows", file(gray, 1, 2, rows, 0, 100), "png: byte 59: too much pixel data"},
		{"half a stream", raw("\x78\x9c\x63"), "png: byte 48: not enough pixel data"},
		{"a block of no kind", raw("\x78\x9c\x07....."), "png: byte 44: the compressed pixels are damaged: flate: corrupt input before offset 1"},
		{"filter", file(gray, 2, 2, []byte{0, 1, 2, 5, 3, 4}, 6, 100), "png: byte 33: row 1 has filter 5; there are 0 … 4"},
		{"zlib header", raw("zz..."), "png: byte 43: the compressed pixels are damaged: zlib: invalid header"},
		{"checksum of the pixels", raw("\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x02"), "png: byte 55: the compressed pixels are damaged: zlib: invalid checksum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			require.Nil(t, compare(t, &d, c.file))
			_, err := d.Open(c.file)
			if err == nil {
				_, err = d.Decode()
			}
			require.EqualError(t, err, c.want)
			var f *FormatError
			require.ErrorAs(t, err, &f)
			if strings.Contains(c.want, "cut short") {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			}
		})
	}
}

// A header cannot make the decoder allocate.
func TestLimit(t *testing.T) {
	d := Decoder{MaxPixels: 1 << 28}
	_, err := d.Open(header(kind{RGBA, 16}, 60000, 60000))
	require.ErrorIs(t, err, ErrTooLarge)
	require.EqualError(t, err, "png: PNG exceeds a limit: 60000×60000 is 3600000000 pixels, the limit is 268435456 (MaxPixels)")
	_, err = (&Decoder{}).Open(header(kind{RGBA, 16}, 1<<31-1, 1<<31-1))
	require.ErrorIs(t, err, ErrTooLarge)

	gray, side := kind{Gray, 8}, 3000
	_, err = d.Open(file(gray, side, side, make([]byte, 4000), 9, 1000))
	require.ErrorContains(t, err, "not enough pixel data")
	require.Zero(t, d.Reserved())
	_, err = d.Open(file(gray, side, side, make([]byte, side*(1+side)), 9, 1000))
	require.NoError(t, err, "nothing compresses better")
	_, err = d.Decode()
	require.NoError(t, err)
}

// Of an interlaced file no more than the header is read.
func TestInterlaced(t *testing.T) {
	h, err := new(Decoder).Open(append([]byte(signature), chunk("IHDR", []byte{0, 0, 0, 2, 0, 0, 0, 3, 8, 0, 0, 0, 1})...))
	require.NoError(t, err)
	require.Equal(t, Header{Width: 2, Height: 3, Depth: 8, Interlaced: true}, h)
}

func TestGrowthIsWhatDecodeTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var d Decoder
	for i := range 60 {
		k := kinds[i%len(kinds)]
		h, w := 1+r.IntN(50), 1+r.IntN(50)
		var between [][]byte
		if k.color == Paletted {
			between = append(between, chunk("PLTE", make([]byte, 3)))
		}
		_, err := d.Open(file(k, h, w, filtered(r, k, h, w), 6, 1+r.IntN(300), between...))
		require.NoError(t, err)
		held, growth := d.Reserved(), d.Growth()
		_, err = d.Decode()
		require.NoError(t, err)
		require.LessOrEqual(t, d.Reserved(), held+growth)
		require.Zero(t, d.Growth())
	}
	d.Release()
	require.Zero(t, d.Reserved())
}

// Two rounds over the files make a decoder warm: tables of codes grow in number and
// in size, and those that are there are lost when their number grows.
func TestWarmDecoderAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var files [][]byte
	for i := range 10 {
		k := kinds[5+i%2] // RGB
		files = append(files, file(k, 100, 100, filtered(r, k, 100, 100), i, 1000+i%3<<20))
	}
	var d Decoder
	round := func() {
		for _, f := range files {
			if _, err := d.Open(f); err != nil {
				panic(err)
			}
			if _, err := d.Decode(); err != nil {
				panic(err)
			}
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(10, round))
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, k := range kinds {
		var between [][]byte
		if k.color == Paletted {
			between = append(between, chunk("PLTE", make([]byte, 6)))
		}
		good := file(k, 5, 6, filtered(r, k, 5, 6), i%10, 1+r.IntN(60), between...)
		f.Add(good)
		f.Add(good[:len(good)*2/3])
		bad := bytes.Clone(good)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Decoder{MaxPixels: 1 << 16}
		if h, err := d.Open(data); err != nil && h.Width == 0 {
			return // image/png has no limit
		}
		compare(t, &d, data)
	})
}

func BenchmarkDecode(b *testing.B) {
	files := photographs(b, 8)
	var bytesOut int64
	for _, f := range files {
		c, err := stdpng.DecodeConfig(bytes.NewReader(f))
		require.NoError(b, err)
		bytesOut += int64(c.Width) * int64(c.Height) * 3
	}
	b.Run("plankton", func(b *testing.B) {
		var d Decoder
		b.SetBytes(bytesOut / int64(len(files)))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := d.Open(files[i%len(files)]); err != nil {
				b.Fatal(err)
			}
			if _, err := d.Decode(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
	b.Run("image/png", func(b *testing.B) {
		b.SetBytes(bytesOut / int64(len(files)))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := stdpng.Decode(bytes.NewReader(files[i%len(files)])); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}
