package jpeg

import (
	"image"
	"math"
)

// noRestart is the MCU before which there is no restart marker.
const noRestart = math.MaxInt

// A scan is the state of the scan that is being read.
type scan struct {
	n      int // number of components
	comps  [maxComponents]scanComponent
	mcusX  int             // MCUs in a row
	mcusY  int             // rows of MCUs
	rows   int             // of them in a row of MCUs of all components
	region image.Rectangle // the MCUs that cover the region

	nBlocks int // blocks of an MCU
	blocks  [maxMCUBlocks]mcuBlock

	mcu         int // number of the next MCU
	mark        int // the next MCU before which an entry of the decoder's Skips stands
	perRow      int // entries for a row of MCUs
	nextRestart int // number of the first MCU behind the next restart marker
	restarts    int

	ss, se, ah, al int // spectral selection and successive approximation
	eobRun         int
}

// A scanComponent is what the blocks of a component have in common. The assembly
// knows where the first five fields lie.
type scanComponent struct {
	dc     *dcTable
	ac     *acTable // of sequential scans
	quant  *quantTable
	stride int   // of the samples
	pred   int32 // DC predictor

	index int
	step  image.Point  // blocks per MCU
	sym   *symbolTable // of progressive AC scans
}

// An mcuBlock is one block of an MCU.
type mcuBlock struct {
	comp    *scanComponent
	dx, dy  int // its place among the component's blocks in the MCU
	at      int // sequential scans: place of its samples in the plane
	advance int // what the next MCU adds to it
}

