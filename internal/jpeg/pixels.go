package jpeg

import (
	"fmt"
	"image"
)

// A Format is an order and meaning of packed pixels.
type Format uint8

// The formats that [Decoder.Pixels] writes.
const (
	FormatRGB   Format = iota // three bytes: red, green, blue
	FormatBGR                 // three bytes: blue, green, red
	FormatGray                // one byte: luma, as in the file where it has one
	FormatYCbCr               // three bytes: ITU-R BT.601 at studio range (16 to 235 and 16 to 240), from RGB
)

// Channels returns the number of bytes of a pixel.
func (f Format) Channels() int {
	if f == FormatGray {
		return 1
	}
	return 3
}

// RGB is Pixels with FormatRGB.
func (d *Decoder) RGB(dst []byte, stride int, data []byte, region image.Rectangle) error {
	return d.Pixels(dst, stride, data, region, FormatRGB)
}

// Pixels decodes a region, given in pixels before Orientation, into rows of packed
// pixels in dst, stride bytes apart. Gray and RGB are bit-equal to what libjpeg-turbo
// makes by default; CMYK and YCCK, which it leaves as they are, become red = cyan ×
// black / 255 and so on where 255 means no ink, and the like for complements.
//
// The region is clipped to the picture and its upper left corner is the start of
// dst. Errors are those of [Decoder.Planes], and one for a dst or stride that is too
// small; after an error the content of dst is undefined.
func (d *Decoder) Pixels(dst []byte, stride int, data []byte, region image.Rectangle, format Format) error {
	if format > FormatYCbCr {
		return fmt.Errorf("jpeg: unknown pixel format %d", format)
	}
	sos, pos, err := d.frame.start(d.Context, data)
	if err != nil {
		return err
	}
	defer d.forget()
	h := &d.frame.Header
	region = region.Intersect(image.Rect(0, 0, h.Width, h.Height))
	width := region.Dx() * format.Channels()
	if need := (region.Dy()-1)*stride + width; !region.Empty() && (stride < width || len(dst) < need) {
		return fmt.Errorf("jpeg: region %v takes rows of %d bytes and %d bytes in all, got a stride of %d and %d bytes", region, width, need, stride, len(dst))
	}
	if err := d.decode(&d.planes, data, sos, pos, h.withNeighbours(region), 1); err != nil {
		return err
	}
	d.rows.prepare(&d.planes, region)
	for y := range region.Dy() {
		if y%rowsPerLook == 0 {
			if err := ended(d.Context); err != nil {
				return err
			}
		}
		d.rows.convert(dst[y*stride:][:width], &d.planes, region.Min.Y+y, format)
	}
	return nil
}

// withNeighbours widens a region by the pixels whose chroma counts for it.
func (h *Header) withNeighbours(region image.Rectangle) image.Rectangle {
	if region.Empty() || h.Space == Gray {
		return region
	}
	return region.Inset(-2)
}

// rowBuffers holds one row of each component in full size.
type rowBuffers struct {
	region image.Rectangle
	comp   [maxComponents][]uint8 // upsampled row of the whole plane
	rgb    []uint8                // row of the region
}

func (b *rowBuffers) prepare(p *Planes, region image.Rectangle) {
	b.region = region
	for i := range p.Header.Components {
		b.comp[i] = grow(b.comp[i], p.Plane[i].Rect.Dx()*p.Plane[i].StepX)
	}
	b.rgb = grow(b.rgb, 3*region.Dx())
}

// grow returns a slice of n bytes, s if it has room for them.
func grow(s []uint8, n int) []uint8 {
	if cap(s) < n {
		return make([]uint8, n, n+n/8)
	}
	return s[:n]
}

// row returns row y of the region of a component, upsampled.
func (b *rowBuffers) row(p *Planes, comp, y int) []uint8 {
	plane := &p.Plane[comp]
	dst := b.comp[comp][:plane.Rect.Dx()*plane.StepX]
	at := y / plane.StepY
	near := plane.Row(at)
	far := func() []uint8 {
		return plane.Row(min(max(at-1+2*(y%2), plane.Rect.Min.Y), plane.Rect.Max.Y-1))
	}
	// libjpeg filters no component that is up to two samples wide, unless it is
	// doubled in height alone.
	narrow := p.Header.Width <= 2*plane.StepX
	switch {
	case plane.StepX == 1 && plane.StepY == 2:
		upsampleV2(dst, near, far(), 1+y%2)
	case plane.StepX == 1:
		dst = near
	case plane.StepX == 2 && plane.StepY == 1 && !narrow:
		upsampleH2(dst, near)
	case plane.StepX == 2 && plane.StepY == 2 && !narrow:
		upsampleH2V2(dst, near, far())
	default:
		replicate(dst, near, plane.StepX)
	}
	return dst[b.region.Min.X-plane.Rect.Min.X*plane.StepX:][:b.region.Dx()]
}

// convert writes row y of the region in the given format.
func (b *rowBuffers) convert(dst []uint8, p *Planes, y int, format Format) {
	space := p.Header.Space
	if format == FormatGray && (space == Gray || space == YCbCr) {
		copy(dst, b.row(p, 0, y))
		return
	}
	rgb := dst
	if format == FormatGray {
		rgb = b.rgb[:3*b.region.Dx()]
	}
	b.convertRGB(rgb, p, y)
	switch format {
	case FormatBGR:
		swapRedBlue(dst)
	case FormatGray:
		rgbToGray(dst, rgb)
	case FormatYCbCr:
		rgbToStudio(dst)
	}
}

func (b *rowBuffers) convertRGB(dst []uint8, p *Planes, y int) {
	h := &p.Header
	c0 := b.row(p, 0, y)
	if h.Space == Gray {
		interleave(dst, c0, c0, c0)
		return
	}
	c1, c2 := b.row(p, 1, y), b.row(p, 2, y)
	switch h.Space {
	case YCbCr:
		yccToRGB(dst, c0, c1, c2)
	case RGB:
		interleave(dst, c0, c1, c2)
	case CMYK:
		interleave(dst, c0, c1, c2)
		ink(dst, b.row(p, 3, y), h.Inverted)
	case YCCK:
		yccToRGB(dst, c0, c1, c2)
		complement(dst)
		ink(dst, b.row(p, 3, y), h.Inverted)
	}
}
