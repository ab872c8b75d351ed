package png

import (
	"encoding/binary"
	"fmt"
)

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
	step   int // bytes from one pixel to the next
	how    conversion
	table  [256]uint32 // of mapped pixels, least significant byte first
	group  int         // pixels that are shuffled at a time
	order  [16]byte    // which byte of theirs is where; without a meaning behind them
}

// conversion is how pixels are converted.
type conversion uint8

const (
	copied   conversion = iota // byte by byte
	mapped                     // what a pixel's first byte stands for is in a table
	shuffled                   // bytes stay as they are at other places
	computed
)

// set prepares for a file.
func (c *colors) set(s *scanner, f Format) {
	c.format, c.step = f, s.Color.channels()
	upright := f == FormatRGB || f == FormatBGR
	switch {
	case c.step == 1 && (f == FormatIndex || f == FormatGray && s.Color == Gray && s.Depth >= 8), c.step == 3 && f == FormatRGB:
		c.how = copied
	case upright && s.Color != Paletted && s.Depth >= 8:
		c.how = shuffled
		c.setOrder()
	case c.step <= 2:
		c.how = mapped
		c.setTable(s)
	default:
		c.how = computed
	}
}

// setTable sets what the first byte of pixels stands for.
func (c *colors) setTable(s *scanner) {
	factor := 1
	if s.Depth < 8 {
		factor = 255 / (1<<s.Depth - 1)
	}
	for i := range c.table {
		v := byte(i * factor)
		rgb := [3]byte{v, v, v}
		if s.Color == Paletted {
			rgb = s.palette[i]
		}
		p := c.format.pixel(rgb[0], rgb[1], rgb[2])
		c.table[i] = uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
	}
}

// setOrder sets how bytes of pixels become RGB or BGR.
func (c *colors) setOrder() {
	c.group = min(5, 16/c.step)
	for i := range 3 * c.group {
		pixel, channel := i/3, i%3
		switch {
		case c.step <= 2:
			channel = 0
		case c.format == FormatBGR:
			channel = 2 - channel
		}
		c.order[i] = byte(pixel*c.step + channel)
	}
}

// convert fills dst with pixels.
func (c *colors) convert(dst, px []byte) {
	switch c.how {
	case copied:
		copy(dst, px)
	case shuffled:
		c.shuffle(dst, px)
	case mapped:
		c.look(dst, px)
	default:
		c.compute(dst, px)
	}
}

// shuffleGeneric makes pixels whose bytes are some of the file's.
func (c *colors) shuffleGeneric(dst, px []byte) {
	r, g, b := c.order[0], c.order[1], c.order[2]
	for len(dst) >= 3 {
		dst[0], dst[1], dst[2] = px[r], px[g], px[b]
		dst, px = dst[3:], px[c.step:]
	}
}

// look makes pixels by the table.
func (c *colors) look(dst, px []byte) {
	if c.format.channels() == 1 {
		for i := range dst {
			dst[i] = byte(c.table[px[i*c.step]])
		}
		return
	}
	for len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, c.table[px[0]])
		dst, px = dst[3:], px[c.step:]
	}
	if len(dst) == 3 {
		p := c.table[px[0]]
		dst[0], dst[1], dst[2] = byte(p), byte(p>>8), byte(p>>16)
	}
}

// compute makes pixels one by one.
func (c *colors) compute(dst, px []byte) {
	if c.format == FormatGray {
		for i := range dst {
			p := px[i*c.step:][:3]
			dst[i] = luma(p[0], p[1], p[2])
		}
		return
	}
	for len(dst) >= 3 {
		*(*[3]byte)(dst) = c.format.pixel(px[0], px[1], px[2])
		dst, px = dst[3:], px[c.step:]
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