// begin takes a scan header and starts to read the coded data at pos.
func (d *Decoder) begin(data, sos []byte, pos int) error {
	s := &d.scan
	headerPos := pos - len(sos)
	if len(sos) < 1 || sos[0] < 1 || sos[0] > maxComponents || len(sos) != 4+2*int(sos[0]) {
		return formatErrorf(headerPos, "a malformed scan header")
	}
	n := int(sos[0])
	*s = scan{n: n, nextRestart: noRestart, mark: noMark}
	if d.frame.RestartInterval > 0 {
		s.nextRestart = d.frame.RestartInterval
	}
	tail := sos[1+2*s.n:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	if d.frame.Progressive {
		if what := s.checkProgression(); what != "" {
			return formatErrorf(headerPos, "%s", what)
		}
	}
	for i := range n {
		s.n = i
		if err := d.beginComponent(&s.comps[i], sos[1+2*i], sos[2+2*i], headerPos); err != nil {
			return err
		}
	}
	s.n = n
	if what := d.arrange(); what != "" {
		return formatErrorf(headerPos, "%s", what)
	}
	d.reader.start(data, pos)
	return nil
}

// has reports whether the scan has a component already.
func (s *scan) has(index int) bool {
	for i := range s.n {
		if s.comps[i].index == index {
			return true
		}
	}
	return false
}

func (d *Decoder) beginComponent(c *scanComponent, id, selectors byte, pos int) error {
	f := &d.frame
	c.index = -1
	for i := range f.Components {
		// A few files name several components alike: then each scan has them in order.
		if f.ids[i] == id && !d.scan.has(i) {
			c.index = i
			break
		}
	}
	if c.index < 0 {
		return formatErrorf(pos, "a scan names component %d, which the frame does not have, or the scan has already", id)
	}
	if q := f.quantSel[c.index]; !f.haveQuant[q] {
		return formatErrorf(pos, "quantisation table %d of component %d is missing", q, c.index)
	}
	c.quant = &f.quant[f.quantSel[c.index]]
	needDC, needAC := true, true
	if f.Progressive {
		needDC, needAC = d.scan.ss == 0 && d.scan.ah == 0, d.scan.ss > 0
	}
	var what string
	if needDC {
		raw := f.huffman(0, selectors>>4)
		if raw == nil {
			return formatErrorf(pos, "Huffman table %d for DC is missing", selectors>>4)
		}
		if c.dc, what = d.dc.get(raw, 15); what != "" {
			return formatErrorf(pos, "%s", what)
		}
	}
	if needAC {
		raw := f.huffman(1, selectors&15)
		if raw == nil {
			return formatErrorf(pos, "Huffman table %d for AC is missing", selectors&15)
		}
		if f.Progressive {
			c.sym, what = d.sym.get(raw, 255)
		} else {
			c.ac, what = d.ac.get(raw, 255)
		}
		if what != "" {
			return formatErrorf(pos, "%s", what)
		}
	}
	return nil
}

// arrange lists the blocks of an MCU. A scan of one component has one block per MCU
// and no padding (T.81 A.2.2).
func (d *Decoder) arrange() string {
	s, h := &d.scan, &d.frame.Header
	if s.n == 1 {
		c := &s.comps[0]
		c.step = image.Pt(1, 1)
		g := &d.geo.comp[c.index]
		s.mcusX, s.mcusY, s.rows = g.gridW, g.gridH, d.frame.rows[c.index]
		s.region = g.blocks.Intersect(image.Rect(0, 0, g.gridW, g.gridH))
		s.blocks[0], s.nBlocks = mcuBlock{comp: c}, 1
		return ""
	}
	mh, mv := h.maxSampling()
	s.mcusX, s.mcusY, s.rows = ceilDiv(h.Width, 8*mh), ceilDiv(h.Height, 8*mv), 1
	s.region = d.geo.mcus
	for i := range s.n {
		c := &s.comps[i]
		sampling := h.Sampling[c.index]
		c.step = image.Pt(sampling.H, sampling.V)
		for dy := range sampling.V {
			for dx := range sampling.H {
				if s.nBlocks == maxMCUBlocks {
					return "a scan has more than 10 blocks in an MCU"
				}
				s.blocks[s.nBlocks] = mcuBlock{comp: c, dx: dx, dy: dy}
				s.nBlocks++
			}
		}
	}
	return ""
}

// damagedData reports what the coded data lack, found before the MCU that s.mcu
// counted last.
func (d *Decoder) damagedData(what string) error {
	if d.Tolerant && d.damage != nil {
		return nil
	}
	s := &d.scan
	return d.damaged(formatErrorf(d.reader.offset(), "%s in block row %d, column %d of the scan (of %d×%d)",
		what, max(s.mcu-1, 0)/s.mcusX, max(s.mcu-1, 0)%s.mcusX, s.mcusY, s.mcusX))
}

// checkData reports damage that reading up to here has come across.
func (d *Decoder) checkData() error {
	r := &d.reader
	if r.bad {
		r.bad = false
		if err := d.damagedData("the coded data are damaged: an invalid code or too many coefficients"); err != nil {
			return err
		}
	}
	if !r.spent && r.overrun() {
		r.spent = true
		return d.outOfData()
	}
	return nil
}

func (d *Decoder) outOfData() error {
	return d.damagedData("the coded data end too early")
}

// restart goes to the next restart interval.
func (d *Decoder) restart() error {
	s := &d.scan
	if err := d.checkData(); err != nil {
		return err
	}
	d.known.late = d.reader.spent
	s.mcu = s.nextRestart
	s.nextRestart += d.frame.RestartInterval
	if err := d.reader.skipToRestart(s.restarts); err != nil {
		if err := d.damaged(err); err != nil {
			return err
		}
		d.reader.resync(s.restarts)
	}
	s.restarts++
	s.eobRun = 0
	for i := range s.n {
		s.comps[i].pred = 0
	}
	return nil
}

// next steps to the next MCU. It reports false if there are no data for it.
func (d *Decoder) next() (bool, error) {
	s, r := &d.scan, &d.reader
	if s.mcu == s.nextRestart {
		if err := d.restart(); err != nil {
			return false, err
		}
	}
	s.mcu++
	if r.bad {
		if err := d.checkData(); err != nil {
			return false, err
		}
	}
	if !r.ensure() {
		return false, d.outOfData()
	}
	if s.mcu > s.mark {
		d.pass()
	}
	return true, nil
}
