package jpeg

import (
	"encoding/binary"
	mathbits "math/bits"
	"slices"
)

// maxScans bounds the work that a small progressive file can ask for: a scan may
// say in a few bytes that it changes nothing.
const maxScans = 500

const symbolBits = 9

// A symbolTable decodes the symbols of progressive AC scans. An entry holds the
// symbol above the length of its code, or 0 if the code is longer than symbolBits.
type symbolTable struct {
	canon
	fast [1 << symbolBits]uint16
}

func (t *symbolTable) build() {
	clear(t.fast[:])
	t.codes(symbolBits, func(code uint32, length uint, symbol uint8) {
		first := code << (symbolBits - length)
		for i := range t.fast[first : first+1<<(symbolBits-length)] {
			t.fast[int(first)+i] = uint16(symbol)<<8 | uint16(length)
		}
	})
}

func (r *bitReader) bit() bool {
	if r.n == 0 {
		r.load()
	}
	return r.take(1) != 0
}

// checkProgression returns what is wrong with the parameters of a progressive scan
// (T.81 G.1.1.1).
func (s *scan) checkProgression() string {
	switch {
	case s.ss == 0 && s.se != 0, s.ss > s.se, s.se >= blockSize, s.ss > 0 && s.n != 1:
		return "a progressive scan with an invalid spectral selection"
	case s.al > 13, s.ah > 0 && s.al != s.ah-1:
		return "a progressive scan with an invalid successive approximation"
	}
	return ""
}

// progressive gathers the coefficients of all scans, then transforms the region's.
func (d *Decoder) progressive(dst *Planes, data, sos []byte, pos int) error {
	h := &d.frame.Header
	if err := d.clearCoefficients(); err != nil {
		return err
	}
	for scans := 1; sos != nil; scans++ {
		if scans > maxScans {
			return formatErrorf(pos, "more than %d scans", maxScans)
		}
		err := d.begin(data, sos, pos)
		if err != nil {
			return err
		}
		d.known.begin(&d.scan, &d.frame)
		if err := d.progressiveScan(); err != nil {
			return err
		}
		sos, pos, err = d.frame.parse(data, d.reader.src)
		if err != nil {
			if err := d.afterScans(err); err != nil {
				return err
			}
			break
		}
	}
	for i := range h.Components {
		if !d.known.seen[i] {
			if err := d.damaged(formatErrorf(pos, "the image ends without a scan of component %d", i)); err != nil {
				return err
			}
		}
	}
	smooth := d.known.smooth(h.Components)
	for i := range h.Components {
		if err := d.transform(&dst.Plane[i], i, smooth); err != nil {
			return err
		}
	}
	return nil
}

// clearCoefficients makes room for the coefficients of the picture, all zero.
func (d *Decoder) clearCoefficients() error {
	d.known.reset()
	d.visits = 0
	for i := range d.frame.Components {
		n := d.frame.coefBlocks(i)
		if cap(d.coefs[i]) < n {
			d.coefs[i], d.nonzero[i] = make([]block, n), make([]uint64, n)
			continue
		}
		d.coefs[i], d.nonzero[i] = d.coefs[i][:n], d.nonzero[i][:n]
		clear(d.nonzero[i])
		for blocks := range slices.Chunk(d.coefs[i], blocksPerLook) {
			if err := ended(d.Context); err != nil {
				return err
			}
			clear(blocks)
		}
	}
	return nil
}

// progressiveScan reads one scan into the coefficients.
func (d *Decoder) progressiveScan() error {
	s := &d.scan
	for y := range s.mcusY {
		if err := ended(d.Context); err != nil {
			return err
		}
		var err error
		if s.ss == 0 {
			err = d.rowOfDC(y)
		} else {
			err = d.rowOfAC(y)
		}
		if err != nil {
			return err
		}
	}
	return d.checkData()
}

