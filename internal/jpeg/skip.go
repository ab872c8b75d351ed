package jpeg

import "sync/atomic"

// Skips are places in the coded data of one file from which a decoder can go on: about
// half of the time goes into Huffman codes, also those of what a region does not show, and
// a decoder that has come by once needs not read them again.
//
// An entry stands before every MCU of which the number in its row of MCUs is a multiple of
// Every, row by row. It is zero until a decoder has come by, without an error in anything
// before; so what Skips leap over is known to be sound. Entries are functions of the file
// alone, so decoders may share Skips and write them at the same time. Skips of another
// file make other pixels or errors, but the decoder stays within its buffers.
type Skips struct {
	Every   int
	Entries []atomic.Uint64

	// Fixed says that entries must not be written.
	Fixed bool
}

// An entry holds a position in the coded data in bits, byte stuffing taken out, above the
// DC predictors of up to three components. Predictors of 8-bit pictures fit: they lie
// between -1024 and 1023.
const (
	skipPredBits   = 12
	skipComponents = 3
	skipPosShift   = skipComponents * skipPredBits
	skipMaxPos     = 1<<(64-skipPosShift) - 1
)

// skipWorth is how many MCUs a picture must have for Skips to be of use.
const skipWorth = 64

// noMark is the MCU before which no entry stands.
const noMark = noRestart

// SkipEntries returns the Every of Skips with an entry for every so many pixels of a row of
// MCUs, and the number of its entries. That is 0 where decoders have no use for them: for
// small pictures, progressive files, which are read as a whole, files with restart intervals,
// which skip by themselves, and four components.
func (h *Header) SkipEntries(pixels int) (every, entries int) {
	if h.Progressive || h.RestartInterval > 0 || h.Components > skipComponents {
		return 0, 0
	}
	mcusX, mcusY := h.mcus()
	if mcusX*mcusY < skipWorth {
		return 0, 0
	}
	mh, _ := h.maxSampling()
	if h.Components == 1 {
		mh = 1
	}
	every = max(1, min(pixels/(8*mh), mcusX))
	return every, ceilDiv(mcusX, every) * mcusY
}

// mcus returns the extents of a scan of all components, in MCUs.
func (h *Header) mcus() (x, y int) {
	if h.Components == 1 {
		return ceilDiv(h.Width, 8), ceilDiv(h.Height, 8)
	}
	mh, mv := h.maxSampling()
	return ceilDiv(h.Width, 8*mh), ceilDiv(h.Height, 8*mv)
}

// beginSkips readies the scan that has begun for the decoder's Skips.
func (d *Decoder) beginSkips() {
	s, k := &d.scan, &d.Skips
	s.mark = noMark
	if len(k.Entries) == 0 || d.Tolerant || d.frame.RestartInterval > 0 || s.n != d.frame.Components || s.n > skipComponents {
		return
	}
	s.perRow = ceilDiv(s.mcusX, max(k.Every, 1))
	if s.perRow*s.mcusY == len(k.Entries) {
		s.mark = s.markAfter(0, k.Every)
	}
}

// markAfter returns the first MCU behind the given one before which an entry stands.
func (s *scan) markAfter(mcu, every int) int {
	y, i := mcu/s.mcusX, mcu%s.mcusX/every+1
	if i == s.perRow {
		y, i = y+1, 0
	}
	if y == s.mcusY {
		return noMark
	}
	return y*s.mcusX + i*every
}

// pass comes by the entry before MCU s.mark, which is next.
func (d *Decoder) pass() {
	s, r, k := &d.scan, &d.reader, &d.Skips
	e := &k.Entries[s.mark/s.mcusX*s.perRow+s.mark%s.mcusX/k.Every]
	s.mark = s.markAfter(s.mark, k.Every)
	if k.Fixed || e.Load() != 0 {
		return
	}
	pos := 8*(r.base+r.pos) - int(r.n)
	if pos > skipMaxPos {
		return
	}
	word := uint64(pos) << skipPosShift
	for i := range s.n {
		pred := s.comps[i].pred
		if pred < -1<<(skipPredBits-1) || pred >= 1<<(skipPredBits-1) {
			return
		}
		word |= uint64(pred&(1<<skipPredBits-1)) << (i * skipPredBits)
	}
	e.Store(word)
}

// leap goes to the last entry before the given MCU or one to the left of it, if there is
// any ahead.
func (d *Decoder) leap(mcu int) {
	s, k := &d.scan, &d.Skips
	if s.mark > mcu {
		return
	}
	for i := mcu/s.mcusX*s.perRow + mcu%s.mcusX/k.Every; ; i-- {
		at := i/s.perRow*s.mcusX + i%s.perRow*k.Every
		if at <= s.mcu {
			return
		}
		if word := k.Entries[i].Load(); word != 0 {
			s.land(at, word, &d.reader)
			s.mark = s.markAfter(at, k.Every)
			return
		}
	}
}

// land makes the MCU of an entry the next one.
func (s *scan) land(mcu int, word uint64, r *bitReader) {
	r.seek(int(word >> skipPosShift))
	for i := range s.n {
		s.comps[i].pred = int32(word>>(i*skipPredBits)<<(64-skipPredBits)>>32) >> (32 - skipPredBits)
	}
	s.mcu = mcu
}

// seek goes forward to a bit of the segment, counted without byte stuffing.
func (r *bitReader) seek(bit int) {
	for bit>>3 >= r.base+r.end && !r.marker {
		r.pos = r.end
		r.fillWindow()
	}
	r.bits, r.n, r.pos = 0, 0, max(0, min(bit>>3-r.base, r.end))
	r.ensure()
	r.load()
	r.bits <<= uint(bit & 7)
	r.n -= uint(bit & 7)
}
