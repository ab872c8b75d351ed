package jpeg

import "encoding/binary"

// decodeDC reads a DC difference.
func (r *bitReader) decodeDC(t *dcTable) int32 {
	r.load()
	bits := r.bits
	e := t.fast[bits>>(64-dcBits)]
	if e == 0 {
		size, length := t.symbol(uint32(bits >> 48))
		r.drop(length)
		return r.receive(uint(size))
	}
	r.bits = bits << (e & 63)
	r.n -= uint(e & 63)
	return int32(signed(bits<<(e>>8&63), 63-uint(e>>16)))
}

// signed returns the number that bits begin with, 63 less the given number of bits long: as
// extend does, without a branch.
func signed(bits uint64, less uint) int64 {
	negative := ^int64(bits) >> 63
	return int64((bits^uint64(negative))>>1>>(less&63)) ^ negative - negative
}

// drop takes the code of the given length; a length past the longest says that
// there was none.
func (r *bitReader) drop(length uint) {
	r.bad = r.bad || length > maxCodeLength
	r.bits <<= length & 63
	r.n -= length
}

// receive returns the value in the next size bits, up to 15.
func (r *bitReader) receive(size uint) int32 {
	v := extend(int32(r.bits>>1>>((63-size)&63)), size)
	r.bits <<= size & 63
	r.n -= size
	return v
}

// decodeBlockGeneric reads the coefficients of a block into b, which is zero before.
// If dst is not nil it writes the 8×8 samples there and clears b.
func decodeBlockGeneric(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) {
	if readBlock(r, c, b, dst) {
		idctGeneric(dst, c.stride, (*block)(b[:blockSize]), c.quant)
	}
}

// readBlock reads the coefficients of a block into b and reports whether they are still to
// be transformed to dst: without AC coefficients they are done.
func readBlock(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) bool {
	c.pred += r.decodeDC(c.dc)
	b[0] = int16(c.pred)
	anyAC := decodeAC(r, c.ac, b)
	if anyAC || dst == nil {
		return dst != nil
	}
	idctFlat(dst, c.stride, 8, b[0]*c.quant[0])
	b[0] = 0
	return false
}

// loadLookups is how many lookups one load has the bits of.
const loadLookups = 56 / maxLookup

// decodeAC reads the AC coefficients of a block and reports whether there are any.
func decodeAC(r *bitReader, ac *acTable, b *scratchBlock) bool {
	bits, n, pos := r.bits, r.n, r.pos
	k := uint8(1)
	fast, _ := &ac.fast, *b // nil pointers show here, not in the loop
load:
	for {
		bits |= binary.BigEndian.Uint64(r.window[pos:pos+8]) >> (n & 63)
		pos += int(63-n) >> 3
		n |= 56
		for range loadLookups {
			e := fast[bits>>(64-acBits)]
			first := k + e.advance1()
			b[zigzag[first]] = e.value1()
			k = first + e.advance2()
			b[zigzag[k]] = e.value2(bits)
			switch {
			case k < blockSize:
				bits <<= e.length() & 63
				n -= e.length()
				continue
			case first >= advanceEscape:
				r.bits, r.n, r.pos = bits, n, pos
				var value int16
				k, value = r.decodeLong(ac, k-advanceEscape)
				b[zigzag[k]] = value
				bits, n, pos = r.bits, r.n, r.pos
				if k < blockSize {
					continue load
				}
			case first >= blockSize && first != k:
				// The first coefficient was the block's last, so there is no second.
				k = first
				b[zigzag[k]] = e.value1()
				bits <<= e.length1() & 63
				n -= e.length1()
			default:
				bits <<= e.length() & 63
				n -= e.length()
			}
			break load
		}
	}
	r.bits, r.n, r.pos = bits, n, pos
	r.bad = r.bad || k > blockSize && k < advanceEnd
	return k != advanceEnd+1
}

// decodeLong reads a coefficient that the table does not hold, and returns its value
// and the counter after it.
func (r *bitReader) decodeLong(t *acTable, k uint8) (uint8, int16) {
	r.load()
	symbol, length := t.symbol(uint32(r.bits >> 48))
	r.drop(length)
	run, size := symbol>>4, uint(symbol&15)
	switch {
	case size != 0:
		return k + run + 1, int16(r.receive(size))
	case run == 15:
		return k + 16, 0
	}
	return k + advanceEnd, 0
}

// skipMCUGeneric reads past the blocks of an MCU, given their components.
func skipMCUGeneric(r *bitReader, comps []*scanComponent) {
	for _, c := range comps {
		c.pred += r.decodeDC(c.dc)
		skipAC(r, c.ac)
	}
}

// skipAC reads past the AC coefficients of a block.
func skipAC(r *bitReader, ac *acTable) {
	bits, n, pos := r.bits, r.n, r.pos
	k := uint8(1)
	fast := &ac.fast
load:
	for {
		bits |= binary.BigEndian.Uint64(r.window[pos:pos+8]) >> (n & 63)
		pos += int(63-n) >> 3
		n |= 56
		for range loadLookups {
			e := fast[bits>>(64-acBits)]
			first := k + e.advance1()
			k = first + e.advance2()
			switch {
			case k < blockSize:
				bits <<= e.length() & 63
				n -= e.length()
				continue
			case first >= advanceEscape:
				r.bits, r.n, r.pos = bits, n, pos
				k, _ = r.decodeLong(ac, k-advanceEscape)
				bits, n, pos = r.bits, r.n, r.pos
				if k < blockSize {
					continue load
				}
			case first >= blockSize && first != k:
				k = first
				bits <<= e.length1() & 63
				n -= e.length1()
			default:
				bits <<= e.length() & 63
				n -= e.length()
			}
			break load
		}
	}
	r.bits, r.n, r.pos = bits, n, pos
	r.bad = r.bad || k > blockSize && k < advanceEnd
}
