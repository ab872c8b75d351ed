package png

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color/palette"
	_ "image/jpeg"
	stdpng "image/png"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

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
			between := append([][]byte{chunk("tEXt", []byte("Title\x00x"))}, k.between(r)...)
			if k.color == Paletted && r.IntN(2) == 0 {
				between = append(between, chunk("tRNS", make([]byte, r.IntN(2))))
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
	n := 12
	if testing.Short() {
		n = 3
	}
	var d Decoder
	for _, f := range photographs(t, n, asRGB) {
		require.NotNil(t, compare(t, &d, f))
	}
}

func TestRefusals(t *testing.T) {
	gray := kind{Gray, 8, false}
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
		{"depth", header(kind{RGB, 4, false}, 2, 2), "png: byte 24: 4 bits of colour type 2 do not exist"},
		{"colour type", header(kind{5, 8, false}, 2, 2), "png: byte 24: 8 bits of colour type 5 do not exist"},
		{"interlacing", interlacing, "png: byte 26: compression 0, filter 0 and interlacing 2 do not all exist"},
		{"length of a chunk", append(header(gray, 2, 2), "\x80\x00\x00\x00IDAT...."...), "png: byte 33: a chunk has 2147483648 bytes; 2147483647 is the most"},
		{"a transparent colour beside alpha", file(kind{RGBA, 8, false}, 2, 2, rows, 6, 100, chunk("tRNS", make([]byte, 6))), "png: byte 33: chunk tRNS is out of place"},
		{"no palette", file(kind{Paletted, 8, false}, 2, 2, rows, 6, 100), "png: byte 33: chunk IDAT is out of place"},
		{"palette", file(kind{Paletted, 1, false}, 2, 2, rows, 6, 100, chunk("PLTE", make([]byte, 9))), "png: byte 33: chunk PLTE has 9 bytes, which it cannot"},
		{"gray palette", file(gray, 2, 2, rows, 6, 100, chunk("PLTE", make([]byte, 9))), "png: byte 33: chunk PLTE is out of place"},
		{"too few rows", file(gray, 2, 2, rows[:3], 0, 100), "png: byte 64: not enough pixel data"},
		{"too many rows", file(gray, 1, 2, rows, 0, 100), "png: byte 67: too much pixel data"},
		{"half a stream", raw("\x78\x9c\x63"), "png: byte 48: not enough pixel data"},
		{"a block of no kind", raw("\x78\x9c\x07....."), "png: byte 44: the compressed pixels are damaged: a block of no kind"},
		{"filter", file(gray, 2, 2, []byte{0, 1, 2, 5, 3, 4}, 6, 100), "png: byte 33: row 1 has filter 5; there are 0 … 4"},
		{"zlib header", raw("zz..."), "png: byte 43: the compressed pixels are damaged: the header of the stream is 0x7a7a"},
		{"checksum of the pixels", raw("\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x02"), "png: byte 55: the compressed pixels are damaged: their checksum is wrong"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			require.Nil(t, compare(t, &d, c.file))
			_, _, err := pixels(t, &d, c.file, everything, FormatRGB)
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
	_, err := d.Open(context.Background(), header(kind{RGBA, 16, false}, 60000, 60000))
	require.ErrorIs(t, err, ErrTooLarge)
	require.EqualError(t, err, "png: PNG exceeds a limit: 60000×60000 is 3600000000 pixels, the limit is 268435456 (MaxPixels)")
	_, err = (&Decoder{}).Open(context.Background(), header(kind{RGBA, 16, false}, 1<<31-1, 1<<31-1))
	require.ErrorIs(t, err, ErrTooLarge)

	gray, side := kind{Gray, 8, false}, 3000
	_, err = d.Open(context.Background(), file(gray, side, side, make([]byte, 4000), 9, 1000))
	require.ErrorContains(t, err, "not enough pixel data")
	require.Zero(t, d.Reserved())
	_, _, err = pixels(t, &d, file(gray, side, side, make([]byte, side*(1+side)), 9, 1000), everything, FormatGray)
	require.NoError(t, err, "nothing compresses better")
}

func TestGrowthIsWhatDecodeTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var d Decoder
	for i := range 60 {
		k := kinds[i%len(kinds)]
		h, w := 1+r.IntN(50), 1+r.IntN(50)
		f := file(k, h, w, filtered(r, k, h, w), 6, 1+r.IntN(300), k.between(r)...)
		_, err := d.Open(context.Background(), f)
		require.NoError(t, err)
		held, growth := d.Reserved(), d.Growth()
		_, _, err = pixels(t, &d, f, everything, FormatRGB)
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
		k := kinds[r.IntN(len(kinds))]
		files = append(files, file(k, 100, 100, filtered(r, k, 100, 100), i, 1000+i%3<<20, k.between(r)...))
	}
	var d Decoder
	dst := make([]byte, 3*100*100)
	round := func() {
		for _, f := range files {
			h, err := d.Open(context.Background(), f)
			if err != nil {
				panic(err)
			}
			if err := d.Decode(context.Background(), dst, 300, everything(h), FormatYCbCr); err != nil {
				panic(err)
			}
		}
	}
	round()
	alloctest.None(t, 10, round)
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, k := range kinds {
		good := file(k, 5, 6, filtered(r, k, 5, 6), i%10, 1+r.IntN(60), k.between(r)...)
		f.Add(good)
		f.Add(good[:len(good)*2/3])
		bad := bytes.Clone(good)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzDecode(t, data)
		fuzzDecode(t, repaired(data, true)) // what is in the chunks counts then
	})
}

