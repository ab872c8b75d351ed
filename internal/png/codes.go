package png

import (
	"fmt"
	"math/bits"
)

// Numbers of RFC 1951, section 3.2.
const (
	maxBits   = 15  // of a code
	litCodes  = 288 // literals, the end of a block and lengths; the last two do not exist
	distCodes = 32  // likewise
	lenCodes  = 19  // of lengths of codes
	endCode   = 256
)

// A code is looked up by the next bits of the stream, as many as its table is indexed by;
// longer codes refer to a second table behind the first. All entries of tables have the
// number of bits that they stand for in bits 0 to 5. Then there are:
//
//   - Literals: how many in bits 6 and 7, and these from bit 8 on. Up to three share an
//     entry if their codes are short.
//   - Lengths and distances: the bits of the code itself in bits 8 to 11; the smallest
//     length or distance from bit 16 on, to which what follows the code is added.
//   - Rare ones: isRare, and isEnd for the end of a block. A second table has the number of
//     its further bits in bits 8 to 11 and its place from bit 16 on. Without a place, there
//     is no such code.
const (
	bitsMask   = 1<<6 - 1
	literals   = 3 << 6
	oneLiteral = 1 << 6
	isRare     = 1 << 12
	isEnd      = 1 << 13

	litBits   = 11
	distBits  = 9
	litTable  = 4096 // more than the most that there can be, 2342
	distTable = 1024 // 594
)

// codes are the codes of a block.
type codes struct {
	lit     [litTable]uint32
	dist    [distTable]uint32
	isFixed bool
}

// What codes stand for, as entries for codes without bits.
var (
	litEntries  = makeLitEntries()
	distEntries = makeDistEntries()
	lenEntries  = makeLenEntries()
	fixedLens   = makeFixedLens()
)

func makeLitEntries() (e [litCodes]uint32) {
	for i := range endCode {
		e[i] = uint32(i)<<8 | oneLiteral
	}
	e[endCode] = isRare | isEnd
	length := uint32(3)
	for i := range 28 {
		extra := uint32(max(0, i/4-1))
		e[endCode+1+i] = length<<16 | extra
		length += 1 << extra
	}
	e[285] = 258 << 16
	e[286], e[287] = isRare, isRare
	return e
}

func makeDistEntries() (e [distCodes]uint32) {
	distance := uint32(1)
	for i := range 30 {
		extra := uint32(max(0, i/2-1))
		e[i] = distance<<16 | extra
		distance += 1 << extra
	}
	e[30], e[31] = isRare, isRare
	return e
}

func makeLenEntries() (e [lenCodes]uint32) {
	for i := range e {
		e[i] = uint32(i) << 16
	}
	return e
}

func makeFixedLens() (l [litCodes + distCodes]uint8) {
	for i := range litCodes {
		switch {
		case i < 144 || i >= 280:
			l[i] = 8
		case i < 256:
			l[i] = 9
		default:
			l[i] = 7
		}
	}
	for i := range distCodes {
		l[litCodes+i] = 5
	}
	return l
}

// fixed sets the codes of blocks that do not describe any.
func (c *codes) fixed() {
	if !c.isFixed {
		c.set(fixedLens[:litCodes], fixedLens[litCodes:])
		c.isFixed = true
	}
}

// set makes the tables of codes of the given lengths. It is false if there are no such
// codes.
func (c *codes) set(lit, dist []uint8) bool {
	c.isFixed = false
	if !build(c.lit[:], litBits, lit, litEntries[:]) || !build(c.dist[:], distBits, dist, distEntries[:]) {
		return false
	}
	c.join()
	return true
}

// join puts literals that follow one another into one entry. Those of fewer bits are at
// lower places, so what is read was not changed yet.
func (c *codes) join() {
	t := c.lit[:1<<litBits]
	shortest := uint32(litBits)
	for _, e := range t {
		if e&literals != 0 {
			shortest = min(shortest, e&bitsMask)
		}
	}
	if 2*shortest > litBits {
		return
	}
	for i := len(t) - 1; i >= 0; i-- {
		e := t[i]
		bits := e & bitsMask
		if e&literals == 0 || bits+shortest > litBits {
			continue
		}
		second := t[i>>bits]
		bits += second & bitsMask
		if second&literals == 0 || bits > litBits {
			continue
		}
		e = e&0xff00 | second&0xff00<<8 | 2*oneLiteral | bits
		if third := t[i>>bits]; third&literals != 0 && bits+third&bitsMask <= litBits {
			e = e&^0xff | third&0xff00<<16 | 3*oneLiteral | (bits + third&bitsMask)
		}
		t[i] = e
	}
}

