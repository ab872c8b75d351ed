package jpeg

// libjpeg smooths the blocks of progressive files whose scans leave coefficients
// inexact: the low AC coefficients of a block that are zero so far are estimated from
// the DC coefficients of the 5×5 blocks around it, as a smooth surface through them would
// have them. T.81 K.8 has the idea for 3×3 blocks; the weights here, and what counts as
// inexact, are those of libjpeg-turbo from 2.1 on.

// smoothed is the number of coefficients, in zigzag order, that are estimated.
const smoothed = 10

// precision is what the scans of a progressive file have said so far.
type precision struct {
	seen  [maxComponents]bool
	quant [maxComponents]quantTable // when the component's first scan began
	// low is how many low bits of a coefficient, in zigzag order, are not known yet, -1
	// for all; before is the same before the component's last scan.
	low, before [maxComponents][blockSize]int8
	scans       int
	row         int // the last row of MCUs, of all components, for which the last scan has data
	late        bool
}

// read takes note of a row of MCUs for one of which there are data. As libjpeg looks
// before it goes to the next restart interval, the first MCU behind one that ran out of
// data does not count.
func (p *precision) read(row int) {
	if !p.late {
		p.row = row
	}
	p.late = false
}

func (p *precision) reset() {
	*p = precision{}
	for i := range p.low {
		for k := range p.low[i] {
			p.low[i][k], p.before[i][k] = -1, -1
		}
	}
}

// begin takes note of a scan that is about to be read.
func (p *precision) begin(s *scan, f *frame) {
	p.scans++
	for i := range s.n {
		c := s.comps[i].index
		if !p.seen[c] {
			p.seen[c], p.quant[c] = true, f.quant[f.quantSel[c]]
		}
		p.before[c] = p.low[c]
		if p.scans == 1 {
			p.before[c] = [blockSize]int8{}
		}
		for k := s.ss; k <= s.se; k++ {
			p.low[c][k] = int8(s.al)
		}
	}
}

// smooth reports whether the blocks of a picture with so many components are smoothed:
// if all of them have DC coefficients, and any lacks bits of the low AC ones.
func (p *precision) smooth(components int) (useful bool) {
	for c := range components {
		if p.low[c][0] < 0 {
			return false
		}
		for k := range smoothed {
			if p.quant[c][zigzag[k+1]] == 0 {
				return false
			}
			useful = useful || k > 0 && p.low[c][k] != 0
		}
	}
	return useful
}

// A window holds the DC coefficients of a block and those around it, row by row.
type window [25]int32

// Weights of a window. Those of AC coefficients are in zigzag order from 1 on.
var (
	// fineWeights are for blocks that have some AC coefficients.
	fineWeights = [...]window{
		{10: -7, 50, 0, -50, 7},
		{2: -7, 7: 50, 17: -50, 22: 7},
		{2: -1, 7: 13, 12: -24, 17: 13, 22: -1},
		{0, -1, 0, 1, 0, -1, 10, 0, -10, 1, 0, 0, 0, 0, 0, 1, -10, 0, 10, -1, 0, 1, 0, -1, 0},
		{10: -1, 13, -24, 13, -1},
	}
	// coarseWeights are for blocks that have none.
	coarseWeights = [...]window{
		{-1, -1, 0, 1, 1, -3, 13, 0, -13, 3, -3, 38, 0, -38, 3, -3, 13, 0, -13, 3, -1, -1, 0, 1, 1},
		{-1, -3, -3, -3, -1, -1, 13, 38, 13, -1, 0, 0, 0, 0, 0, 1, -13, -38, -13, 1, 1, 3, 3, 3, 1},
		{2: 1, 6: 2, 7, 2, 11: -5, -14, -5, 16: 2, 7, 2, 22: 1},
		{0: -1, 4: 1, 6: 9, 8: -9, 16: -9, 18: 9, 20: 1, 24: -1},
		{6: 2, -5, 2, 10: 1, 7, -14, 7, 1, 16: 2, -5, 2},
		{6: 1, 8: -1, 11: 2, 13: -2, 16: 1, 18: -1},
		{6: 1, -3, 1, 16: -1, 3, -1},
		{6: 1, 8: -1, 11: -3, 13: 3, 16: 1, 18: -1},
		{6: 1, 2, 1, 16: -1, -2, -1},
	}
	// dcWeights are for the DC coefficients of the latter.
	dcWeights = window{-2, -6, -8, -6, -2, -6, 6, 42, 6, -6, -8, 42, 152, 42, -8, -6, 6, 42, 6, -6, -2, -6, -8, -6, -2}
)

