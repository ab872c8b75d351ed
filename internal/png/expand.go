package png

import (
	"encoding/binary"
	"fmt"
)

// How the kernel ended.
const (
	ranOut      = iota // of room or of input
	blockEnded         // by its end code
	badCode            // that does not exist
	badDistance        // likewise, or one before the first byte
)

// expand makes bytes of a block with codes until the block, the window or the stream
// ends.
func (f *inflater) expand() error {
	if f.pos+aheadBytes > len(f.src) {
		f.toTail()
	}
	switch f.kernel() {
	case blockEnded:
		f.state = beginsBlock
	case badCode:
		return fmt.Errorf("%w: a code that does not exist", errStream)
	case badDistance:
		return fmt.Errorf("%w: a distance that does not exist", errStream)
	}
	return nil
}

// kernelGeneric makes bytes while there is room for slackBytes and so much input that it
// can be refilled twice. Each round looks up as many codes as 56 bits hold for sure: three
// entries with literals, or literals and, with new bits, a length and its distance.
func (f *inflater) kernelGeneric() (why int) {
	const (
		litMask  = 1<<litBits - 1
		distMask = 1<<distBits - 1
	)
	src, pos, bits, n := f.src, f.pos, f.bits, f.n
	window, to := f.window[:], f.to
	lit, dist := &f.codes.lit, &f.codes.dist
	for pos+aheadBytes <= len(src) && to < windowBytes-slackBytes {
		bits |= binary.LittleEndian.Uint64(src[pos:]) << (n & 63)
		pos += int((63 - n) >> 3)
		n |= 56
		e := lit[bits&litMask]
		if e&literals != 0 {
			binary.LittleEndian.PutUint32(window[to:], e>>8)
			to += int(e >> 6 & 3)
			bits >>= e & bitsMask
			n -= uint(e & bitsMask)
			if e = lit[bits&litMask]; e&literals != 0 {
				binary.LittleEndian.PutUint32(window[to:], e>>8)
				to += int(e >> 6 & 3)
				bits >>= e & bitsMask
				n -= uint(e & bitsMask)
				if e = lit[bits&litMask]; e&literals != 0 {
					binary.LittleEndian.PutUint32(window[to:], e>>8)
					to += int(e >> 6 & 3)
					bits >>= e & bitsMask
					n -= uint(e & bitsMask)
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
			if e&literals != 0 {
				window[to] = byte(e >> 8)
				to++
				bits >>= e & bitsMask
				n -= uint(e & bitsMask)
				continue
			}
			if e&isRare != 0 {
				why = badCode
				if e&isEnd != 0 {
					bits >>= e & bitsMask
					n -= uint(e & bitsMask)
					why = blockEnded
				}
				break
			}
		}
		length := int(e>>16) + int(bits&(1<<(e&bitsMask)-1)>>(e>>8&15))
		bits >>= e & bitsMask
		n -= uint(e & bitsMask)
		e = dist[bits&distMask]
		if e&isRare != 0 {
			if e>>16 != 0 {
				e = dist[(e>>16+uint32(bits>>distBits)&(1<<(e>>8&15)-1))&(distTable-1)]
			}
			if e&isRare != 0 {
				why = badDistance
				break
			}
		}
		distance := int(e>>16) + int(bits&(1<<(e&bitsMask)-1)>>(e>>8&15))
		bits >>= e & bitsMask
		n -= uint(e & bitsMask)
		if distance > to {
			why = badDistance
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
	return why
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