// rowOfDC reads a row of MCUs of a scan of DC coefficients.
func (d *Decoder) rowOfDC(y int) error {
	s := &d.scan
	for x := 0; x < s.mcusX; x++ {
		coded, err := d.next()
		if err != nil {
			return err
		}
		if !coded {
			x += s.skip(s.mcusX - x - 1)
			continue
		}
		d.known.read(y / s.rows)
		for i := range s.nBlocks {
			b := &s.blocks[i]
			c := b.comp
			coef := &d.coefs[c.index][(y*c.step.Y+b.dy)*d.coefsPerRow(c.index)+x*c.step.X+b.dx]
			if s.ah == 0 {
				c.pred += d.reader.decodeDC(c.dc)
				coef[0] = int16(c.pred << s.al)
			} else if d.reader.bit() {
				coef[0] |= 1 << s.al
			}
		}
	}
	return nil
}

// rowOfAC reads a row of blocks of a scan of AC coefficients. Of blocks in which a run
// says that there is nothing new, only those are looked at that have coefficients to
// refine.
func (d *Decoder) rowOfAC(y int) error {
	s := &d.scan
	c := &s.comps[0]
	first, row := y*d.coefsPerRow(c.index), y/s.rows
	coefs, nonzero := d.coefs[c.index][first:][:s.mcusX], d.nonzero[c.index][first:][:s.mcusX]
	inRun := 0
	for x := 0; x < s.mcusX; x++ {
		coded, err := d.next()
		if err != nil {
			return err
		}
		if !coded {
			x += s.skip(s.mcusX - x - 1)
			continue
		}
		d.known.read(row)
		if s.ah == 0 {
			nonzero[x] = d.firstAC(&coefs[x], nonzero[x], c.sym)
		} else {
			if s.eobRun > 0 && nonzero[x] != 0 {
				inRun++
			}
			nonzero[x] = d.refineAC(&coefs[x], nonzero[x], c.sym)
		}
		if s.eobRun > 0 && !d.reader.overrun() {
			n := min(s.eobRun, s.mcusX-x-1)
			if s.ah != 0 {
				n = leadingZeros(nonzero[x+1:][:n])
			}
			n = s.skip(n)
			s.eobRun -= n
			x += n
		}
	}
	return d.visit(inRun)
}

// leadingZeros returns how many words come before the first that is not zero.
func leadingZeros(words []uint64) int {
	for i, w := range words {
		if w != 0 {
			return i
		}
	}
	return len(words)
}

// skip goes past up to n MCUs, which take no bits, but past no restart marker.
func (s *scan) skip(n int) int {
	n = min(n, s.nextRestart-s.mcu)
	s.mcu += n
	return n
}

// coefsPerRow returns the number of blocks in a row of d.coefs[comp].
func (d *Decoder) coefsPerRow(comp int) int {
	h := &d.frame.Header
	mh, _ := h.maxSampling()
	return ceilDiv(h.Width, 8*mh) * h.Sampling[comp].H
}

// firstAC reads the first bits of the AC coefficients of a band (T.81 G.1.2.2), given which
// coefficients of the block are not zero, and returns which are not zero now.
func (d *Decoder) firstAC(b *block, nonzero uint64, t *symbolTable) uint64 {
	s, r := &d.scan, &d.reader
	if s.eobRun > 0 {
		s.eobRun--
		return nonzero
	}
	bits, n, pos := r.bits, r.n, r.pos
	for k := s.ss; k <= s.se; k++ {
		bits |= binary.BigEndian.Uint64(r.window[pos:]) >> (n & 63)
		pos += int(63-n) >> 3
		n |= 56
		symbol, length := t.lookup(bits)
		r.bad = r.bad || length > maxCodeLength
		bits <<= length & 63
		n -= length
		run, size := int(symbol>>4), uint(symbol&15)
		if size == 0 {
			if run < 15 {
				r.bits, r.n, r.pos = bits, n, pos
				s.eobRun = r.runLength(run) - 1
				return nonzero
			}
			k += 15
			continue
		}
		value := int32(bits >> (64 - size))
		value += (1 - 1<<size) & ^(-(value >> (size - 1))) // as extend does
		bits <<= size
		n -= size
		k += run
		r.bad = r.bad || k > s.se
		nonzero = set(b, nonzero, k, int16(value<<s.al))
	}
	r.bits, r.n, r.pos = bits, n, pos
	return nonzero
}

// lookup returns the symbol that the bits begin with and the length of its code.
func (t *symbolTable) lookup(bits uint64) (symbol uint8, length uint) {
	if e := t.fast[bits>>(64-symbolBits)]; e != 0 {
		return uint8(e >> 8), uint(uint8(e))
	}
	return t.symbol(uint32(bits >> 48))
}

