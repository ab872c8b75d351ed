package flac

import (
	"encoding/binary"
	"math/bits"
)

// bitReader reads numbers of some bits, highest bit first.
type bitReader struct {
	data []byte
	pos  int    // of the first byte that is not in acc, or not counted there
	acc  uint64 // the next bits, from the highest one on; those behind the first n are the file's as well, or 0
	n    uint
	over bool // more bits were wanted than there are
}

// fill brings 56 bits or more to acc, fewer at the end of the data.
func (r *bitReader) fill() {
	if r.pos+8 <= len(r.data) {
		r.acc |= binary.BigEndian.Uint64(r.data[r.pos:]) >> r.n
		r.pos += int(63-r.n) >> 3
		r.n |= 56
		return
	}
	r.acc &= ^uint64(0) << (64 - r.n)
	for r.n <= 56 && r.pos < len(r.data) {
		r.acc |= uint64(r.data[r.pos]) << (56 - r.n)
		r.pos++
		r.n += 8
	}
}

// read returns k bits, at most 32.
func (r *bitReader) read(k uint) uint64 {
	if r.n < k {
		r.fill()
		if r.n < k {
			r.over = true
			return 0
		}
	}
	v := r.acc >> (64 - k)
	r.acc <<= k
	r.n -= k
	return v
}

// signed returns a number of k bits, at most 33, in two's complement.
func (r *bitReader) signed(k uint) int64 {
	v := r.read(min(k, 32))
	if k > 32 {
		v = v<<1 | r.read(1)
	}
	return int64(v<<(64-k)) >> (64 - k)
}

// zeros returns the number of zeros in front of the next one, which is read as well; limit and
// one more at most are looked at.
func (r *bitReader) zeros(limit uint) uint {
	total := uint(0)
	for {
		if r.n == 0 {
			if r.fill(); r.n == 0 {
				r.over = true
				return 0
			}
		}
		z := uint(bits.LeadingZeros64(r.acc))
		if z < r.n {
			r.acc = r.acc << z << 1
			r.n -= z + 1
			return total + z
		}
		total += r.n
		r.acc, r.n = 0, 0
		if total > limit {
			r.over = true
			return 0
		}
	}
}

// align goes on to the next byte and returns its place.
func (r *bitReader) align() int {
	k := r.n % 8
	r.acc <<= k
	r.n -= k
	return r.pos - int(r.n/8)
}

func (r *bitReader) atEnd() bool { return r.n < 8 && r.pos == len(r.data) }
