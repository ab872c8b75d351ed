package imaging

import "encoding/binary"

// TransposePlane writes a plane of h rows of w bytes as w rows of h bytes: rows become columns.
// Rows lie srcStride and dstStride bytes apart. It goes by blocks of eight by eight bytes.
func TransposePlane(dst []byte, dstStride int, src []byte, srcStride, h, w int) {
	y := 0
	for ; y+8 <= h; y += 8 {
		x := 0
		for ; x+8 <= w; x += 8 {
			transpose8(dst[x*dstStride+y:], dstStride, src[y*srcStride+x:], srcStride)
		}
		if x < w {
			transposeSlowly(dst[x*dstStride+y:], dstStride, src[y*srcStride+x:], srcStride, 8, w-x)
		}
	}
	if y < h {
		transposeSlowly(dst[y:], dstStride, src[y*srcStride:], srcStride, h-y, w)
	}
}

// transpose8 is TransposePlane of a block: rows are words, in which halves, quarters and
// eighths change places with those of the row four, two and one further on.
func transpose8(dst []byte, dstStride int, src []byte, srcStride int) {
	a, e := halves(word(src), word(src[4*srcStride:]))
	b, f := halves(word(src[srcStride:]), word(src[5*srcStride:]))
	c, g := halves(word(src[2*srcStride:]), word(src[6*srcStride:]))
	d, h := halves(word(src[3*srcStride:]), word(src[7*srcStride:]))
	a, c = quarters(a, c)
	b, d = quarters(b, d)
	e, g = quarters(e, g)
	f, h = quarters(f, h)
	a, b = eighths(a, b)
	c, d = eighths(c, d)
	e, f = eighths(e, f)
	g, h = eighths(g, h)
	binary.LittleEndian.PutUint64(dst, a)
	binary.LittleEndian.PutUint64(dst[dstStride:], b)
	binary.LittleEndian.PutUint64(dst[2*dstStride:], c)
	binary.LittleEndian.PutUint64(dst[3*dstStride:], d)
	binary.LittleEndian.PutUint64(dst[4*dstStride:], e)
	binary.LittleEndian.PutUint64(dst[5*dstStride:], f)
	binary.LittleEndian.PutUint64(dst[6*dstStride:], g)
	binary.LittleEndian.PutUint64(dst[7*dstStride:], h)
}

func word(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

func halves(a, b uint64) (uint64, uint64) { return a&0xffffffff | b<<32, a>>32 | b&^0xffffffff }

func quarters(a, b uint64) (uint64, uint64) {
	const low = 0x0000ffff0000ffff
	return a&low | b&low<<16, a>>16&low | b&^low
}

func eighths(a, b uint64) (uint64, uint64) {
	const low = 0x00ff00ff00ff00ff
	return a&low | b&low<<8, a>>8&low | b&^low
}

func transposeSlowly(dst []byte, dstStride int, src []byte, srcStride, h, w int) {
	for x := range w {
		for y := range h {
			dst[x*dstStride+y] = src[y*srcStride+x]
		}
	}
}

// Turn writes h×w pixels of c bytes, dense, from a picture in which the first lies at
// origin, the one on its right that many bytes further on, and the one below it down bytes
// further on: negative ones go back. It goes by blocks that fit the cache, since one of
// the two directions goes along the columns of a turned picture.
func Turn(dst []byte, h, w, c int, src []byte, origin, right, down int) {
	const block = 32 // pixels: as many rows of the source are in use
	for y0 := 0; y0 < h; y0 += block {
		for x0 := 0; x0 < w; x0 += block {
			n := min(block, w-x0)
			for y := y0; y < min(y0+block, h); y++ {
				turnRow(dst[(y*w+x0)*c:][:n*c], c, src, origin+y*down+x0*right, right)
			}
		}
	}
}

func turnRow(dst []byte, c int, src []byte, at, right int) {
	switch {
	case right == c:
		copy(dst, src[at:])
	case c == 1:
		for i := range dst {
			dst[i] = src[at]
			at += right
		}
	case c == 3:
		// Words of four bytes: the fourth is the next pixel's, which comes after. The last
		// pixel of a row and the last of the source have none.
		for ; len(dst) > 3 && at <= len(src)-4; dst = dst[3:] {
			binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(src[at:]))
			at += right
		}
		for ; len(dst) >= 3; dst = dst[3:] {
			copy(dst[:3], src[at:])
			at += right
		}
	default:
		for ; len(dst) >= c; dst = dst[c:] {
			copy(dst[:c], src[at:])
			at += right
		}
	}
}
