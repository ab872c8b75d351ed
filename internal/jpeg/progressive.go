package jpeg

import "slices"

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

// decodeSymbol returns the run and the size that the next symbol consists of. The
// bits of the value that may follow are loaded.
func (r *bitReader) decodeSymbol(t *symbolTable) (run, size int) {
	r.load()
	e := t.fast[r.bits>>(64-symbolBits)]
	symbol, length := uint8(e>>8), uint(uint8(e))
	if length == 0 {
		symbol, length = t.symbol(uint32(r.bits >> 48))
	}
	r.drop(length)
	return int(symbol >> 4), int(symbol & 15)
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
			d.coefs[i], d.filled[i] = make([]block, n), make([]bool, n)
			continue
		}
		d.coefs[i], d.filled[i] = d.coefs[i][:n], d.filled[i][:n]
		clear(d.filled[i])
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
	first := y * d.coefsPerRow(c.index)
	coefs, filled := d.coefs[c.index][first:][:s.mcusX], d.filled[c.index][first:][:s.mcusX]
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
		d.known.read(y / s.rows)
		if s.ah == 0 {
			if d.firstAC(&coefs[x], c.sym) {
				filled[x] = true
			}
		} else {
			if s.eobRun > 0 && filled[x] {
				inRun++
			}
			if d.refineAC(&coefs[x], c.sym) {
				filled[x] = true
			}
		}
		if s.eobRun > 0 && !d.reader.overrun() {
			n := min(s.eobRun, s.mcusX-x-1)
			if s.ah != 0 {
				n = unfilled(filled[x+1:][:n])
			}
			n = s.skip(n)
			s.eobRun -= n
			x += n
		}
	}
	return d.visit(inRun)
}

// unfilled returns how many blocks come before the first that has coefficients.
func unfilled(filled []bool) int {
	for i, f := range filled {
		if f {
			return i
		}
	}
	return len(filled)
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

// firstAC reads the first bits of the AC coefficients of a band (T.81 G.1.2.2). It
// reports whether there are any.
func (d *Decoder) firstAC(b *block, t *symbolTable) (any bool) {
	s, r := &d.scan, &d.reader
	if s.eobRun > 0 {
		s.eobRun--
		return false
	}
	for k := s.ss; k <= s.se; {
		run, size := r.decodeSymbol(t)
		if size == 0 {
			if run < 15 {
				s.eobRun = r.runLength(run) - 1
				return any
			}
			k += 16
			continue
		}
		k += run
		value := r.receive(uint(size)) << s.al
		r.bad = r.bad || k > s.se
		b[zigzag[k+1]] = int16(value)
		any = true
		k++
	}
	return any
}

// runLength returns the length of a run of finished bands of category 0 to 14.
func (r *bitReader) runLength(category int) int {
	n := 1 << category
	if category > 0 {
		n += int(r.take(uint(category)))
	}
	return n
}

// refineAC reads one more bit of the AC coefficients of a band (T.81 G.1.2.3). It
// reports whether there are new ones.
func (d *Decoder) refineAC(b *block, t *symbolTable) (any bool) {
	s, r := &d.scan, &d.reader
	bit := int16(1) << s.al
	k := s.ss
	if s.eobRun == 0 {
		for k <= s.se {
			run, size := r.decodeSymbol(t)
			if size == 0 && run < 15 {
				s.eobRun = r.runLength(run)
				break
			}
			var value int16
			if size != 0 {
				value = -bit
				if r.bit() {
					value = bit
				}
			}
			k = r.refineNonzero(b, k, s.se, run, bit)
			r.bad = r.bad || value != 0 && k > s.se
			if value != 0 {
				b[zigzag[k+1]] = value
				any = true
			}
			k++
		}
		if s.eobRun == 0 {
			return any
		}
	}
	r.refineNonzero(b, k, s.se, blockSize, bit)
	s.eobRun--
	return any
}

// refineNonzero refines the coefficients from k to end that are not zero and passes
// over zeros of them. It returns the place of the next zero.
func (r *bitReader) refineNonzero(b *block, k, end, zeros int, bit int16) int {
	for ; k <= end; k++ {
		c := &b[zigzag[k+1]]
		switch {
		case *c == 0:
			if zeros == 0 {
				return k
			}
			zeros--
		case !r.bit() || *c&bit != 0:
		case *c > 0:
			*c += bit
		default:
			*c -= bit
		}
	}
	return k
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
		row := d.coefs[comp][(g.blocks.Min.Y+y)*perRow+g.blocks.Min.X:]
		for x := range g.blocks.Dx() {
			d.idct(p.Pix[at+x*g.size:], p.Stride, g.size, &row[x], q)
		}
	}
	return nil
}
