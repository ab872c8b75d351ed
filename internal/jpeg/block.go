package jpeg

// blockSize is the number of coefficients of a block.
const blockSize = 64

// A block holds the coefficients of one 8×8 block, quantised, in the order in
// which the inverse DCT wants them. Its first pass works on columns and multiplies
// the pairs of rows (0,4), (2,6), (1,7) and (3,5), its second pass the same pairs
// of columns, so coefficient (row r, column c) lies at
//
//	16·rowPair(r) + 2·columnPlace(c) + rowHalf(r)
//
// which makes a row pair one AVX2 register of 16-bit pairs, with the columns in
// the order 0 4 2 6 1 7 3 5. See [slotOf].
type block [blockSize]int16

// slotOf returns the place of the coefficient in row r and column c of a block.
func slotOf(r, c int) int {
	return int(pairSlot[r]>>1)*16 + int(pairSlot[c])*2 + int(pairSlot[r]&1)
}

// pairSlot is the place of each row or column in the order 0 4 2 6 1 7 3 5.
var pairSlot = [8]uint8{0, 4, 2, 6, 1, 7, 3, 5}

// A scratchBlock is a block with room behind it for what the coding of a damaged
// or finished block writes; see [zigzag]. Its size spares the compiler a check of bounds.
type scratchBlock [256]int16

// overflowSlot takes the writes that belong to no coefficient.
const overflowSlot = blockSize

// Advances of the coefficient counter in table entries: at least 64 ends the
// block. They are told apart by the range that the counter, at most 63 before,
// falls into.
const (
	advanceEnd    = 128 // end of block
	advanceEscape = 192 // the entry does not hold the coefficient
)

// zigzag maps the counter after a coefficient, that is its place in zigzag order
// (T.81 figure A.6) plus one, to its slot. Counters past the last coefficient,
// which only damaged files reach, write that one, as in libjpeg; counters from
// advanceEnd on write nothing of use.
var zigzag = func() (z [256]uint8) {
	r, c := 0, 0
	for k := range blockSize {
		z[k+1] = uint8(slotOf(r, c))
		switch {
		case (r+c)%2 == 0 && c == 7, (r+c)%2 == 1 && r < 7 && c == 0:
			r++
		case (r+c)%2 == 0 && r == 0, (r+c)%2 == 1 && r == 7:
			c++
		case (r+c)%2 == 0:
			r, c = r-1, c+1
		default:
			r, c = r+1, c-1
		}
	}
	for k := blockSize + 1; k < len(z); k++ {
		z[k] = uint8(slotOf(7, 7))
		if k >= advanceEnd {
			z[k] = overflowSlot
		}
	}
	return z
}()
