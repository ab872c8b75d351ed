package jpeg

import "bytes"

const (
	maxCodeLength = 16
	acBits        = 10 // bits that an AC lookup sees
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

// maxLookup is how many bits one AC lookup takes at most: three do with the bits of one
// load, and hardly a coefficient is longer.
const maxLookup = 18

// An acEntry is what one AC lookup yields: a coefficient or the end of the block, of
// which it needs to see the code alone, or a coefficient that it sees whole and one of
// these behind it. From the lowest bit, a byte each but for the value, which has two:
//
//	length of both, advance of the counter by the first, its value,
//	its length, advance by the second, place of its value's bits, 63 less their number
//
// so that shifts need no extraction. In an entry for one, the first advances and the
// second, with advance 0, has the value. An escape, for what the table does not hold,
// has the advance advanceEscape and takes no bits.
type acEntry uint64

func makeACEntry(advance, code, size uint) acEntry {
	return acEntry(code+size)*(1|1<<32) | acEntry(advance)<<8 | acEntry(code)<<48 | acEntry(63-size)<<56
}

// behind returns an entry for the coefficient of first, which has the given value, and
// that of e.
func (e acEntry) behind(first acEntry, value int16) acEntry {
	const tail = 0xFFFF0000_000000FF
	return e&tail + acEntry(first.length())*(1|1<<32|1<<48) |
		first&0xFF00 | acEntry(uint16(value))<<16 | e&0xFF00<<32
}

func (e acEntry) length() uint    { return uint(uint8(e)) }
func (e acEntry) advance1() uint8 { return uint8(e >> 8) }
func (e acEntry) value1() int16   { return int16(e >> 16) }
func (e acEntry) length1() uint   { return uint(uint8(e >> 32)) }
func (e acEntry) advance2() uint8 { return uint8(e >> 40) }
func (e acEntry) code() uint      { return uint(uint8(e >> 48)) }

// value2 returns the second value, given the bits that were looked up.
func (e acEntry) value2(bits uint64) int16 {
	return int16(signed(bits<<(e>>48&63), uint(e>>56)))
}

// An acTable decodes AC coefficients.
type acTable struct {
	fast [1 << acBits]acEntry
	canon
}

func (t *acTable) build() {
	var single [1 << acBits]acEntry // of the first alone
	for i := range single {
		single[i] = makeACEntry(advanceEscape, 0, 0)
	}
	t.codes(acBits, func(code uint32, length uint, symbol uint8) {
		advance, size := uint(symbol>>4)+1, uint(symbol&15)
		switch {
		case length+size > maxLookup:
			return
		case size == 0 && advance != 16:
			advance = advanceEnd
		}
		e := makeACEntry(advance, length, size)
		first := code << (acBits - length)
		for i := range single[first : first+1<<(acBits-length)] {
			single[int(first)+i] = e
		}
	})
	for i, e := range single {
		if length := e.length(); e.advance1() < advanceEnd && length < acBits {
			next := single[i<<length&(1<<acBits-1)]
			if next.advance1() != advanceEscape && length+next.code() <= acBits && length+next.length() <= maxLookup {
				e = next.behind(e, e.value2(uint64(i)<<(64-acBits)))
			}
		}
		t.fast[i] = e
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
