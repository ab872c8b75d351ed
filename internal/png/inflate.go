package png

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var (
	errNotEnough = errors.New("not enough pixel data")
	errTooMuch   = errors.New("too much pixel data")
	errStream    = errors.New("the compressed pixels are damaged")
)

const (
	historyBytes = 32 << 10 // how far a stream may refer back
	windowBytes  = 128 << 10

	// slackBytes is how far beyond the place that it looks at the inner loop may write:
	// literals, a match and what is copied in excess of that.
	slackBytes = 320

	// turnBlocks is how many blocks are begun in a turn: those without contents take time
	// and make no bytes.
	turnBlocks = 32
)

// inflater expands a zlib stream (RFC 1950, RFC 1951) in turns, so that whoever waits for
// the bytes can look at something else in between. Turns end where the window is full.
type inflater struct {
	reader
	size int // of the stream

	window   [windowBytes]byte
	from, to int // the bytes that are made and not yet taken
	made     int // bytes of the window that the checksum has not seen begin here
	sum      uint32

	state blockState
	last  bool // block of the stream
	left  int  // bytes of a stored block that are to come
	codes codes
}

// blockState is what comes next in a stream.
type blockState uint8

const (
	beginsBlock blockState = iota
	inStored
	inCodes
	atSum
	atEnd
)

// reset begins a stream.
func (f *inflater) reset(stream []byte) error {
	f.reader = reader{src: stream}
	f.size = len(stream)
	f.from, f.to, f.made, f.sum = 0, 0, 0, 1
	f.state, f.last = beginsBlock, false
	f.refill()
	head := f.take(16)
	cmf, flags := head&0xff, head>>8
	switch {
	case f.short():
		return errNotEnough
	case cmf&15 != 8 || cmf>>4 > 7 || (cmf<<8|flags)%31 != 0 || flags&0x20 != 0:
		return fmt.Errorf("%w: the header of the stream is %#04x", errStream, cmf<<8|flags)
	}
	return nil
}

// consumed returns how many bytes of the stream were read.
func (f *inflater) consumed() int { return min(f.base+f.pos-int(f.n)/8, f.size) }

// ready returns the next n bytes, which stay until the next turn, or nil if there must be a
// turn before.
func (f *inflater) ready(n int) []byte {
	if f.to-f.from < n {
		return nil
	}
	b := f.window[f.from : f.from+n]
	f.from += n
	return b
}

// turn makes more bytes, for some tenths of a millisecond. It is an error if there are no
// more.
func (f *inflater) turn() error {
	if f.state == atEnd {
		return errNotEnough
	}
	f.slide()
	for blocks := 0; f.state != atEnd && f.to < windowBytes-slackBytes && blocks <= turnBlocks; {
		var err error
		switch f.state {
		case beginsBlock:
			blocks++
			err = f.begin()
		case inStored:
			err = f.copyStored()
		case inCodes:
			err = f.expand()
		case atSum:
			err = f.checkSum()
		}
		if f.short() {
			return errNotEnough
		}
		if err != nil {
			return err
		}
	}
	f.sumUp()
	return nil
}

// slide makes room in the window.
func (f *inflater) slide() {
	if keep := max(f.to-f.from, historyBytes); f.to > keep {
		by := f.to - keep
		copy(f.window[:], f.window[by:f.to])
		f.from, f.to, f.made = f.from-by, f.to-by, f.made-by
	}
}

// sumUp brings the checksum up to date.
func (f *inflater) sumUp() {
	f.sum = adler32(f.sum, f.window[f.made:f.to])
	f.made = f.to
}

// finished checks that the stream ends behind what was taken; it is false if there must be
// a turn before that can be said.
func (f *inflater) finished() (bool, error) {
	if f.to > f.from {
		return true, errTooMuch
	}
	return f.state == atEnd, nil
}

// begin reads the header of a block.
func (f *inflater) begin() error {
	if f.last {
		f.state = atSum
		return nil
	}
	f.refill()
	head := f.take(3)
	f.last = head&1 != 0
	switch head >> 1 {
	case 0:
		f.skipToByte()
		size := f.take(32)
		if f.left = int(size & 0xffff); size>>16 != ^size&0xffff {
			return fmt.Errorf("%w: the length of a stored block", errStream)
		}
		f.giveBack()
		f.state = inStored
	case 1:
		f.codes.fixed()
		f.state = inCodes
	case 2:
		f.state = inCodes
		return f.codes.read(&f.reader)
	default:
		return fmt.Errorf("%w: a block of no kind", errStream)
	}
	return nil
}

// copyStored copies as much of a stored block as there is room for.
func (f *inflater) copyStored() error {
	n := min(f.left, windowBytes-slackBytes-f.to, len(f.src)-f.pos)
	if n == 0 && f.left > 0 {
		return errNotEnough
	}
	copy(f.window[f.to:f.to+n], f.src[f.pos:])
	f.to, f.pos, f.left = f.to+n, f.pos+n, f.left-n
	if f.left == 0 {
		f.state = beginsBlock
	}
	return nil
}

// checkSum compares the checksum at the end of the stream.
func (f *inflater) checkSum() error {
	f.sumUp()
	f.skipToByte()
	f.refill()
	var stored [4]byte
	binary.LittleEndian.PutUint32(stored[:], uint32(f.take(32)))
	if binary.BigEndian.Uint32(stored[:]) != f.sum {
		return fmt.Errorf("%w: their checksum is wrong", errStream)
	}
	f.state = atEnd
	return nil
}

// adlerMod is the modulus of the checksum of RFC 1950.
const adlerMod = 65521

// adler32Generic is that checksum.
func adler32Generic(sum uint32, p []byte) uint32 {
	const most = 5552 // bytes before the sums overflow
	a, b := sum&0xffff, sum>>16
	for len(p) > 0 {
		n := min(len(p), most)
		for _, x := range p[:n] {
			a += uint32(x)
			b += a
		}
		a, b, p = a%adlerMod, b%adlerMod, p[n:]
	}
	return b<<16 | a
}
