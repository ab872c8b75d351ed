package png

import "fmt"

// Format is what is made of pixels. Alpha and transparent colours are not applied: a
// transparent pixel has the colour that the file stores.
type Format uint8

// The formats. Bytes of a pixel stand side by side.
const (
	FormatRGB   Format = iota
	FormatBGR          // RGB with the channels the other way round
	FormatGray         // luma
	FormatYCbCr        // ITU-R BT.601 at studio range: luma 16 … 235, chroma 16 … 240
	FormatIndex        // the numbers of a palette or of a gray file, as they are stored
)

// channels returns the bytes of a pixel.
func (f Format) channels() int {
	if f == FormatGray || f == FormatIndex {
		return 1
	}
	return 3
}

// check reports whether a file can be had in the format.
func (f Format) check(h *Header) error {
	if f == FormatIndex && !h.Indices() {
		return fmt.Errorf("png: %d bits of colour type %d are no numbers of at most 8 bits", h.Depth, h.Color)
	}
	return nil
}

// Indices reports whether the pixels of a file are numbers that [FormatIndex] delivers:
// those of a palette, or of a gray file of at most 8 bits.
func (h *Header) Indices() bool {
	return h.Color == Paletted || h.Color == Gray && h.Depth <= 8
}

// colors converts pixels with channels of 8 bits.
type colors struct {
	format Format
	step   int          // bytes from one pixel to the next
	mapped bool         // a pixel's first byte stands for its colour
	same   bool         // and is the result
	table  [256][3]byte // the results then
}

// set prepares for a file.
func (c *colors) set(s *scanner, f Format) {
	c.format, c.step = f, s.Color.channels()
	c.mapped, c.same = c.step <= 2, false
	switch {
	case !c.mapped:
		return
	case s.Color != Paletted:
		c.same = f == FormatIndex || f == FormatGray && s.Depth >= 8
		factor := 1
		if s.Depth < 8 {
			factor = 255 / (1<<s.Depth - 1)
		}
		for i := range c.table {
			v := byte(i * factor)
			c.table[i] = f.pixel(v, v, v)
		}
	case f == FormatIndex:
		c.same = true
	default:
		for i, p := range &s.palette {
			c.table[i] = f.pixel(p[0], p[1], p[2])
		}
	}
}

// convert fills dst with pixels.
func (c *colors) convert(dst, px []byte) {
	switch {
	case c.same && c.step == 1:
		copy(dst, px)
	case c.same:
		for i := range dst {
			dst[i] = px[i*c.step]
		}
	case c.mapped && c.format.channels() == 1:
		for i := range dst {
			dst[i] = c.table[px[i*c.step]][0]
		}
	case c.mapped:
		for len(dst) >= 3 {
			*(*[3]byte)(dst) = c.table[px[0]]
			dst, px = dst[3:], px[c.step:]
		}
	case c.format == FormatRGB && c.step == 3:
		copy(dst, px)
	case c.format == FormatGray:
		for i := range dst {
			p := px[i*c.step:][:3]
			dst[i] = luma(p[0], p[1], p[2])
		}
	default:
		for len(dst) >= 3 {
			*(*[3]byte)(dst) = c.format.pixel(px[0], px[1], px[2])
			dst, px = dst[3:], px[c.step:]
		}
	}
}

// pixel converts a colour. Of formats with one channel it is the first byte.
func (f Format) pixel(r, g, b byte) [3]byte {
	switch f {
	case FormatBGR:
		return [3]byte{b, g, r}
	case FormatGray:
		return [3]byte{luma(r, g, b)}
	case FormatYCbCr:
		return studio(r, g, b)
	}
	return [3]byte{r, g, b}
}

// luma is that of ITU-R BT.601 at full range, in fixed point of 16 bits.
func luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// studio converts a colour to Y'CbCr at studio range: luma 16 … 235, chroma
// 16 … 240 (ITU-R BT.601), in fixed point of 16 bits.
func studio(r, g, b byte) [3]byte {
	R, G, B := int32(r), int32(g), int32(b)
	return [3]byte{
		byte((16829*R + 33039*G + 6416*B + 16<<16 + 1<<15) >> 16),
		byte((-9714*R - 19070*G + 28784*B + 128<<16 + 1<<15) >> 16),
		byte((28784*R - 24103*G - 4681*B + 128<<16 + 1<<15) >> 16),
	}
}
