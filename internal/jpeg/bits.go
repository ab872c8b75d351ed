package jpeg

import (
	"bytes"
	"encoding/binary"
)

const (
	// maxBlockBytes bounds what coding one block may take: 64 codes of 16 bits, each
	// with up to 15 bits of value.
	maxBlockBytes = blockSize * (16 + 16) / 8
	maxMCUBlocks  = 10 // T.81 B.2.3
	// readAhead is how far past the read limit one MCU may read.
	readAhead = maxMCUBlocks*maxBlockBytes + 16
	// windowBytes is small enough to stay in the first-level cache.
	windowBytes = 16 << 10
)

// A bitReader reads the coded data of one scan. Byte stuffing is taken out in
// windows, so that nothing but the bits themselves is left to the inner loops.
//
// The next bits are the upper n of bits; pos is the next byte of window to load.
// Below those n there may be bits of the byte at pos already; loading it again
// changes nothing. Whoever reads calls ensure before each MCU; then loading needs no
// check. The assembly knows where the first four fields lie.
type bitReader struct {
	bits   uint64
	n      uint
	pos    int
	window [windowBytes + readAhead]byte
	limit  int  // ensure has work to do once pos is past it
	end    int  // window[:end] is data
	marker bool // the segment's data end at end: there is a marker, or the file's end, at src

	data  []byte
	src   int // data[:src] is in the window or was
	first int // where the segment begins
	base  int // bytes that were in the window before its first one, byte stuffing taken out

	spent bool // the segment's bits are used up
	bad   bool // a code that is in no table, or a coefficient past the last one, was met
}

// start begins with a segment of coded data at data[src:].
func (r *bitReader) start(data []byte, src int) {
	r.data, r.src, r.first = data, src, src
	r.bits, r.n, r.pos, r.end, r.base = 0, 0, 0, 0, 0
	r.marker, r.spent, r.bad = false, false, false
	r.fillWindow()
}

// ensure makes sure that one MCU can be read. It reports false when the segment has
// no bits left; what is read then are zero bits.
func (r *bitReader) ensure() bool {
	return r.pos <= r.limit || r.more()
}

func (r *bitReader) more() bool {
	if !r.marker {
		r.fillWindow()
	}
	if r.overrun() {
		r.spent = true
	}
	return !r.spent
}

// overrun reports whether more bits were read than the segment has.
func (r *bitReader) overrun() bool {
	return r.marker && 8*r.pos-int(r.n) > 8*r.end
}

// fillWindow moves what is left in the window to its start and unstuffs behind it.
func (r *bitReader) fillWindow() {
	r.end = copy(r.window[:], r.window[r.pos:r.end])
	r.base += r.pos
	r.pos = 0
	for r.end < windowBytes {
		in := r.data[r.src:min(len(r.data), r.src+windowBytes-r.end)]
		i := bytes.IndexByte(in, 0xFF)
		if i < 0 {
			i = len(in)
		}
		r.end += copy(r.window[r.end:], in[:i])
		r.src += i
		switch {
		case r.src == len(r.data), i < len(in) && r.src == len(r.data)-1:
			r.src = len(r.data)
			r.finish()
			return
		case i == len(in):
			// The window is full.
		case r.data[r.src+1] == 0:
			r.window[r.end] = 0xFF
			r.end++
			r.src += 2
		case r.data[r.src+1] == 0xFF:
			r.src++ // a fill byte before a marker
		default:
			r.finish()
			return
		}
	}
	r.limit = r.end - readAhead
}

// finish ends the data with zero bits. The limit leaves every use of them to more.
func (r *bitReader) finish() {
	r.marker = true
	r.limit = r.end
	clear(r.window[r.end : r.end+readAhead])
}

// offset returns the position in the file of the next bit. It is for errors alone: so that
// it does not depend on where the window ends, it counts from the start of the segment.
func (r *bitReader) offset() int {
	p := r.pos - int(r.n/8)
	if p > r.end {
		return r.src // there is a marker
	}
	at := r.first
	for left := r.base + p; left > 0; left-- {
		for r.data[at] == 0xFF && at+1 < len(r.data) && r.data[at+1] == 0xFF {
			at++ // a fill byte
		}
		if r.data[at] == 0xFF {
			at++ // a stuffed byte follows
		}
		at++
	}
	return at
}

// skipToRestart leaves the segment and starts the one behind the restart marker
// that follows it, which must be the given one of the eight.
func (r *bitReader) skipToRestart(index int) error {
	src := r.src
	if !r.marker {
		// The marker is ahead of the window.
		src = codedEnd(r.data, src)
	}
	marker, next, err := nextMarker(r.data, src)
	if err != nil {
		return err
	}
	if want := byte(markerRST0 + index%8); marker != want {
		return formatErrorf(next-2, "marker %#02x where restart marker %#02x is expected", marker, want)
	}
	r.start(r.data, next)
	return nil
}

// resync is what libjpeg does when another marker comes where restart marker index
// is expected (jpeg_resync_to_restart): markers of the two intervals before are
// skipped, those of the two behind leave this interval without data, others are taken
// for the expected one. If the interval before ran out of data, so does one without;
// else its first MCU is read from zero bits.
func (r *bitReader) resync(index int) {
	pos := r.src
	if !r.marker {
		pos = codedEnd(r.data, pos)
	}
	for {
		marker, next, err := nextMarker(r.data, pos)
		restart := marker >= markerRST0 && marker <= markerRST7
		ahead := (int(marker) - markerRST0 - index) & 7
		switch {
		case err != nil:
			pos = len(r.data)
		case marker < markerSOF0, restart && ahead >= 6:
			pos = next
			continue
		case restart && ahead != 1 && ahead != 2:
			r.start(r.data, next)
			return
		default:
			pos = next - 2
		}
		break
	}
	spent := r.spent
	r.start(r.data, pos)
	if spent {
		r.spent, r.limit = true, -1
	}
}

// codedEnd returns the position of the marker that ends the coded data at pos, or
// the end of the file.
func codedEnd(data []byte, pos int) int {
	for {
		i := bytes.IndexByte(data[pos:], 0xFF)
		if i < 0 || pos+i+1 >= len(data) {
			return len(data)
		}
		pos += i
		switch data[pos+1] {
		case 0: // a stuffed byte
			pos += 2
		case 0xFF: // a fill byte
			pos++
		default:
			return pos
		}
	}
}

// load fills bits up to at least 56.
func (r *bitReader) load() {
	n, pos := r.n, r.pos
	r.bits |= binary.BigEndian.Uint64(r.window[pos:pos+8]) >> (n & 63)
	r.n, r.pos = n|56, pos+int(63-n)>>3
}

// take returns the next count bits, 1 to 16, of those loaded.
func (r *bitReader) take(count uint) int32 {
	v := int32(r.bits >> ((64 - count) & 63))
	r.bits <<= count & 63
	r.n -= count
	return v
}
