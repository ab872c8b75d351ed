package jpeg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The plain form of the decoding of AC coefficients in progressive scans, coefficient by
// coefficient and bit by bit, as T.81 annex G describes it.

func (r *bitReader) plainSymbol(t *symbolTable) (run, size int) {
	r.load()
	symbol, length := t.symbol(uint32(r.bits >> 48))
	r.drop(length)
	return int(symbol >> 4), int(symbol & 15)
}

func (d *Decoder) plainFirstAC(b *block, t *symbolTable) {
	s, r := &d.scan, &d.reader
	if s.eobRun > 0 {
		s.eobRun--
		return
	}
	for k := s.ss; k <= s.se; k++ {
		run, size := r.plainSymbol(t)
		if size == 0 {
			if run < 15 {
				s.eobRun = r.runLength(run) - 1
				return
			}
			k += 15
			continue
		}
		k += run
		value := r.receive(uint(size)) << s.al
		r.bad = r.bad || k > s.se
		b[zigzag[k+1]] = int16(value)
	}
}

func (d *Decoder) plainRefineAC(b *block, t *symbolTable) {
	s, r := &d.scan, &d.reader
	bit := int16(1) << s.al
	k := s.ss
	for s.eobRun == 0 && k <= s.se {
		run, size := r.plainSymbol(t)
		if size == 0 && run < 15 {
			s.eobRun = r.runLength(run)
			break
		}
		var value int16
		if size != 0 {
			value = -bit
			if r.bit() {
				value = bit
			}
		}
		k = r.plainRefineNonzero(b, k, s.se, run, bit)
		r.bad = r.bad || value != 0 && k > s.se
		if value != 0 {
			b[zigzag[k+1]] = value
		}
		k++
	}
	if s.eobRun > 0 {
		r.plainRefineNonzero(b, k, s.se, blockSize, bit)
		s.eobRun--
	}
}

func (r *bitReader) plainRefineNonzero(b *block, k, end, zeros int, bit int16) int {
	for ; k <= end; k++ {
		c := &b[zigzag[k+1]]
		switch {
		case *c == 0:
			if zeros == 0 {
				return k
			}
			zeros--
		case !r.bit() || *c&bit != 0:
		case *c > 0:
			*c += bit
		default:
			*c -= bit
		}
	}
	return k
}

// nonzeroOf returns which AC coefficients of a block are not zero.
func nonzeroOf(b *block) (nonzero uint64) {
	for k := 1; k < blockSize; k++ {
		if b[zigzag[k+1]] != 0 {
			nonzero |= 1 << k
		}
	}
	return nonzero
}

// symbols returns a table with random symbols, or with those of ordinary files.
func symbols(t *testing.T, r *rand.Rand) *symbolTable {
	table := new(symbolTable)
	raw := make([]byte, 16)
	left := 1 << 16
	for l := range raw { // codes of each length, as many as there is room for
		most := left >> (15 - l)
		raw[l] = byte(r.IntN(min(most, 12) + 1))
		left -= int(raw[l]) << (15 - l)
	}
	n := 0
	for _, c := range raw {
		n += int(c)
	}
	for range n {
		symbol := byte(r.Uint32())
		if r.IntN(2) == 0 {
			symbol = byte(r.IntN(4)<<4 | r.IntN(2))
		}
		raw = append(raw, symbol)
	}
	require.Empty(t, table.define(raw, 255))
	table.build()
	return table
}

// TestACOfProgressiveScans compares blocks of random scans over random coefficients, bits
// and tables, most of which no encoder would write, with the plain form.
func TestACOfProgressiveScans(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	var d, plain Decoder
	for range 400 {
		data := make([]byte, 4<<10)
		for i := range data {
			data[i] = byte(r.Uint32()) & byte(r.Uint32()|r.Uint32()) & 0xFE // no markers
		}
		table := symbols(t, r)
		var b block
		for k := 1; k < blockSize; k++ {
			if r.IntN(4) == 0 {
				b[zigzag[k+1]] = int16(r.Uint32()) >> r.IntN(16)
			}
		}
		ss := 1 + r.IntN(blockSize-1)
		scan := scan{ss: ss, se: ss + r.IntN(blockSize-ss), al: r.IntN(14), ah: r.IntN(2), eobRun: r.IntN(3) * r.IntN(2)}
		d.scan, plain.scan = scan, scan
		d.reader.start(data, 0)
		plain.reader.start(data, 0)
		want, nonzero := b, nonzeroOf(&b)
		for range 8 {
			if !d.reader.ensure() || !plain.reader.ensure() {
				break
			}
			if scan.ah == 0 {
				nonzero = d.firstAC(&b, nonzero, table)
				plain.plainFirstAC(&want, table)
			} else {
				nonzero = d.refineAC(&b, nonzero, table)
				plain.plainRefineAC(&want, table)
			}
			require.Equal(t, want, b, "%+v", scan)
			require.Equal(t, nonzeroOf(&b), nonzero)
			require.Equal(t, plain.scan.eobRun, d.scan.eobRun)
			require.Equal(t, plain.reader.bad, d.reader.bad)
			require.Equal(t, 8*plain.reader.pos-int(plain.reader.n), 8*d.reader.pos-int(d.reader.n), "bits read")
		}
	}
}
