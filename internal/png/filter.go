package png

import (
	"encoding/binary"
	"fmt"
)

// unfilter undoes the filters of rows of n bytes, each with a byte for its filter
// in front, where a pixel has step bytes (section 9 of the specification). Left of
// a row and above the first one everything is 0.
func unfilter(rows []byte, n, step int) error {
	var above []byte // nil for the first row
	for y := 0; len(rows) > 0; y++ {
		filter, row := rows[0], rows[1:1+n]
		switch {
		case filter > 4:
			return fmt.Errorf("row %d has filter %d; there are 0 … 4", y, filter)
		case filter == 1 || filter == 4 && y == 0:
			for i := step; i < n; i++ {
				row[i] += row[i-step]
			}
		case filter == 2 && y > 0:
			addBytes(row, above)
		case filter == 3:
			addAverage(row, above, step)
		case filter == 4:
			addPaeth(row, above, step)
		}
		above, rows = row, rows[1+n:]
	}
	return nil
}

// addBytes adds b to a, eight bytes at a time.
func addBytes(a, b []byte) {
	const low = 0x7f7f7f7f7f7f7f7f // all bits but the highest of each byte
	b = b[:len(a)]
	for len(a) >= 8 {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(a, (x&low+y&low)^(x^y)&^low)
		a, b = a[8:], b[8:]
	}
	for i := range a {
		a[i] += b[i]
	}
}

// addAverage adds the mean of the pixels to the left and above.
func addAverage(row, above []byte, step int) {
	if above == nil {
		for i := step; i < len(row); i++ {
			row[i] += row[i-step] / 2
		}
		return
	}
	above = above[:len(row)]
	for i := range min(step, len(row)) {
		row[i] += above[i] / 2
	}
	for i := step; i < len(row); i++ {
		row[i] += byte((int(row[i-step]) + int(above[i])) / 2)
	}
}

// addPaeth adds that one of the pixels to the left, above and in the corner between
// them which is nearest to left + above - corner.
func addPaeth(row, above []byte, step int) {
	above = above[:len(row)]
	for channel := range step {
		var left, corner int
		for i := channel; i < len(row); i += step {
			up := int(above[i])
			toLeft, toUp := up-corner, left-corner
			toCorner := abs(toLeft + toUp)
			toLeft, toUp = abs(toLeft), abs(toUp)
			if toUp < toLeft {
				left, toLeft = up, toUp
			}
			if toCorner < toLeft {
				left = corner
			}
			left = (left + int(row[i])) & 0xff
			row[i] = byte(left)
			corner = up
		}
	}
}

func abs(x int) int {
	sign := x >> 63
	return (x ^ sign) - sign
}

// spread makes pixels of less than 8 bits a byte each: of gray the same shade,
// of a palette the same index.
func (d *Decoder) spread() {
	s := &d.file
	mask := byte(1<<s.Depth - 1)
	factor := byte(1)
	if s.Color == Gray {
		factor = 255 / mask
	}
	n := s.rowBytes()
	for y := range s.Height {
		from, to := d.rows[y*(1+n)+1:], d.pix[y*s.Width:][:s.Width]
		for x := range to {
			bit := x * s.Depth
			to[x] = from[bit/8] >> (8 - s.Depth - bit%8) & mask * factor
		}
	}
}
