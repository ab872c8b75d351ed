package ops

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	stdpng "image/png"
	"io"

	"github.com/planktonml/plankton/internal/png"
)

// raster is a decoded picture of bytes: rows of pixels, of each of which the
// high byte of every channel is read. Alpha is dropped: a transparent pixel has the
// colour that the file stores.
type raster struct {
	pix     []byte
	h, w    int
	stride  int           // bytes from one row to the next
	step    int           // bytes from one pixel to the next
	channel int           // bytes from one channel to the next; 0 where all are alike
	palette *[256][3]byte // colours, where pixels are indices; black beyond the file's
	gray    bool          // a picture of one channel
	held    int64         // bytes of pix that are not the PNG decoder's
}

// openPNG decodes a PNG file of at most maxPixels pixels, after it has reserved the
// bytes that this takes. The pixels are the decoder's.
func openPNG(d *png.Decoder, data []byte, maxPixels int64, reserve func(int64) error) (raster, error) {
	d.MaxPixels = maxPixels
	h, err := d.Open(data)
	if err != nil {
		return raster{}, err
	}
	if h.Interlaced {
		return openInterlaced(&h, data, reserve)
	}
	if err := reserve(d.Growth()); err != nil {
		return raster{}, err
	}
	m, err := d.Decode()
	if err != nil {
		return raster{}, err
	}
	r := raster{pix: m.Pix, h: h.Height, w: h.Width, stride: m.Stride, step: m.Step, palette: m.Palette}
	if h.Color == png.RGB || h.Color == png.RGBA {
		r.channel = h.Depth / 8
	}
	r.gray = h.Color == png.Gray && !h.Transparent
	return r, nil
}

// openInterlaced decodes an interlaced file by image/png, which makes the passes one
// by one beside the whole picture.
func openInterlaced(h *png.Header, data []byte, reserve func(int64) error) (raster, error) {
	const most = 8 // bytes of a pixel
	if err := reserve(2 * most * int64(h.Height) * int64(h.Width)); err != nil {
		return raster{}, err
	}
	img, err := stdpng.Decode(bytes.NewReader(data))
	if err != nil {
		return raster{}, interlacedError(err)
	}
	r := rasterOf(img)
	r.held = int64(len(r.pix))
	return r, nil
}

// interlacedError gives errors of the decompressor the name of the format.
func interlacedError(err error) error {
	switch {
	case errors.As(err, new(stdpng.FormatError)), errors.As(err, new(stdpng.UnsupportedError)):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("png: the file is cut short: %w", err)
	}
	return fmt.Errorf("png: %w", err)
}

// rasterOf returns the pixels of img without a copy where it is of a type that
// image/png makes.
func rasterOf(img image.Image) raster {
	r := raster{h: img.Bounds().Dy(), w: img.Bounds().Dx()}
	switch m := img.(type) {
	case *image.Gray:
		r.pix, r.stride, r.step, r.gray = m.Pix, m.Stride, 1, true
	case *image.Gray16:
		r.pix, r.stride, r.step, r.gray = m.Pix, m.Stride, 2, true
	case *image.RGBA: // without alpha
		r.pix, r.stride, r.step, r.channel = m.Pix, m.Stride, 4, 1
	case *image.RGBA64:
		r.pix, r.stride, r.step, r.channel = m.Pix, m.Stride, 8, 2
	case *image.NRGBA:
		r.pix, r.stride, r.step, r.channel = m.Pix, m.Stride, 4, 1
	case *image.NRGBA64:
		r.pix, r.stride, r.step, r.channel = m.Pix, m.Stride, 8, 2
	case *image.Paletted:
		r.pix, r.stride, r.step = m.Pix, m.Stride, 1
		r.palette = new([256][3]byte)
		for i, c := range m.Palette {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			r.palette[i] = [3]byte{n.R, n.G, n.B}
		}
	default:
		n := image.NewRGBA(image.Rect(0, 0, r.w, r.h))
		draw.Draw(n, n.Rect, img, img.Bounds().Min, draw.Src)
		r.pix, r.stride, r.step, r.channel = n.Pix, n.Stride, 4, 1
	}
	return r
}

// copy writes the pixels of a region to dst, dense, as t has them. Any is one
// channel of a grey picture, RGB of others.
func (p *raster) copy(dst []byte, region image.Rectangle, t ColorType) {
	if t == Any && p.gray {
		t = Gray
	}
	for y := region.Min.Y; y < region.Max.Y; y++ {
		row := p.pix[y*p.stride:]
		for x := region.Min.X; x < region.Max.X; x++ {
			at := row[x*p.step:]
			r, g, b := at[0], at[p.channel], at[2*p.channel]
			if p.palette != nil {
				c := &p.palette[at[0]]
				r, g, b = c[0], c[1], c[2]
			}
			dst = dst[t.put(dst, r, g, b):]
		}
	}
}

// put writes one pixel and returns the number of its bytes.
func (t ColorType) put(dst []byte, r, g, b byte) int {
	switch t {
	case Gray:
		dst[0] = byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
		return 1
	case BGR:
		dst[0], dst[1], dst[2] = b, g, r
	case YCbCr:
		dst[0], dst[1], dst[2] = studio(r, g, b)
	default:
		dst[0], dst[1], dst[2] = r, g, b
	}
	return 3
}

// studio converts a colour to Y'CbCr at studio range: luma 16 … 235, chroma
// 16 … 240 (ITU-R BT.601), in fixed point of 16 bits.
func studio(r, g, b byte) (y, cb, cr byte) {
	R, G, B := int32(r), int32(g), int32(b)
	y = byte((16829*R + 33039*G + 6416*B + 16<<16 + 1<<15) >> 16)
	cb = byte((-9714*R - 19070*G + 28784*B + 128<<16 + 1<<15) >> 16)
	cr = byte((28784*R - 24103*G - 4681*B + 128<<16 + 1<<15) >> 16)
	return y, cb, cr
}
