package parquet

import (
	"encoding/binary"
	"errors"
	"io"
)

var errLevels = errors.New("runs of numbers are damaged")

// decodeRuns decodes n numbers of so many bits, up to 32, from the hybrid of run lengths
// and packed bits (apache/parquet-format, Encodings.md, RLE), and calls put for each. It
// takes no more memory than put does, whatever the bytes claim.
func decodeRuns(src []byte, bits uint, n int, put func(i int, v uint32)) error {
	if bits > 32 {
		return errLevels
	}
	width := int(bits+7) / 8
	for i := 0; i < n; {
		header, used := binary.Uvarint(src)
		if used <= 0 {
			return io.ErrUnexpectedEOF
		}
		src = src[used:]
		count := header >> 1
		if header&1 == 0 { // a run of one number
			if len(src) < width || count == 0 {
				return io.ErrUnexpectedEOF
			}
			var word [4]byte
			copy(word[:], src[:width])
			src = src[width:]
			v := binary.LittleEndian.Uint32(word[:])
			for range min(count, uint64(n-i)) {
				put(i, v)
				i++
			}
			continue
		}
		if count == 0 || count > uint64(n-i+7)/8 && count*uint64(bits) > uint64(len(src)) {
			return io.ErrUnexpectedEOF
		}
		packed := src
		if size := count * uint64(bits); size <= uint64(len(src)) {
			packed, src = src[:size], src[size:]
		} else {
			src = nil // the last group may be cut off behind its numbers
		}
		var buffer uint64
		have := uint(0)
		for range min(count*8, uint64(n-i)) {
			for have < bits {
				if len(packed) == 0 {
					return io.ErrUnexpectedEOF
				}
				buffer |= uint64(packed[0]) << have
				packed, have = packed[1:], have+8
			}
			put(i, uint32(buffer&(1<<bits-1)))
			buffer >>= bits
			have -= bits
			i++
		}
	}
	return nil
}

// bitsFor returns how many bits hold a level of at most max.
func bitsFor(max int) uint {
	bits := uint(0)
	for ; max > 0; max >>= 1 {
		bits++
	}
	return bits
}

// decodeLevels appends n levels of at most max to dst.
func decodeLevels(dst, src []byte, max, n int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, n)...)
	levels, wrong := dst[start:], false
	err := decodeRuns(src, bitsFor(max), n, func(i int, v uint32) {
		wrong = wrong || v > uint32(max)
		levels[i] = byte(v)
	})
	if err == nil && wrong {
		err = errLevels
	}
	return dst, err
}
