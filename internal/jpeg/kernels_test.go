package jpeg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// randomBlock returns coefficients with their factors. Wild ones overflow.
func randomBlock(r *rand.Rand, wild bool) (b block, q quantTable) {
	n := r.IntN(blockSize + 1)
	for range n {
		i := r.IntN(blockSize)
		b[i] = int16(r.IntN(201) - 100)
		if wild {
			b[i] = int16(r.Uint32())
		}
	}
	for i := range q {
		q[i] = int16(1 + r.IntN(10))
		if wild {
			q[i] = int16(r.Uint32())
		}
	}
	return b, q
}

// TestIDCTAgainstDefinition compares with the inverse DCT of T.81 A.3.3.
func TestIDCTAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	basis := func(x, u int) float64 {
		scale := 0.5
		if u == 0 {
			scale = math.Sqrt(0.125)
		}
		return scale * math.Cos(float64(2*x+1)*float64(u)*math.Pi/16)
	}
	for range 50 {
		b, q := randomBlock(r, false)
		var want [8][8]float64
		for y := range 8 {
			for x := range 8 {
				sum := 128.0
				for v := range 8 {
					for u := range 8 {
						i := slotOf(v, u)
						sum += basis(x, u) * basis(y, v) * float64(b[i]) * float64(q[i])
					}
				}
				want[y][x] = max(0, min(sum, 255))
			}
		}
		dst := make([]uint8, 64)
		idct8x8(dst, 8, &b, &q)
		for i, v := range dst {
			require.InDelta(t, want[i/8][i%8], float64(v), 1)
		}
		require.Equal(t, block{}, b)
	}
}

// TestReducedIDCTsAverage checks that the smaller transforms keep the mean of smooth
// blocks.
func TestReducedIDCTsAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		var b block
		var q quantTable
		for i := range q {
			q[i] = 1
		}
		b[0], b[slotOf(0, 1)], b[slotOf(1, 0)] = int16(r.IntN(800)-400), int16(r.IntN(100)), int16(r.IntN(100))
		full := make([]uint8, 64)
		whole := b
		idct8x8(full, 8, &whole, &q)
		for _, size := range []int{4, 2, 1} {
			small, part := make([]uint8, size*size), b
			idct(small, size, size, &part, &q)
			require.Equal(t, block{}, part)
			n := 8 / size
			for i, v := range small {
				sum := 0
				for y := range n {
					for x := range n {
						sum += int(full[(i/size*n+y)*8+i%size*n+x])
					}
				}
				require.InDelta(t, float64(sum)/float64(n*n), float64(v), 2, "size %d", size)
			}
		}
	}
}

// requireSameBytes compares what a kernel and its twin write, for size bytes and behind them.
func requireSameBytes(t require.TestingT, name string, size int, kernel, twin func(dst []uint8)) {
	got, want := make([]uint8, size+8), make([]uint8, size+8)
	kernel(got[:size])
	twin(want[:size])
	require.Equal(t, want, got, name)
}

func TestRowKernelsAgainstTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := 1; n <= 200; n++ {
		row := func() []uint8 {
			off := r.IntN(32)
			p := make([]uint8, off+n)
			for i := range p {
				p[i] = uint8(r.Uint32())
				if r.IntN(4) == 0 {
					p[i] = uint8(255 * r.IntN(2))
				}
			}
			return p[off:]
		}
		for range 4 {
			a, b, c := row(), row(), row()
			requireSameBytes(t, "yccToRGB", 3*n, func(dst []uint8) { yccToRGB(dst, a, b, c) }, func(dst []uint8) { yccToRGBGeneric(dst, a, b, c) })
			requireSameBytes(t, "upsampleH2", 2*n, func(dst []uint8) { upsampleH2(dst, a) }, func(dst []uint8) { upsampleH2Generic(dst, a) })
			requireSameBytes(t, "upsampleH2V2", 2*n, func(dst []uint8) { upsampleH2V2(dst, a, b) }, func(dst []uint8) { upsampleH2V2Generic(dst, a, b) })
		}
	}
}

// TestEveryChroma converts every pair of Cb and Cr at a low, a middle and a high luma.
func TestEveryChroma(t *testing.T) {
	var y, cb, cr [256]uint8
	for i := range cb {
		cb[i] = uint8(i)
	}
	for v := range 256 {
		for _, l := range []uint8{0, 128, 255} {
			for i := range y {
				y[i], cr[i] = l, uint8(v)
			}
			requireSameBytes(t, "yccToRGB", 3*256, func(dst []uint8) { yccToRGB(dst, y[:], cb[:], cr[:]) }, func(dst []uint8) { yccToRGBGeneric(dst, y[:], cb[:], cr[:]) })
		}
	}
}

func TestTransformsAgainstTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		coefs, q := randomBlock(r, r.IntN(2) == 0)
		for _, transform := range []struct {
			size         int
			kernel, twin func(dst []uint8, stride int, b *block, q *quantTable)
		}{{8, idct8x8, idctGeneric}, {4, idct4x4, idct4x4Generic}, {2, idct2x2, idct2x2Generic}} {
			b, twin := coefs, coefs
			stride := transform.size + r.IntN(9)
			requireSameBytes(t, fmt.Sprintf("idct to %d", transform.size), transform.size*stride,
				func(dst []uint8) { transform.kernel(dst, stride, &b, &q) }, func(dst []uint8) { transform.twin(dst, stride, &twin, &q) })
			require.Equal(t, block{}, b)
			require.Equal(t, block{}, twin)
		}
	})
}

