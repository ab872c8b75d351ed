package jpeg

import (
	"fmt"
	"image"
)

// A Distorter makes of pictures what is left of them in a JPEG file: colours are converted to YCbCr with chroma halved
// in both directions, transformed and rounded to multiples of the quantisation factors, and turned back. What libjpeg
// does when it writes a file of that quality and reads it again is done to the bit; only the coding, which loses
// nothing, is left out. Buffers are used again by the next call.
type Distorter struct {
	planes Planes
	rows   rowBuffers
	line   [2][3][]uint8 // two rows of pixels as YCbCr
	quant  [2]quantTable // of luma and chroma
	divide [2][blockSize]int32
}

// The quantisation factors of T.81 tables K.1 and K.2 for quality 50.
var standardQuant = [2][blockSize]uint8{{
	16, 11, 10, 16, 24, 40, 51, 61,
	12, 12, 14, 19, 26, 58, 60, 55,
	14, 13, 16, 24, 40, 57, 69, 56,
	14, 17, 22, 29, 51, 87, 80, 62,
	18, 22, 37, 56, 68, 109, 103, 77,
	24, 35, 55, 64, 81, 104, 113, 92,
	49, 64, 78, 87, 103, 121, 120, 101,
	72, 92, 95, 98, 112, 100, 103, 99,
}, {
	17, 18, 24, 47, 99, 99, 99, 99,
	18, 21, 26, 66, 99, 99, 99, 99,
	24, 26, 56, 99, 99, 99, 99, 99,
	47, 66, 99, 99, 99, 99, 99, 99,
	99, 99, 99, 99, 99, 99, 99, 99,
	99, 99, 99, 99, 99, 99, 99, 99,
	99, 99, 99, 99, 99, 99, 99, 99,
	99, 99, 99, 99, 99, 99, 99, 99,
}}

// quality sets the factors for a quality of 1 to 100, with libjpeg's formula.
func (d *Distorter) quality(quality int) {
	scale := 200 - 2*quality
	if quality < 50 {
		scale = 5000 / quality
	}
	for t, table := range standardQuant {
		for i, q := range table {
			f := max(1, min((int(q)*scale+50)/100, 255))
			d.quant[t][slotOf(i/8, i%8)] = int16(f)
			d.divide[t][i] = int32(8 * f) // the transform's results are 8 times too large
		}
	}
}

// layOut gives the planes the extents for a picture of h×w pixels.
func (d *Distorter) layOut(h, w int) {
	d.planes.Header = Header{Width: w, Height: h, Components: 3, Space: YCbCr, Sampling: [maxComponents]Sampling{{2, 2}, {1, 1}, {1, 1}}, Orientation: 1}
	d.planes.Region = image.Rect(0, 0, w, h)
	for i := range 3 {
		pw, ph, step := extents(h, w, i)
		p := &d.planes.Plane[i]
		p.Rect, p.StepX, p.StepY, p.Stride = image.Rect(0, 0, pw, ph), step, step, blocks(pw)
		p.Pix = grow(p.Pix, p.Stride*blocks(ph))
	}
	for y := range d.line {
		for c := range 3 {
			d.line[y][c] = grow(d.line[y][c], (w+15)&^15)
		}
	}
}

// Reserved returns the bytes that the buffers hold.
func (d *Distorter) Reserved() (n int64) {
	n = d.planes.Reserved() + int64(cap(d.rows.rgb))
	for i := range 3 {
		n += int64(cap(d.rows.comp[i]) + cap(d.line[0][i]) + cap(d.line[1][i]))
	}
	return n
}

// Growth returns how many bytes a picture of h×w pixels would add.
func (d *Distorter) Growth(h, w int) int64 {
	added := func(buf []uint8, n int) int64 {
		if cap(buf) >= n {
			return 0
		}
		return int64(n + n/8)
	}
	n := added(d.rows.rgb, 3*w)
	for i := range 3 {
		pw, ph, step := extents(h, w, i)
		n += added(d.planes.Plane[i].Pix, blocks(pw)*blocks(ph)) + added(d.rows.comp[i], pw*step)
		n += added(d.line[0][i], (w+15)&^15) + added(d.line[1][i], (w+15)&^15)
	}
	return n
}

// extents returns the samples of a component of a picture of h×w pixels, and the pixels from one to the next.
func extents(h, w, component int) (pw, ph, step int) {
	step = 1 + min(component, 1)
	return (w + step - 1) / step, (h + step - 1) / step, step
}

// blocks returns the samples of the blocks that n samples lie in.
func blocks(n int) int { return (n + 7) &^ 7 }

// Release gives the buffers up.
func (d *Distorter) Release() { *d = Distorter{} }

// RGB distorts a picture of h×w RGB pixels; a quality beyond 1 to 100 is taken for the nearest one.
func (d *Distorter) RGB(dst, src []byte, h, w, quality int) error {
	if h < 1 || w < 1 || len(src) != 3*h*w || len(dst) != len(src) {
		return fmt.Errorf("jpeg: %d and %d bytes for %d×%d pixels", len(src), len(dst), h, w)
	}
	d.quality(max(1, min(quality, 100)))
	d.layOut(h, w)
	for y := 0; y < h; y += 2 {
		d.load(src, h, w, y)
	}
	for i := range 3 {
		d.planes.Plane[i].extend()
		d.distort(i)
	}
	d.rows.prepare(&d.planes, d.planes.Region)
	for y := range h {
		d.rows.convert(dst[3*w*y:][:3*w], &d.planes, y, FormatRGB)
	}
	return nil
}

