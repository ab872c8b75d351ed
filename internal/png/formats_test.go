package png

import (
	"bytes"
	"context"
	"image"
	stdpng "image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every region of every format is that part of the whole picture, converted pixel by
// pixel.
func TestFormatsAndRegions(t *testing.T) {
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		h, w := rapid.IntRange(1, 30).Draw(t, "h"), rapid.IntRange(1, 90).Draw(t, "w")
		region := image.Rect(r.IntN(w+1), r.IntN(h+1), r.IntN(w+1), r.IntN(h+1))
		data := file(k, h, w, filtered(r, k, h, w), 6, 1000, k.between(r)...)
		want, err := stdpng.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		for f := FormatRGB; f <= FormatYCbCr; f++ {
			got, _, err := pixels(t, &d, data, func(Header) image.Rectangle { return region }, f)
			require.NoError(t, err)
			require.Len(t, got, region.Dx()*region.Dy()*f.channels())
			for y := region.Min.Y; y < region.Max.Y; y++ {
				for x := region.Min.X; x < region.Max.X; x++ {
					c := at(want, x, y)
					p := f.pixel(c[0], c[1], c[2])
					require.Equal(t, p[:f.channels()], got[:f.channels()])
					got = got[f.channels():]
				}
			}
		}
	})
}

// Indices are the numbers that the file stores.
func TestIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var d Decoder
	for _, k := range kinds {
		const h, w = 9, 11
		data := file(k, h, w, filtered(r, k, h, w), 6, 1000, k.between(r)...)
		got, head, err := pixels(t, &d, data, everything, FormatIndex)
		switch {
		case k.color == Paletted:
			require.NoError(t, err)
			m, err := stdpng.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			for i := range got {
				require.Equal(t, m.(*image.Paletted).ColorIndexAt(i%w, i/w), got[i])
			}
		case k.color == Gray && k.depth <= 8:
			require.NoError(t, err)
			shades, _, err := pixels(t, &d, data, everything, FormatGray)
			require.NoError(t, err)
			for i := range got {
				require.EqualValues(t, shades[i], int(got[i])*(255/(1<<k.depth-1)))
			}
		default:
			require.False(t, head.Indices())
			require.ErrorContains(t, err, "are no numbers of at most 8 bits")
		}
	}
}

// 16 bits are made 8 as round(v*255/65535), for every value.
func TestRounding(t *testing.T) {
	src, dst := make([]byte, 2*65536), make([]byte, 65536)
	for v := range 65536 {
		src[2*v], src[2*v+1] = byte(v>>8), byte(v)
	}
	narrow(dst, src)
	for v, got := range dst {
		require.EqualValues(t, int(float64(v)*255/65535+0.5), got, "%d", v)
	}
}

// Ancillary chunks with wrong checksums are passed over, critical ones are not.
func TestChecksumsOfAncillaryChunks(t *testing.T) {
	gray := kind{Gray, 8, false}
	spoiled := func(kind string, body []byte) []byte {
		c := chunk(kind, body)
		c[len(c)-1] ^= 1
		return c
	}
	turn := []byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00")
	var d Decoder
	for _, c := range []struct {
		name        string
		chunk       []byte
		orientation int
		transparent bool
		err         string
	}{
		{"text", spoiled("tEXt", []byte("a\x00b")), 1, false, ""},
		{"orientation", chunk("eXIf", turn), 6, false, ""},
		{"spoiled orientation", spoiled("eXIf", turn), 1, false, ""},
		{"transparency", chunk("tRNS", []byte{0, 1}), 1, true, ""},
		{"spoiled transparency", spoiled("tRNS", []byte{0, 1}), 1, false, ""},
		{"spoiled and of a wrong length", spoiled("tRNS", []byte{0}), 1, false, ""},
		{"spoiled critical chunk", spoiled("PLTE", []byte{1, 2, 3}), 0, false, `png: byte 44: the checksum of chunk "PLTE" is wrong`},
		{"spoiled pixels", spoiled("IDAT", []byte{1, 2, 3}), 0, false, `png: byte 44: the checksum of chunk "IDAT" is wrong`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, h, err := pixels(t, &d, file(gray, 1, 2, []byte{0, 7, 8}, 6, 100, c.chunk), everything, FormatGray)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []byte{7, 8}, got)
			require.Equal(t, c.orientation, h.Orientation)
			require.Equal(t, c.transparent, h.Transparent)
		})
	}
}

