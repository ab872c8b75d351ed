package png

import "encoding/binary"

// reader reads a stream bit by bit, least significant first. Behind its end are zeros, as
// many as one likes, and short is true once they were taken.
type reader struct {
	src  []byte
	pos  int    // of the next byte of src that is not in bits
	bits uint64 // the next bits; above the n-th one there may be some of later bytes
	n    uint   // at most 63

	base int             // where src begins in the stream
	real int             // bytes of tail that are the stream's
	tail [tailBytes]byte // what src is near the end, then zeros
	ends bool            // src is tail
}

const (
	aheadBytes = 16 // so many are in src, so that it can be refilled twice
	tailBytes  = 64
)

// refill makes bits hold 56 at least.
func (r *reader) refill() {
	if r.pos+aheadBytes > len(r.src) {
		r.toTail()
	}
	r.bits |= binary.LittleEndian.Uint64(r.src[r.pos:]) << (r.n & 63)
	r.pos += int((63 - r.n) >> 3)
	r.n |= 56
}

// toTail goes on in a copy of the last bytes, so that more can be read than there are.
func (r *reader) toTail() {
	if !r.ends {
		unused := r.n &^ 7
		r.pos -= int(unused / 8)
		r.n -= unused
		r.real = copy(r.tail[:], r.src[r.pos:])
		clear(r.tail[r.real:])
		r.base, r.pos, r.src, r.ends = r.pos, 0, r.tail[:], true
	} else if r.pos+aheadBytes > len(r.tail) { // far behind the end, where all bits are alike
		r.pos = len(r.tail) - aheadBytes
	}
}

// take returns the next n bits, which must be there.
func (r *reader) take(n uint) uint64 {
	v := r.bits & (1<<(n&63) - 1)
	r.bits >>= n & 63
	r.n -= n
	return v
}

// skipToByte passes over what is left of a byte.
func (r *reader) skipToByte() { r.take(r.n & 7) }

// giveBack empties bits, of which whole bytes are left.
func (r *reader) giveBack() {
	r.pos -= int(r.n / 8)
	r.bits, r.n = 0, 0
}

// short reports whether more was taken than there is.
func (r *reader) short() bool {
	return r.ends && r.pos*8-int(r.n) > r.real*8
}