// of returns the weighted sum of a window.
func (w *window) of(dc *window) (sum int64) {
	for i, v := range dc {
		sum += int64(w[i]) * int64(v)
	}
	return sum
}

// estimate returns the coefficient that a sum, in units of 1/256, yields after
// quantisation by q. Of one that is known but for low bits, it has no more than those.
func estimate(sum, q int64, low int8) int16 {
	v := (q<<7 + max(sum, -sum)) / (q << 8)
	if low > 0 {
		v = min(v, 1<<low-1)
	}
	if sum < 0 {
		v = -v
	}
	return int16(v)
}

// smoothRow computes the samples of the region's blocks in row y of a component.
func (d *Decoder) smoothRow(dst []uint8, stride, comp, y int) {
	g := &d.geo.comp[comp]
	q := &d.known.quant[comp]
	low := &d.known.low[comp]
	if y/d.frame.rows[comp] > d.known.row && d.known.scans > 1 {
		low = &d.known.before[comp]
	}
	perRow := d.coefsPerRow(comp)
	var rows [5][]block
	for i, at := range around(y, g.gridH, d.frame.rows[comp]) {
		rows[i] = d.coefs[comp][at*perRow:][:g.gridW]
	}
	for x := g.blocks.Min.X; x < min(g.blocks.Max.X, g.gridW); x++ {
		var dc window
		for i, at := range beside(x, g.gridW) {
			for y := range rows {
				dc[5*y+i] = int32(rows[y][at][0])
			}
		}
		b := rows[2][x]
		b.smooth(&dc, q, low)
		d.idct(dst[(x-g.blocks.Min.X)*g.size:], stride, g.size, &b, q)
	}
}

// around returns the rows of blocks that count for row y of n, two above and two
// below, given how many make a row of MCUs. Where there is none, and next to the first
// and the last row of MCUs, the nearer one counts twice, as in libjpeg-turbo up to 2.1.5.
func around(y, n, perMCU int) [5]int {
	mcu, last := y/perMCU, (n-1)/perMCU
	inMCU, rows := y%perMCU, perMCU
	if mcu == last {
		rows = n - last*perMCU
	}
	at := [5]int{y, y, y, y, y}
	if y > 0 {
		at[0], at[1] = y-1, y-1
	}
	if inMCU > 1 || mcu > 1 {
		at[0] = y - 2
	}
	if y < n-1 {
		at[3], at[4] = y+1, y+1
	}
	if inMCU < rows-2 || mcu+1 < last {
		at[4] = y + 2
	}
	return at
}

// beside returns the columns of blocks that count for column x of n, two on the left
// and two on the right. Where there is none the nearest counts, but of two columns the
// first counts as what is on the right of the second, as in libjpeg-turbo up to 2.1.5.
func beside(x, n int) [5]int {
	last := n - 1
	at := [5]int{max(0, x-2), max(0, x-1), x, min(x+1, last), min(x+2, last)}
	if n == 2 {
		at[3], at[4] = 1-x, 0
	}
	return at
}

// smooth estimates the coefficients of a block.
func (b *block) smooth(dc *window, q *quantTable, low *[blockSize]int8) {
	weights, coarse := fineWeights[:], true
	for k := 1; k < smoothed; k++ {
		coarse = coarse && low[k] == -1
	}
	if coarse {
		weights = coarseWeights[:]
	}
	factor := func(slot uint8) int64 { return int64(uint16(q[slot])) }
	scale := factor(0)
	for i := range weights {
		if at := zigzag[i+2]; low[i+1] != 0 && b[at] == 0 {
			b[at] = estimate(scale*weights[i].of(dc), factor(at), low[i+1])
		}
	}
	if coarse {
		b[0] = estimate(scale*dcWeights.of(dc), scale, 0)
	}
}