// looks counts how often a context is looked at, and ends at the last of them.
type looks struct {
	context.Context
	n, last int
}

func (c *looks) Err() error {
	if c.n++; c.n == c.last {
		return context.Canceled
	}
	return nil
}

// The decoder looks at its context every so many bytes, whatever the picture's form,
// and stops where that has ended.
func TestDecodingLooksAtTheContext(t *testing.T) {
	var d Decoder
	for _, c := range []struct {
		name string
		k    kind
		h, w int
	}{
		{"square", kind{RGB, 8, false}, 700, 700},
		{"one row", kind{RGBA, 16, false}, 1, 1 << 18},
		{"one column", kind{Gray, 1, false}, 1 << 20, 1},
		{"bits", kind{Gray, 1, false}, 1, 1 << 24},
		{"interlaced", kind{GrayAlpha, 16, true}, 700, 700},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := Header{Width: c.w, Height: c.h, Color: c.k.color, Depth: c.k.depth, Interlaced: c.k.interlaced}
			data := file(c.k, c.h, c.w, make([]byte, head.storedBytes()), 1, 1<<30)
			_, err := d.Open(context.Background(), data)
			require.NoError(t, err)
			dst := make([]byte, c.h*c.w)
			ctx := looks{Context: t.Context()}
			region := image.Rect(0, 0, c.w, c.h)
			require.NoError(t, d.Decode(&ctx, dst, c.w, region, FormatGray))
			require.GreaterOrEqual(t, ctx.n, int(head.storedBytes()-int64(c.h))/windowBytes)

			d.Release()
			_, err = d.Open(context.Background(), data)
			require.NoError(t, err)
			first := looks{Context: t.Context(), last: 2}
			require.ErrorIs(t, d.Decode(&first, dst, c.w, region, FormatGray), context.Canceled)
			require.Equal(t, 2, first.n)
		})
	}
}

// So it does while it looks through a large file, or one of many chunks.
func TestOpeningLooksAtTheContext(t *testing.T) {
	gray := kind{Gray, 8, false}
	stream := file(gray, 3000, 3000, make([]byte, 3000*3001), 0, 100)
	for name, data := range map[string][]byte{
		"large chunk": file(gray, 1, 1, []byte{0, 1}, 0, 100, chunk("tEXt", make([]byte, 5*lookBytes))),
		"many chunks": file(gray, 1, 1, []byte{0, 1}, 0, 100, bytes.Repeat(chunk("tEXt", nil), 5*lookBytes/chunkWork)),
		"many pieces": stream,
	} {
		ctx := looks{Context: t.Context()}
		var d Decoder
		_, err := d.Open(&ctx, data)
		require.NoError(t, err)
		require.GreaterOrEqual(t, ctx.n, 5, name)
		last := looks{Context: t.Context(), last: 3}
		_, err = d.Open(&last, data)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, last.n)
	}
	var d Decoder
	_, err := d.Open(t.Context(), stream)
	require.NoError(t, err)
	last := looks{Context: t.Context(), last: 3}
	require.ErrorIs(t, d.Decode(&last, nil, 0, image.Rectangle{}, FormatGray), context.Canceled)
	require.Nil(t, d.scratch.stream.src, "nothing was expanded")
}

// What a decoder holds is bounded by a row and the file, not by the picture.
func TestMemoryIsBounded(t *testing.T) {
	const side = 1500
	k := kind{RGBA, 16, true}
	head := Header{Width: side, Height: side, Color: k.color, Depth: k.depth, Interlaced: true}
	data := file(k, side, side, make([]byte, head.storedBytes()), 1, 1000)
	var d Decoder
	_, err := d.Open(context.Background(), data)
	require.NoError(t, err)
	require.Less(t, d.Growth(), int64(len(data))+2*(side*8+margin)+scratchBytes+1)

	d.MaxBytes = d.Growth()
	_, err = d.Open(context.Background(), data)
	require.NoError(t, err)
	d.MaxBytes--
	_, err = d.Open(context.Background(), data)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "the limit is")
	require.ErrorContains(t, err, "(MaxBytes)")

	wide := kind{RGBA, 16, false} // a row of 1 GiB, of a file that could have it
	_, err = new(Decoder).Open(context.Background(), append(header(wide, 1, 1<<27), append(chunk("IDAT", make([]byte, 2<<20)), chunk("IEND", nil)...)...))
	require.ErrorIs(t, err, ErrTooLarge)
}
