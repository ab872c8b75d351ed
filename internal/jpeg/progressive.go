package jpeg

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
	var seen [maxComponents]bool
	for i := range h.Components {
		n := h.coefBlocks(i)
		if cap(d.coefs[i]) < n {
			d.coefs[i] = make([]block, n)
		}
		d.coefs[i] = d.coefs[i][:n]
		clear(d.coefs[i])
	}
	for scans := 1; sos != nil; scans++ {
		if scans > maxScans {
			return formatErrorf(pos, "more than %d scans", maxScans)
		}
		err := d.begin(data, sos, pos)
		if err != nil {
			return err
		}
		for i := range d.scan.n {
			seen[d.scan.comps[i].index] = true
		}
		if err := d.progressiveScan(); err != nil {
			return err
		}
		sos, pos, err = d.frame.parse(data, d.reader.src)
		if err != nil {
			if err := d.damaged(err); err != nil {
				return err
			}
			break
		}
	}
	for i := range h.Components {
		if !seen[i] {
			if err := d.damaged(formatErrorf(pos, "the image ends without a scan of component %d", i)); err != nil {
				return err
			}
		}
		d.transform(&dst.Plane[i], i)
	}
	return nil
}

// progressiveScan reads one scan into the coefficients.
func (d *Decoder) progressiveScan() error {
	s := &d.scan
	for y := range s.mcusY {
		for x := range s.mcusX {
			coded, err := d.next()
			if err != nil {
				return err
			}
			if !coded {
				continue
			}
			for i := range s.nBlocks {
				b := &s.blocks[i]
				c := b.comp
				coef := &d.coefs[c.index][(y*c.step.Y+b.dy)*d.coefsPerRow(c.index)+x*c.step.X+b.dx]
				switch {
				case s.ss == 0 && s.ah == 0:
					c.pred += d.reader.decodeDC(c.dc)
					coef[0] = int16(c.pred << s.al)
				case s.ss == 0:
					if d.reader.bit() {
						coef[0] |= 1 << s.al
					}
				case s.ah == 0:
					d.firstAC(coef, c.sym)
				default:
					d.refineAC(coef, c.sym)
				}
			}
		}
	}
	return d.checkData()
}

// coefsPerRow returns the number of blocks in a row of d.coefs[comp].
func (d *Decoder) coefsPerRow(comp int) int {
	h := &d.frame.Header
	mh, _ := h.maxSampling()
	return ceilDiv(h.Width, 8*mh) * h.Sampling[comp].H
}

// firstAC reads the first bits of the AC coefficients of a band (T.81 G.1.2.2).
func (d *Decoder) firstAC(b *block, t *symbolTable) {
	s, r := &d.scan, &d.reader
	if s.eobRun > 0 {
		s.eobRun--
		return
	}
	for k := s.ss; k <= s.se; {
		run, size := r.decodeSymbol(t)
		if size == 0 {
			if run < 15 {
				s.eobRun = r.runLength(run) - 1
				return
			}
			k += 16
			continue
		}
		k += run
		value := r.receive(uint(size)) << s.al
		if k > s.se {
			r.bad = true
			return
		}
		b[zigzag[k+1]] = int16(value)
		k++
	}
}

// runLength returns the length of a run of finished bands of category 0 to 14.
func (r *bitReader) runLength(category int) int {
	n := 1 << category
	if category > 0 {
		n += int(r.take(uint(category)))
	}
	return n
}

// refineAC reads one more bit of the AC coefficients of a band (T.81 G.1.2.3).
func (d *Decoder) refineAC(b *block, t *symbolTable) {
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
			if k > s.se {
				r.bad = r.bad || value != 0
				return
			}
			if value != 0 {
				b[zigzag[k+1]] = value
			}
			k++
		}
		if s.eobRun == 0 {
			return
		}
	}
	r.refineNonzero(b, k, s.se, blockSize, bit)
	s.eobRun--
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
func (d *Decoder) transform(p *Plane, comp int) {
	g := &d.geo.comp[comp]
	q := &d.frame.quant[d.frame.quantSel[comp]]
	perRow := d.coefsPerRow(comp)
	for y := range g.blocks.Dy() {
		row := d.coefs[comp][(g.blocks.Min.Y+y)*perRow+g.blocks.Min.X:]
		for x := range g.blocks.Dx() {
			idct(p.Pix[y*g.size*p.Stride+x*g.size:], p.Stride, g.size, &row[x], q)
		}
	}
}