// fuzzDecode compares the whole picture and a part of it.
func fuzzDecode(t *testing.T, data []byte) {
	d := Decoder{MaxPixels: 1 << 16}
	h, err := d.Open(t.Context(), data)
	if err != nil && h.Width == 0 {
		return // image/png has no limit
	}
	whole := compare(t, &d, data)
	if whole == nil {
		return
	}
	part := func(Header) image.Rectangle { return image.Rect(h.Width/3, h.Height/4, h.Width, (h.Height+1)/2) }
	got, _, err := pixels(t, &d, data, part, FormatRGB)
	require.NoError(t, err)
	r := part(h)
	for i := range len(got) / 3 {
		require.Equal(t, at(whole, r.Min.X+i%r.Dx(), r.Min.Y+i/r.Dx()), [3]byte(got[3*i:]))
	}
}

// BenchmarkDecode decodes photographs of several kinds to RGB. PLANKTON_DATA has them.
func BenchmarkDecode(b *testing.B) {
	for _, kind := range []struct {
		name    string
		convert func(image.Image) image.Image
	}{
		{"RGB", asRGB},
		{"palette", func(m image.Image) image.Image { return drawn(m, image.NewPaletted(m.Bounds(), palette.Plan9)) }},
		{"16bits", func(m image.Image) image.Image { return drawn(m, image.NewRGBA64(m.Bounds())) }},
		{"grey", func(m image.Image) image.Image { return drawn(m, image.NewGray(m.Bounds())) }},
		{"alpha", func(m image.Image) image.Image {
			n := image.NewNRGBA(m.Bounds())
			drawn(m, n)
			n.Pix[3] = 0
			return n
		}},
	} {
		files := photographs(b, 8, kind.convert)
		b.Run(kind.name+"/plankton", func(b *testing.B) {
			var d Decoder
			var dst []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h, err := d.Open(b.Context(), files[i%len(files)])
				if err != nil {
					b.Fatal(err)
				}
				if n := 3 * h.Width * h.Height; len(dst) < n {
					dst = make([]byte, n)
				}
				if err := d.Decode(b.Context(), dst, 3*h.Width, everything(h), FormatRGB); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
		b.Run(kind.name+"/image_png", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := stdpng.Decode(bytes.NewReader(files[i%len(files)])); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
