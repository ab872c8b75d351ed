package jpeg

import "image"

// Reserved returns how many bytes of buffers the planes hold.
func (p *Planes) Reserved() int64 {
	var n int64
	for i := range p.Plane {
		n += int64(cap(p.Plane[i].Pix))
	}
	return n
}

// Release gives the buffers up.
func (p *Planes) Release() { *p = Planes{} }

// Reserved returns how many bytes of buffers the decoder holds, tables aside.
func (d *Decoder) Reserved() int64 {
	n := d.planes.Reserved() + int64(cap(d.rows.rgb))
	for i := range maxComponents {
		n += int64(cap(d.coefs[i]))*blockBytes + int64(cap(d.rows.comp[i]))
	}
	return n
}

// Release gives the buffers up.
func (d *Decoder) Release() {
	d.planes.Release()
	d.coefs, d.nonzero = [maxComponents][]block{}, [maxComponents][]uint64{}
	d.rows = rowBuffers{}
}

// Growth returns how many bytes [Decoder.Planes] is going to allocate, for a picture
// with the header h; 0 when the buffers of dst and the decoder are large enough.
// Those that it replaces are not taken off.
func (d *Decoder) Growth(dst *Planes, h *Header, region image.Rectangle, reduce int) int64 {
	region = region.Intersect(image.Rect(0, 0, h.Width, h.Height))
	if region.Empty() {
		return 0
	}
	g := h.layout(region, reduce)
	var n int64
	for i := range h.Components {
		if want := g.comp[i].pixBytes(); cap(dst.Plane[i].Pix) < want {
			n += int64(want + want/8)
		}
		if want := h.coefBlocks(i); h.Progressive && cap(d.coefs[i]) < want {
			n += int64(want) * blockBytes
		}
	}
	return n
}

// PixelsGrowth is Growth for [Decoder.Pixels]. Its rows of pixels are counted as if
// the picture were as wide as the region: they are the same to a few bytes.
func (d *Decoder) PixelsGrowth(h *Header, region image.Rectangle) int64 {
	n := d.Growth(&d.planes, h, h.withNeighbours(region), 1)
	const around = 2 * (8*4 + 2) // an MCU, 8 × 4 samples wide at most, and two neighbours on each side
	if width := region.Dx() + around; cap(d.rows.rgb) < 3*region.Dx() {
		n += int64(width) * (3 + maxComponents) * 9 / 8
	}
	return n
}
