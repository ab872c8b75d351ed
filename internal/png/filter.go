package png

import "encoding/binary"

// The filters of rows (section 9 of the specification).
const (
	none = iota
	sub
	up
	average
	paeth
)

// unfilter undoes a filter for a piece of a row. The piece begins at row[step], step
// being the bytes of a pixel; the pixel in front of it stands before it, and above
// begins likewise. There are zeros where the picture has no pixel.
func unfilter(filter byte, row, above, raw []byte, step int) {
	above = above[:len(row)]
	switch filter {
	case none:
		copy(row[step:], raw)
	case sub:
		addLeft(row, raw, step)
	case up:
		addBytes(row[step:], above[step:], raw)
	case average:
		addAverage(row, above, raw, step)
	case paeth:
		addPaeth(row, above, raw, step)
	}
}

// addLeftGeneric adds the pixel to the left.
func addLeftGeneric(row, raw []byte, step int) {
	for i, x := range raw {
		row[i+step] = x + row[i]
	}
}

// addBytesGeneric adds a and b, eight bytes at a time.
func addBytesGeneric(dst, a, b []byte) {
	const low = 0x7f7f7f7f7f7f7f7f // all bits but the highest of each byte
	a, b = a[:len(dst)], b[:len(dst)]
	for len(dst) >= 8 {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(dst, (x&low+y&low)^(x^y)&^low)
		dst, a, b = dst[8:], a[8:], b[8:]
	}
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// addAverageGeneric adds the mean of the pixels to the left and above.
func addAverageGeneric(row, above, raw []byte, step int) {
	for i, x := range raw {
		row[i+step] = x + byte((int(row[i])+int(above[i+step]))/2)
	}
}

// addPaethGeneric adds that one of the pixels to the left, above and in the corner
// between them which is nearest to left + above - corner.
func addPaethGeneric(row, above, raw []byte, step int) {
	above = above[:len(row)]
	for channel := range min(step, len(raw)) {
		left, corner := int32(row[channel]), int32(above[channel])
		for i := channel; i < len(raw); i += step {
			up := int32(above[i+step])
			toLeft, toUp := up-corner, left-corner
			toCorner := abs(toLeft + toUp)
			toLeft, toUp = abs(toLeft), abs(toUp)
			if toUp < toLeft {
				left, toLeft = up, toUp
			}
			if toCorner < toLeft {
				left = corner
			}
			left = (left + int32(raw[i])) & 0xff
			row[i+step] = byte(left)
			corner = up
		}
	}
}

func abs(x int32) int32 {
	sign := x >> 31
	return (x ^ sign) - sign
}