// set stores a coefficient, and returns which ones are not zero then. One past the end of the
// block, of which only damaged files have any, is the last.
func set(b *block, nonzero uint64, k int, value int16) uint64 {
	b[zigzag[uint8(k+1)]&(blockSize-1)] = value
	at := uint64(1) << min(k, blockSize-1)
	if value == 0 { // shifted out
		return nonzero &^ at
	}
	return nonzero | at
}

// runLength returns the length of a run of finished bands of category 0 to 14.
func (r *bitReader) runLength(category int) int {
	n := 1 << category
	if category > 0 {
		n += int(r.take(uint(category)))
	}
	return n
}

// refineAC reads one more bit of the AC coefficients of a band (T.81 G.1.2.3), likewise.
func (d *Decoder) refineAC(b *block, nonzero uint64, t *symbolTable) uint64 {
	s, r := &d.scan, &d.reader
	bit := int16(1) << s.al
	known := nonzero // before the scan
	bits, n, pos := r.bits, r.n, r.pos
	for k := s.ss; s.eobRun > 0 || k <= s.se; k++ {
		zeros, value := blockSize, int16(0) // that come before the next new coefficient, and that
		if s.eobRun == 0 {
			bits |= binary.BigEndian.Uint64(r.window[pos:]) >> (n & 63)
			pos += int(63-n) >> 3
			n |= 56
			symbol, length := t.lookup(bits)
			r.bad = r.bad || length > maxCodeLength
			bits <<= length & 63
			n -= length
			switch run := int(symbol >> 4); {
			case symbol&15 != 0:
				zeros, value = run, bit*int16(int64(bits)>>63|1)*-1
				bits <<= 1
				n--
			case run == 15:
				zeros = 15
			default:
				r.bits, r.n, r.pos = bits, n, pos
				s.eobRun = r.runLength(run)
				bits, n = r.bits, r.n
			}
		}
		for {
			next := k + mathbits.TrailingZeros64(known>>uint(k)) // at least 64 for none
			if next > s.se {
				k = min(k+zeros, s.se+1)
				break
			}
			if next-k > zeros {
				k += zeros
				break
			}
			zeros -= next - k
			if n == 0 {
				bits |= binary.BigEndian.Uint64(r.window[pos:])
				pos, n = pos+7, 56
			}
			c := &b[zigzag[uint8(next+1)]&(blockSize-1)]
			sign := *c >> 15 // the value moves away from zero where the bit is set, and lacks it
			delta := (bit ^ sign) - sign
			if *c&bit != 0 {
				delta = 0
			}
			*c += delta & int16(int64(bits)>>63)
			bits <<= 1
			n--
			k = next + 1
		}
		if s.eobRun > 0 {
			s.eobRun--
			break
		}
		if value != 0 {
			r.bad = r.bad || k > s.se
			nonzero = set(b, nonzero, k, value)
		}
	}
	r.bits, r.n, r.pos = bits, n, pos
	return nonzero
}

// transform computes the samples of a component from its coefficients.
func (d *Decoder) transform(p *Plane, comp int, smooth bool) error {
	g := &d.geo.comp[comp]
	q := &d.known.quant[comp]
	perRow := d.coefsPerRow(comp)
	for y := range g.blocks.Dy() {
		if err := ended(d.Context); err != nil {
			return err
		}
		at := y * g.size * p.Stride
		if smooth && g.blocks.Min.Y+y < g.gridH {
			d.smoothRow(p.Pix[at:], p.Stride, comp, g.blocks.Min.Y+y)
			continue
		}
		first := (g.blocks.Min.Y+y)*perRow + g.blocks.Min.X
		row, nonzero := d.coefs[comp][first:], d.nonzero[comp][first:]
		for x := range g.blocks.Dx() {
			if nonzero[x] == 0 && g.size == 8 && !d.Tolerant {
				idctFlat(p.Pix[at+x*g.size:], p.Stride, g.size, row[x][0]*q[0])
				continue
			}
			d.idct(p.Pix[at+x*g.size:], p.Stride, g.size, &row[x], q)
		}
	}
	return nil
}