// lenOrder is the order in which a block describes the lengths of codes of lengths.
var lenOrder = [lenCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// read reads the codes that a block describes.
func (c *codes) read(r *reader) error {
	const lenBits = 7
	r.refill()
	nlit, ndist, nlen := 257+int(r.take(5)), 1+int(r.take(5)), 4+int(r.take(4))
	if nlit > litCodes-2 || ndist > distCodes-2 {
		return fmt.Errorf("%w: a block with %d and %d codes", errStream, nlit, ndist)
	}
	var lens [litCodes + distCodes]uint8
	for _, i := range lenOrder[:nlen] {
		r.refill()
		lens[i] = uint8(r.take(3))
	}
	var table [1 << lenBits]uint32
	if !build(table[:], lenBits, lens[:lenCodes], lenEntries[:]) {
		return fmt.Errorf("%w: no code for the lengths of codes", errStream)
	}
	clear(lens[:lenCodes])
	for i := 0; i < nlit+ndist; {
		r.refill()
		e := table[r.bits&(1<<lenBits-1)]
		if e&isRare != 0 {
			return fmt.Errorf("%w: no length of a code", errStream)
		}
		r.take(uint(e & bitsMask))
		length, times := uint8(e>>16), 1
		switch length {
		case 16:
			if i == 0 {
				return fmt.Errorf("%w: a length that repeats nothing", errStream)
			}
			length, times = lens[i-1], 3+int(r.take(2))
		case 17:
			length, times = 0, 3+int(r.take(3))
		case 18:
			length, times = 0, 11+int(r.take(7))
		}
		if i+times > nlit+ndist {
			return fmt.Errorf("%w: too many lengths of codes", errStream)
		}
		for range times {
			lens[i] = length
			i++
		}
	}
	if !c.set(lens[:nlit], lens[nlit:nlit+ndist]) {
		return fmt.Errorf("%w: lengths of codes that no code has", errStream)
	}
	return nil
}

// build makes the table, indexed by so many bits, of the canonical code whose lengths are
// given, for what entries says. It is false if there is no such code. As in compress/flate,
// a single code of one bit and no code at all are ones.
func build(table []uint32, tableBits int, lens []uint8, entries []uint32) bool {
	var count [maxBits + 1]int
	for _, n := range lens {
		count[n]++
	}
	var at [maxBits + 2]int // where the codes of each length begin, in the order of codes
	space := 1 << maxBits
	for n := 1; n <= maxBits; n++ {
		at[n+1] = at[n] + count[n]
		space -= count[n] << (maxBits - n)
	}
	all := at[maxBits+1]
	if single := all == 1 && count[1] == 1; space < 0 || space > 0 && all > 0 && !single {
		return false
	}
	var sorted [litCodes]uint16
	for i, n := range lens {
		if n > 0 {
			sorted[at[n]] = uint16(i)
			at[n]++
		}
	}
	fill(table, tableBits, entries, &count, sorted[:all])
	return true
}

// fill writes the entries of codes, whose symbols come in the order of the codes. A code
// of n bits stands at its place among 2ⁿ entries, which are doubled for codes that are
// longer by a bit: what is wrong then is overwritten by these.
func fill(table []uint32, tableBits int, entries []uint32, count *[maxBits + 1]int, symbols []uint16) {
	if len(symbols) < 2 { // the entry of the other bit, or of both
		table[0], table[1] = isRare, isRare
	}
	code, place := 0, 1<<tableBits // of the next second table
	prefix, second, sub := -1, 0, 0
	for n := 1; n <= maxBits; n++ {
		for ; count[n] > 0; count[n]-- {
			e := entries[symbols[0]]
			if e += uint32(n); e&literals == 0 {
				e += uint32(n) << 8
			}
			symbols = symbols[1:]
			if n <= tableBits {
				table[code] = e
			} else {
				if p := code & (1<<tableBits - 1); p != prefix {
					prefix, second, sub = p, place, secondBits(count, n, n-tableBits)
					place += 1 << sub
					table[p] = uint32(second)<<16 | uint32(sub)<<8 | isRare
				}
				for i := code >> tableBits; i < 1<<sub; i += 1 << (n - tableBits) {
					table[second+i] = e
				}
			}
			code = nextCode(code, n)
		}
		if n < tableBits {
			copy(table[1<<n:2<<n], table[:1<<n])
		}
	}
}

// secondBits returns by how many bits a second table is indexed that begins with a code
// of n bits, bits of which are its own.
func secondBits(count *[maxBits + 1]int, n, bits int) int {
	for used := count[n]; used < 1<<bits; {
		bits++
		n++
		used = 2*used + count[n]
	}
	return bits
}

// nextCode returns the code of n bits behind another one. Codes count up from their first
// bit, which is the least significant here.
func nextCode(code, n int) int {
	zeros := code ^ (1<<n - 1)
	if zeros == 0 {
		return code // the last one
	}
	bit := 1 << (bits.Len(uint(zeros)) - 1)
	return code&(bit-1) | bit
}
