package png

import (
	"encoding/binary"
	"fmt"
)

// expand makes bytes of a block with codes until the block, the window or the stream
// ends. Each round looks up as many codes as 56 bits hold for sure: three entries with
// literals, or literals and a length with its distance, for which bits may have to be
// read again.
func (f *inflater) expand() error {
	if f.pos+aheadBytes > len(f.src) {
		f.toTail()
	}
	const (
		litMask  = 1<<litBits - 1
		distMask = 1<<distBits - 1
	)
	src, pos, bits, n := f.src, f.pos, f.bits, f.n
	window, to := f.window[:], f.to
	lit, dist := &f.codes.lit, &f.codes.dist
	var err error
	for pos+aheadBytes <= len(src) && to < windowBytes-slackBytes {
		bits |= binary.LittleEndian.Uint64(src[pos:]) << (n & 63)
		pos += int((63 - n) >> 3)
		n |= 56
		e := lit[bits&litMask]
		if e&isOther == 0 {
			binary.LittleEndian.PutUint32(window[to:], e>>8)
			to += int(e >> 5 & 3)
			bits >>= e & 31
			n -= uint(e & 31)
			if e = lit[bits&litMask]; e&isOther == 0 {
				binary.LittleEndian.PutUint32(window[to:], e>>8)
				to += int(e >> 5 & 3)
				bits >>= e & 31
				n -= uint(e & 31)
				if e = lit[bits&litMask]; e&isOther == 0 {
					binary.LittleEndian.PutUint32(window[to:], e>>8)
					to += int(e >> 5 & 3)
					bits >>= e & 31
					n -= uint(e & 31)
					continue
				}
			}
			bits |= binary.LittleEndian.Uint64(src[pos:]) << (n & 63)
			pos += int((63 - n) >> 3)
			n |= 56
		}
		if e&isRare != 0 {
			if e&isEnd == 0 && e>>16 != 0 {
				e = lit[(e>>16+uint32(bits>>litBits)&(1<<(e>>8&15)-1))&(litTable-1)]
			}
			if e&isOther == 0 {
				window[to] = byte(e >> 8)
				to++
				bits >>= e & 31
				n -= uint(e & 31)
				continue
			}
			if e&isRare != 0 {
				if e&isEnd == 0 {
					err = fmt.Errorf("%w: a code that does not exist", errStream)
					break
				}
				bits >>= e & 31
				n -= uint(e & 31)
				f.state = beginsBlock
				break
			}
		}
		length := int(e>>16) + int(bits&(1<<(e&31)-1)>>(e>>8&15))
		bits >>= e & 31
		n -= uint(e & 31)
		e = dist[bits&distMask]
		if e&isRare != 0 {
			if e>>16 != 0 {
				e = dist[(e>>16+uint32(bits>>distBits)&(1<<(e>>8&15)-1))&(distTable-1)]
			}
			if e&isRare != 0 {
				err = fmt.Errorf("%w: a distance that does not exist", errStream)
				break
			}
		}
		distance := int(e>>16) + int(bits&(1<<(e&31)-1)>>(e>>8&15))
		bits >>= e & 31
		n -= uint(e & 31)
		if distance > to {
			err = fmt.Errorf("%w: a distance of %d behind %d bytes", errStream, distance, to)
			break
		}
		if distance >= 16 {
			for at, end := to, to+length; at < end; at += 16 {
				*(*[16]byte)(window[at:]) = *(*[16]byte)(window[at-distance:])
			}
		} else {
			repeat(window, to, distance, length)
		}
		to += length
	}
	f.pos, f.bits, f.n, f.to = pos, bits, n, to
	return err
}

// strides are the most bytes of 8 in which a pattern of the index's length comes out even.
var strides = [8]int{1: 8, 2: 8, 3: 6, 4: 8, 5: 5, 6: 6, 7: 7}

// repeat copies so many bytes, and up to 7 more, from a distance below 16.
func repeat(window []byte, to, distance, length int) {
	end := to + length
	if distance >= 8 {
		for ; to < end; to += 8 {
			binary.LittleEndian.PutUint64(window[to:], binary.LittleEndian.Uint64(window[to-distance:]))
		}
		return
	}
	// The bytes are a pattern that repeats.
	bits := 8 * uint(distance)
	pattern := binary.LittleEndian.Uint64(window[to-distance:]) & (1<<bits - 1)
	pattern |= pattern << bits
	pattern |= pattern << (2 * bits)
	pattern |= pattern << (4 * bits)
	for stride := strides[distance&7]; to < end; to += stride {
		binary.LittleEndian.PutUint64(window[to:], pattern)
	}
}
