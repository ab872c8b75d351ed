package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The fixed-point constants of idct.go in package jpeg.
const (
	f0298 = 2446
	f0390 = 3196
	f0541 = 4433
	f0765 = 6270
	f0899 = 7373
	f1175 = 9633
	f1501 = 12299
	f1847 = 15137
	f1961 = 16069
	f2053 = 16819
	f2562 = 20995
	f3072 = 25172
)

// idctData holds the factors of the pairs (0,4), (2,6), (1,7) and (3,5) in the even
// sums t0 to t3 and the odd sums o0 to o3, and the other constants.
type idctData struct {
	t0, t1, t2, t3 Mem
	o17, o35       [4]Mem
	round1, round2 Mem
	transpose      Mem
}

// idctConstants declares the constants.
func idctConstants() *idctData {
	return &idctData{
		t0: words("idctT0", 8192, 8192),
		t1: words("idctT1", 8192, -8192),
		t2: words("idctT2", f0541, f0541-f1847),
		t3: words("idctT3", f0541+f0765, f0541),
		o17: [4]Mem{
			words("idctO0x17", f1501-f0899-f0390+f1175, -f0899+f1175),
			words("idctO1x17", f1175, -f1961+f1175),
			words("idctO2x17", -f0390+f1175, f1175),
			words("idctO3x17", -f0899+f1175, f0298-f0899-f1961+f1175),
		},
		o35: [4]Mem{
			words("idctO0x35", f1175, -f0390+f1175),
			words("idctO1x35", f3072-f2562-f1961+f1175, -f2562+f1175),
			words("idctO2x35", -f2562+f1175, f2053-f2562-f0390+f1175),
			words("idctO3x35", -f1961+f1175, f1175),
		},
		round1:    dwords("idctRound1", 1<<10),
		round2:    dwords("idctRound2", 1<<17+128<<18),
		transpose: perLane("idctTranspose", [16]byte{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}),
	}
}

// transform writes the 8×8 samples of block b to dst and clears b.
func (c *idctData) transform(dst, stride, b, q reg.Register) {
	pairs := dequantise(b, q)
	y := c.apply(pairs, c.round1, 11)
	// Rows of column pairs, 0 and 2 together and 1 and 3, so that unpacking them
	// yields rows in order. The lower lanes hold pairs (0,4) and (2,6), the upper
	// (1,7) and (3,5).
	p02, p13, p46, p57 := pack(y[0], y[2]), pack(y[1], y[3]), pack(y[4], y[6]), pack(y[5], y[7])
	upper := unpackPairs(p02, p13)
	lower := unpackPairs(p46, p57)
	for i := range 2 {
		pairs[i], pairs[i+2] = ymm(), ymm()
		VPERM2I128(Imm(0x20), lower[i], upper[i], pairs[i])
		VPERM2I128(Imm(0x31), lower[i], upper[i], pairs[i+2])
	}

	y = c.apply(pairs, c.round2, 18)
	left, right := packBytes(y[0:4]), packBytes(y[4:8])
	VPSHUFB(c.transpose, left, left)
	VPSHUFB(c.transpose, right, right)
	rows01, rows23 := ymm(), ymm()
	VPUNPCKLDQ(right, left, rows01) // and rows 4 and 5 in the upper lane
	VPUNPCKHDQ(right, left, rows23) // and rows 6 and 7
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	store := func(a, b reg.Register) {
		VMOVQ(a, Mem{Base: dst})
		VMOVHPS(a, Mem{Base: dst, Index: stride, Scale: 1})
		VMOVQ(b, Mem{Base: dst, Index: stride, Scale: 2})
		VMOVHPS(b, Mem{Base: dst, Index: stride3, Scale: 1})
	}
	store(rows01.AsX(), rows23.AsX())
	LEAQ(Mem{Base: dst, Index: stride, Scale: 4}, dst)
	rows45, rows67 := XMM(), XMM()
	VEXTRACTI128(Imm(1), rows01, rows45)
	VEXTRACTI128(Imm(1), rows23, rows67)
	store(rows45, rows67)
	VZEROUPPER()
}

func idct(c *idctData) {
	TEXT("idctAssembly", NOSPLIT, "func(dst *byte, stride int, b, q *byte)")
	dst := Load(Param("dst"), GP64())
	stride := Load(Param("stride"), GP64())
	b := Load(Param("b"), GP64())
	q := Load(Param("q"), GP64())
	c.transform(dst, stride, b, q)
	RET()
}

// apply computes one pass over eight columns.
func (c *idctData) apply(pairs [4]reg.VecVirtual, round Mem, shift uint64) (y [8]reg.VecVirtual) {
	w := width(YMM)
	t0, t1 := w.mul(c.t0, pairs[0]), w.mul(c.t1, pairs[0])
	VPADDD(round, t0, t0)
	VPADDD(round, t1, t1)
	t2, t3 := w.mul(c.t2, pairs[1]), w.mul(c.t3, pairs[1])
	even := [4]reg.VecVirtual{w.sum(t0, t3), w.sum(t1, t2), w.difference(t1, t2), w.difference(t0, t3)}
	for i, e := range even {
		o := w.sum(w.mul(c.o17[i], pairs[2]), w.mul(c.o35[i], pairs[3]))
		y[i], y[7-i] = w.sum(e, o), w.difference(e, o)
		VPSRAD(Imm(shift), y[i], y[i])
		VPSRAD(Imm(shift), y[7-i], y[7-i])
	}
	return y
}

func pack(a, b reg.VecVirtual) reg.VecVirtual {
	r := ymm()
	VPACKSSDW(b, a, r)
	return r
}

// packBytes packs four registers to bytes, four of each per lane.
func packBytes(y []reg.VecVirtual) reg.VecVirtual {
	a, b := pack(y[0], y[1]), pack(y[2], y[3])
	r := ymm()
	VPACKUSWB(b, a, r)
	return r
}

// unpackPairs gathers the first and the second pair of each row, given rows 0 and 2
// and rows 1 and 3.
func unpackPairs(p02, p13 reg.VecVirtual) [2]reg.VecVirtual {
	lo, hi, first, second := ymm(), ymm(), ymm(), ymm()
	VPUNPCKLDQ(p13, p02, lo)
	VPUNPCKHDQ(p13, p02, hi)
	VPUNPCKLQDQ(hi, lo, first)
	VPUNPCKHQDQ(hi, lo, second)
	return [2]reg.VecVirtual{first, second}
}