// TestEntropyAgainstTwins decodes random bits with random tables, which meets every
// kind of code and of damage.
func TestEntropyAgainstTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var c [2]scanComponent
		used := [2]map[int]bool{{}, {}}
		for range 1 + r.IntN(16) {
			used[0][r.IntN(16)] = true
		}
		for range 1 + r.IntN(200) {
			used[1][r.IntN(256)] = true
		}
		dc, ac := new(dcTable), new(acTable)
		require.Empty(t, dc.define(randomCode(r, used[0]), 15))
		require.Empty(t, ac.define(randomCode(r, used[1]), 255))
		dc.build()
		ac.build()
		_, q := randomBlock(r, false)

		var readers [2]bitReader
		data := make([]byte, 6000)
		for i := range data {
			data[i] = byte(r.Uint32()) & 0xFE // no markers
		}
		for i := range readers {
			readers[i].start(data, 0)
			c[i] = scanComponent{dc: dc, ac: ac, quant: &q, stride: 16}
		}
		var blocks [2]scratchBlock
		var out [2][128]uint8
		for step := range 12 {
			var dst [2][]uint8
			if r.IntN(3) > 0 {
				dst[0], dst[1] = out[0][:], out[1][:]
			}
			if r.IntN(2) == 0 {
				decodeBlock(&readers[0], &c[0], &blocks[0], dst[0])
				decodeBlockGeneric(&readers[1], &c[1], &blocks[1], dst[1])
			} else {
				skipMCU(&readers[0], []*scanComponent{&c[0], &c[0], &c[0]})
				skipMCUGeneric(&readers[1], []*scanComponent{&c[1], &c[1], &c[1]})
			}
			require.Equal(t, c[1].pred, c[0].pred, "step %d", step)
			require.Equal(t, blocks[1][:blockSize], blocks[0][:blockSize], "step %d", step)
			require.Equal(t, out[1], out[0], "step %d", step)
			require.Equal(t, readers[1].bad, readers[0].bad, "step %d", step)
			require.Equal(t, 8*readers[1].pos-int(readers[1].n), 8*readers[0].pos-int(readers[0].n), "step %d", step)
			for i := range blocks {
				blocks[i], readers[i].bad = scratchBlock{}, false
			}
		}
	})
}

// TestLongestMCUStaysInTheWindow reads, from the read limit on, an MCU with as many blocks,
// coefficients and bits of each as there can be.
func TestLongestMCUStaysInTheWindow(t *testing.T) {
	oneCode := append(make([]byte, 15), 1, 15) // 16 zero bits, for a value of 15 bits
	dc, ac := new(dcTable), new(acTable)
	require.Empty(t, dc.define(oneCode, 15))
	require.Empty(t, ac.define(oneCode, 255))
	dc.build()
	ac.build()
	c := &scanComponent{dc: dc, ac: ac}
	var r bitReader
	for _, read := range []func(){
		func() {
			for range maxMCUBlocks {
				decodeBlock(&r, c, new(scratchBlock), nil)
			}
		},
		func() { skipMCU(&r, slices.Repeat([]*scanComponent{c}, maxMCUBlocks)) },
	} {
		r.start(make([]byte, 2*windowBytes), 0)
		r.pos = r.limit
		read()
		require.False(t, r.bad)
		bits := 8*(r.pos-r.limit) - int(r.n)
		require.Equal(t, maxMCUBlocks*blockSize*(16+15), bits)
		require.LessOrEqual(t, r.pos+8, r.end, "the end of the last load")
	}
}

// TestLookups compares what AC lookups yield with the code itself, symbol by symbol.
func TestLookups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		used := map[int]bool{}
		for range 1 + r.IntN(200) {
			used[r.IntN(256)] = true
		}
		var table acTable
		require.Empty(t, table.define(randomCode(r, used), 255))
		table.build()
		// next returns the coefficient that bits begin with.
		next := func(bits uint64) (advance uint8, value int16, code, length uint) {
			symbol, code := table.symbol(uint32(bits >> 48))
			size := uint(symbol & 15)
			value = int16(extend(int32(bits<<code>>1>>(63-size)), size))
			if size == 0 && symbol>>4 != 15 {
				return advanceEnd, 0, code, code
			}
			return symbol>>4 + 1, value, code, code + size
		}
		for range 300 {
			bits := r.Uint64()
			e := table.fast[bits>>(64-acBits)]
			advance, value, code, length := next(bits)
			if code > acBits || length > maxLookup {
				require.EqualValues(t, advanceEscape, e.advance1(), "bits %064b", bits)
				require.Zero(t, e.length())
				continue
			}
			require.Equal(t, advance, e.advance1(), "bits %064b", bits)
			require.Equal(t, length, e.length1())
			if e.advance2() == 0 {
				require.Equal(t, value, e.value2(bits))
				require.Equal(t, length, e.length())
				continue
			}
			require.Equal(t, value, e.value1())
			advance, value, _, second := next(bits << length)
			require.Equal(t, advance, e.advance2())
			require.Equal(t, value, e.value2(bits))
			require.Equal(t, length+second, e.length())
			require.LessOrEqual(t, e.length(), uint(maxLookup))
		}
	})
}

func TestHuffmanDefinition(t *testing.T) {
	var c canon
	full := make([]byte, 16, 20)
	full[0] = 3
	assert.NotEmpty(t, c.define(append(full, 1, 2, 3), 255), "three codes of one bit")
	size := make([]byte, 16, 20)
	size[0] = 1
	assert.NotEmpty(t, c.define(append(size, 16), 15), "a DC size of 16")
}
