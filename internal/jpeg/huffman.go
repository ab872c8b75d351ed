package jpeg

import "bytes"

const (
	maxCodeLength = 16
	acBits        = 11 // bits that an AC lookup sees
	dcBits        = 9  // bits that a DC lookup sees
)

// canon is a Huffman code in the canonical form of T.81 annex C, for codes that a
// lookup does not hold and for what is decoded rarely.
type canon struct {
	limit  [maxCodeLength + 2]uint32 // limit[l]: first 16-bit prefix that is no code of l bits or fewer; the last entry ends the search
	offset [maxCodeLength + 1]int32  // symbol index of a code of l bits, less the code
	vals   [256]uint8
	raw    [16 + 256]byte // definition, to recognise it
	n      int            // its length
}

// symbol returns the symbol that the 16 bits of prefix begin with and its length.
// Prefixes that are no code yield length 17 and symbol 0, as libjpeg reads them.
func (c *canon) symbol(prefix uint32) (sym uint8, length uint) {
	l := uint(1)
	for prefix >= c.limit[l] {
		l++
	}
	if l > maxCodeLength {
		return 0, l
	}
	return c.vals[uint8(int32(prefix>>(maxCodeLength-l))+c.offset[l])], l
}

// define takes the 16 counts and the symbols of a table segment. It returns what is
// wrong with them, if anything.
func (c *canon) define(raw []byte, maxSymbol uint8) string {
	c.n = 0
	counts, vals := raw[:16], raw[16:]
	code, k := uint32(0), int32(0)
	for l := 1; l <= maxCodeLength; l++ {
		c.offset[l] = k - int32(code)
		code += uint32(counts[l-1])
		k += int32(counts[l-1])
		if code > 1<<l {
			return "a Huffman table has more codes than their lengths allow"
		}
		c.limit[l] = code << (maxCodeLength - l)
		code <<= 1
	}
	c.limit[maxCodeLength+1] = 1 << 31
	for _, v := range vals {
		if v > maxSymbol {
			return "a Huffman table for DC holds a size above 15"
		}
	}
	copy(c.vals[:], vals)
	c.n = copy(c.raw[:], raw)
	return ""
}

func (c *canon) is(raw []byte) bool { return c.n > 0 && bytes.Equal(c.raw[:c.n], raw) }

// codes calls f with every code of at most maxLength bits, shortest first.
func (c *canon) codes(maxLength uint, f func(code uint32, length uint, symbol uint8)) {
	code, k := uint32(0), 0
	for l := uint(1); l <= maxLength; l++ {
		for range c.raw[l-1] {
			f(code, l, c.vals[k])
			code++
			k++
		}
		code <<= 1
	}
}

// extend returns the value that size bits stand for (T.81 figure F.12).
func extend(bits int32, size uint) int32 {
	if size > 0 && bits < 1<<(size-1) {
		bits += 1 - 1<<size
	}
	return bits
}

// A dcTable decodes DC differences. An entry holds, from the lowest byte, the length of
// code and difference, that of the code and that of the difference, or is 0 where
// the code is longer than dcBits.
type dcTable struct {
	fast [1 << dcBits]uint32
	canon
}

func (t *dcTable) build() {
	clear(t.fast[:])
	t.codes(dcBits, func(code uint32, length uint, size uint8) {
		first := code << (dcBits - length)
		for i := range t.fast[first : first+1<<(dcBits-length)] {
			t.fast[int(first)+i] = uint32(length) + uint32(size) | uint32(length)<<8 | uint32(size)<<16
		}
	})
}

// An acEntry is what one AC lookup yields: up to two coefficients, or one and the
// end of the block. From the lowest bit:
//
//	length of both (8), advance of the counter by the first (8), its value (16),
//	length of the first (8), advance of the counter by the second (8), its value (16)
//
// so that a shift by the length needs no extraction. An entry for one coefficient
// repeats its value with advance 0 as the second. An escape has the advance
// advanceEscape; if the code itself fits, its length and symbol stand in for length
// and value, else both are 0.
type acEntry uint64

func makeACEntry(value int16, advance, length uint) acEntry {
	return acEntry(length) | acEntry(advance)<<8 | acEntry(uint16(value))<<16 |
		acEntry(length)<<32 | acEntry(uint16(value))<<48
}

// then returns an entry for the coefficient of e and that of next behind it.
func (e acEntry) then(next acEntry) acEntry {
	const first = 0x000000FF_FFFFFF00
	return e&first | acEntry(e.length1()+next.length1()) |
		acEntry(next.advance1())<<40 | acEntry(uint16(next.value1()))<<48
}

func (e acEntry) length() uint    { return uint(uint8(e)) }
func (e acEntry) advance1() uint8 { return uint8(e >> 8) }
func (e acEntry) value1() int16   { return int16(e >> 16) }
func (e acEntry) length1() uint   { return uint(uint8(e >> 32)) }
func (e acEntry) advance2() uint8 { return uint8(e >> 40) }
func (e acEntry) value2() int16   { return int16(e >> 48) }

// An acTable decodes AC coefficients.
type acTable struct {
	fast [1 << acBits]acEntry
	canon
}

func (t *acTable) build() {
	t.fill(0, 1<<acBits, makeACEntry(0, advanceEscape, 0))
	t.codes(acBits, func(code uint32, length uint, symbol uint8) {
		run, size := uint(symbol>>4), uint(symbol&15)
		total := length + size
		first := code << (acBits - length)
		switch {
		case size == 0:
			advance := uint(advanceEnd)
			if run == 15 {
				advance = 16
			}
			t.fill(first, 1<<(acBits-length), makeACEntry(0, advance, length))
		case total > acBits:
			t.fill(first, 1<<(acBits-length), makeACEntry(int16(symbol), advanceEscape, length))
		default:
			for v := range int32(1) << size {
				t.fill(first, 1<<(acBits-total), makeACEntry(int16(extend(v, size)), run+1, total))
				first += 1 << (acBits - total)
			}
		}
	})
	t.pair()
}

func (t *acTable) fill(first, n uint32, e acEntry) {
	for i := range t.fast[first : first+n] {
		t.fast[int(first)+i] = e
	}
}

// pair adds to each entry the coefficient or end of block that follows within the
// bits that the lookup sees. It reads only first halves, so the order is free.
func (t *acTable) pair() {
	for i, e := range t.fast {
		if e.advance1() >= advanceEnd {
			continue
		}
		next := t.fast[i<<e.length1()&(1<<acBits-1)]
		if next.advance1() != advanceEscape && e.length1()+next.length1() <= acBits {
			t.fast[i] = e.then(next)
		}
	}
}

// tableCache keeps the tables used last, most recent first: encoders other than the
// optimising ones write the same few in every file.
type tableCache[T any, P interface {
	*T
	is([]byte) bool
	define([]byte, uint8) string
	build()
}] [8]P

// get returns the table defined by raw, built if it is not there, and what is wrong
// with it, if anything. A table stays valid until seven others have been got.
func (c *tableCache[T, P]) get(raw []byte, maxSymbol uint8) (P, string) {
	i := 0
	for i < len(c)-1 && c[i] != nil && !c[i].is(raw) {
		i++
	}
	t := c[i]
	if t == nil {
		t = new(T)
	}
	copy(c[1:i+1], c[:i])
	c[0] = t
	if t.is(raw) {
		return t, ""
	}
	if what := t.define(raw, maxSymbol); what != "" {
		return nil, what
	}
	t.build()
	return t, ""
}