// load converts rows y and y+1 of a picture into the planes.
func (d *Distorter) load(src []byte, h, w, y int) {
	luma := &d.planes.Plane[0]
	for i := range 2 {
		row := d.line[i]
		rgbToYCC(row[0], row[1], row[2], src[3*w*min(y+i, h-1):][:3*w])
		for c := range 3 { // the last pixel goes on to the end of the last block
			for x := w; x < len(row[c]); x++ {
				row[c][x] = row[c][w-1]
			}
		}
		if y+i < h {
			copy(luma.Pix[(y+i)*luma.Stride:][:luma.Stride], row[0])
		}
	}
	for c := 1; c < 3; c++ {
		p := &d.planes.Plane[c]
		halve(p.Pix[y/2*p.Stride:][:p.Stride], d.line[0][c], d.line[1][c])
	}
}

// extend repeats the last row of a plane to the end of its last block.
func (p *Plane) extend() {
	last := p.Pix[(p.Rect.Max.Y-1)*p.Stride:][:p.Stride]
	for y := p.Rect.Max.Y; y < blocks(p.Rect.Max.Y); y++ {
		copy(p.Pix[y*p.Stride:][:p.Stride], last)
	}
}

// halve stores the means of 2×2 samples, halves rounded down and up in turn.
func halve(dst, a, b []uint8) {
	a, b = a[:2*len(dst)], b[:2*len(dst)]
	for i := range dst {
		dst[i] = uint8((int(a[2*i]) + int(a[2*i+1]) + int(b[2*i]) + int(b[2*i+1]) + 1 + i&1) >> 2)
	}
}

// rgbToYCC converts a row with libjpeg's rounding.
func rgbToYCC(y, cb, cr, rgb []uint8) {
	const offset = 128<<16 + half16 - 1
	for i := 0; len(rgb) >= 3; i, rgb = i+1, rgb[3:] {
		r, g, b := int32(rgb[0]), int32(rgb[1]), int32(rgb[2])
		y[i] = uint8((19595*r + 38470*g + 7471*b + half16) >> 16)
		cb[i] = uint8((-11059*r - 21709*g + 32768*b + offset) >> 16)
		cr[i] = uint8((32768*r - 27439*g - 5329*b + offset) >> 16)
	}
}

// distort transforms, rounds and transforms back the blocks of a component.
func (d *Distorter) distort(component int) {
	table := min(component, 1)
	p, divide := &d.planes.Plane[component], &d.divide[table]
	var work [blockSize]int32
	var b block
	for y := 0; y < p.Rect.Max.Y; y += 8 {
		for x := 0; x < p.Stride; x += 8 {
			pix := p.Pix[y*p.Stride+x:]
			fdct(&work, pix, p.Stride)
			for i, v := range work {
				q := divide[i]
				if v < 0 {
					v = -((-v + q/2) / q)
				} else {
					v = (v + q/2) / q
				}
				b[slots[i]] = int16(v)
			}
			idct8x8(pix, p.Stride, &b, &d.quant[table])
		}
	}
}

// slots are the places of coefficients in natural order.
var slots = func() (s [blockSize]uint8) {
	for i := range s {
		s[i] = uint8(slotOf(i/8, i%8))
	}
	return s
}()

// fdct is the transform that idct8x8 inverts (see idct.go), of 8×8 samples around 128, rows first. The results are 8
// times too large.
func fdct(dst *[blockSize]int32, src []uint8, stride int) {
	for r := range 8 {
		p, o := src[r*stride:][:8], dst[8*r:][:8]
		o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7] = fdct8(
			int32(p[0])-128, int32(p[1])-128, int32(p[2])-128, int32(p[3])-128,
			int32(p[4])-128, int32(p[5])-128, int32(p[6])-128, int32(p[7])-128, pass1Shift)
		o[0], o[4] = o[0]<<pass1Bits, o[4]<<pass1Bits
	}
	for c := range 8 {
		o := dst[c:]
		o[0], o[8], o[16], o[24], o[32], o[40], o[48], o[56] = fdct8(
			o[0], o[8], o[16], o[24], o[32], o[40], o[48], o[56], constBits+pass1Bits)
		o[0], o[32] = (o[0]+1<<(pass1Bits-1))>>pass1Bits, (o[32]+1<<(pass1Bits-1))>>pass1Bits
	}
}

// fdct8 is one pass over eight values. All results but the first and the fifth, which are plain sums, are shifted.
func fdct8(x0, x1, x2, x3, x4, x5, x6, x7 int32, shift uint) (y0, y1, y2, y3, y4, y5, y6, y7 int32) {
	round := int32(1) << (shift - 1)
	t0, t7, t1, t6 := x0+x7, x0-x7, x1+x6, x1-x6
	t2, t5, t3, t4 := x2+x5, x2-x5, x3+x4, x3-x4
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2
	z := (e2 + e3) * fix0_541196100
	y2, y6 = (z+e3*fix0_765366865+round)>>shift, (z-e2*fix1_847759065+round)>>shift

	z5 := (t4 + t6 + t5 + t7) * fix1_175875602
	z1, z2 := -(t4+t7)*fix0_899976223, -(t5+t6)*fix2_562915447
	z3, z4 := z5-(t4+t6)*fix1_961570560, z5-(t5+t7)*fix0_390180644
	y7 = (t4*fix0_298631336 + z1 + z3 + round) >> shift
	y5 = (t5*fix2_053119869 + z2 + z4 + round) >> shift
	y3 = (t6*fix3_072711026 + z2 + z3 + round) >> shift
	y1 = (t7*fix1_501321110 + z1 + z4 + round) >> shift
	return e0 + e1, y1, y2, y3, e0 - e1, y5, y6, y7
}
