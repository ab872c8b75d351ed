package jpeg

import (
	"encoding/binary"
	"fmt"
)

// sequential decodes the scans of a sequential file until every component has had
// one.
func (d *Decoder) sequential(dst *Planes, data, sos []byte, pos int) error {
	var seen [maxComponents]bool
	missing := d.frame.Components
	for scans := 1; ; scans++ {
		if scans > maxScans {
			return formatErrorf(pos, "more than %d scans", maxScans)
		}
		if err := d.begin(data, sos, pos); err != nil {
			return err
		}
		if err := d.sequentialScan(dst); err != nil {
			return err
		}
		for i := range d.scan.n {
			if c := d.scan.comps[i].index; !seen[c] {
				seen[c] = true
				missing--
			}
		}
		if missing == 0 {
			return nil
		}
		var err error
		sos, pos, err = d.frame.parse(data, d.reader.src)
		if err == nil && sos == nil {
			err = &FormatError{Offset: pos, What: fmt.Sprintf("the image ends with %d of its components missing", missing), Decodable: true}
		}
		if err != nil {
			for i := range d.frame.Components {
				if !seen[i] {
					fill(dst.Plane[i].Pix, 128)
				}
			}
			return d.afterScans(err)
		}
	}
}

func fill(p []uint8, v uint8) {
	for i := range p {
		p[i] = v
	}
}

// sequentialScan decodes the blocks of the region and skips the others, up to the
// region's last.
func (d *Decoder) sequentialScan(dst *Planes) error {
	s := &d.scan
	for i := range s.n {
		c := &s.comps[i]
		c.stride = dst.Plane[c.index].Stride
	}
	d.beginSkips()
	for y := s.region.Min.Y; y < s.region.Max.Y; y++ {
		if err := ended(d.Context); err != nil {
			return err
		}
		if err := d.skipTo(y*s.mcusX + s.region.Min.X); err != nil {
			return err
		}
		d.placeRow(y)
		for range s.region.Dx() {
			coded, err := d.next()
			if err != nil {
				return err
			}
			for i := range s.nBlocks {
				d.sequentialBlock(dst, &s.blocks[i], coded)
			}
		}
	}
	return d.checkData()
}

// placeRow points the blocks of an MCU to the samples of the region's first MCU in
// row y.
func (d *Decoder) placeRow(y int) {
	s := &d.scan
	for i := range s.nBlocks {
		b := &s.blocks[i]
		c := b.comp
		g := &d.geo.comp[c.index]
		bx, by := s.region.Min.X*c.step.X+b.dx-g.blocks.Min.X, y*c.step.Y+b.dy-g.blocks.Min.Y
		b.at, b.advance = (by*c.stride+bx)*g.size, c.step.X*g.size
	}
}

// sequentialBlock decodes one block of the next MCU. If there are no coded data left
// it is mid-grey.
func (d *Decoder) sequentialBlock(dst *Planes, b *mcuBlock, coded bool) {
	c := b.comp
	size := d.geo.comp[c.index].size
	out := dst.Plane[c.index].Pix[b.at:]
	b.at += b.advance
	switch {
	case !coded:
		idctFlat(out, c.stride, size, 0)
	case size == 8 && !d.Tolerant:
		decodeBlock(&d.reader, c, &d.block, out)
	default:
		decodeBlock(&d.reader, c, &d.block, nil)
		d.idct(out, c.stride, size, (*block)(d.block[:blockSize]), c.quant)
	}
}

// skipTo reads past the MCUs before the given one. Whole restart intervals are
// skipped without decoding, and so is what the decoder's Skips leap over.
func (d *Decoder) skipTo(mcu int) error {
	s := &d.scan
	d.leap(mcu)
	var comps [maxMCUBlocks]*scanComponent
	for i := range s.nBlocks {
		comps[i] = s.blocks[i].comp
	}
	for n := 1; s.mcu < mcu; n++ {
		if n%mcusPerLook == 0 {
			if err := ended(d.Context); err != nil {
				return err
			}
		}
		if s.nextRestart <= mcu {
			if err := d.restart(); err != nil {
				return err
			}
			continue
		}
		coded, err := d.next()
		if err != nil {
			return err
		}
		if coded {
			skipMCU(&d.reader, comps[:s.nBlocks])
		}
	}
	return nil
}

// idct writes the samples of a block and clears it. What a decoder that is Tolerant makes of
// damaged files is what libjpeg-turbo makes of them, overflows and all.
func (d *Decoder) idct(dst []uint8, stride, size int, b *block, q *quantTable) {
	if d.Tolerant && size == 8 {
		idctWrapping(dst, stride, b, q)
		return
	}
	idct(dst, stride, size, b, q)
}

// idct writes the samples of a block, size in each direction (8, 4, 2 or 1), and clears
// it.
func idct(dst []uint8, stride, size int, b *block, q *quantTable) {
	switch size {
	case 8:
		idct8x8(dst, stride, b, q)
	case 4:
		idct4x4(dst, stride, b, q)
	case 2:
		idct2x2(dst, stride, b, q)
	default: // 1
		dst[0] = flat(b[0] * q[0])
		*b = block{}
	}
}

// flat returns the sample of a block without AC coefficients, dc being its product
// with the quantisation factor.
func flat(dc int16) uint8 { return saturate8((int32(dc)+4)>>3 + 128) }

// idctFlat writes the samples of a block without AC coefficients.
func idctFlat(dst []uint8, stride, size int, dc int16) {
	v := flat(dc)
	if size == 8 {
		for y := range 8 {
			binary.NativeEndian.PutUint64(dst[y*stride:], uint64(v)*0x01010101_01010101)
		}
		return
	}
	for y := range size {
		fill(dst[y*stride:][:size], v)
	}
}
