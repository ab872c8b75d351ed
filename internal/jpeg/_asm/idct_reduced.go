package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The fixed-point constants of idct_reduced.go in package jpeg.
const (
	f0211 = 1730
	f0509 = 4176
	f0601 = 4926
	f0720 = 5906
	f0850 = 6967
	f1061 = 8697
	f1272 = 10426
	f1451 = 11893
	f2172 = 17799
	f3624 = 29692
)

// dequantise loads the four row pairs of a block and clears it.
func dequantise(b, q reg.Register) (pairs [4]reg.VecVirtual) {
	for i := range pairs {
		pairs[i] = ymm()
		VMOVDQU(Mem{Base: b, Disp: 32 * i}, pairs[i])
		VPMULLW(Mem{Base: q, Disp: 32 * i}, pairs[i], pairs[i])
	}
	zero := ymm()
	VPXOR(zero, zero, zero)
	for i := range pairs {
		VMOVDQU(zero, Mem{Base: b, Disp: 32 * i})
	}
	return pairs
}

// A width computes with whole or half registers.
type width func() reg.VecVirtual

func (w width) mul(factors Mem, pair reg.VecVirtual) reg.VecVirtual {
	r := w()
	VPMADDWD(factors, pair, r)
	return r
}

func (w width) sum(a, b reg.VecVirtual) reg.VecVirtual {
	r := w()
	VPADDD(a, b, r)
	return r
}

func (w width) difference(a, b reg.VecVirtual) reg.VecVirtual {
	r := w()
	VPSUBD(b, a, r)
	return r
}

func params() (dst, stride, b, q reg.Register) {
	return Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("b"), GP64()), Load(Param("q"), GP64())
}

func idct4() {
	t0, t2 := words("idct4T0", 16384, 0), words("idct4T2", f1847, -f0765)
	o0 := [2]Mem{words("idct4O0x17", f2562, -f0509), words("idct4O0x35", f0899, -f0601)}
	o1 := [2]Mem{words("idct4O1x17", f1061, -f0211), words("idct4O1x35", -f2172, f1451)}
	round1, round2 := dwords("idct4Round1", 1<<11), dwords("idct4Round2", 1<<18+128<<19)
	transpose := perLane("idct4Transpose", [16]byte{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15})

	pass := func(w width, pairs [4]reg.VecVirtual, round Mem, shift uint64) (y [4]reg.VecVirtual) {
		even0 := w.mul(t0, pairs[0])
		VPADDD(round, even0, even0)
		even2 := w.mul(t2, pairs[1])
		outer, inner := w.sum(even0, even2), w.difference(even0, even2)
		odd0 := w.sum(w.mul(o0[0], pairs[2]), w.mul(o0[1], pairs[3]))
		odd1 := w.sum(w.mul(o1[0], pairs[2]), w.mul(o1[1], pairs[3]))
		y = [4]reg.VecVirtual{w.sum(outer, odd0), w.sum(inner, odd1), w.difference(inner, odd1), w.difference(outer, odd0)}
		for _, v := range y {
			VPSRAD(Imm(shift), v, v)
		}
		return y
	}

	TEXT("idct4x4Assembly", NOSPLIT, "func(dst *byte, stride int, b, q *byte)")
	dst, stride, b, q := params()
	y := pass(YMM, dequantise(b, q), round1, 12)
	first := unpackPairs(pack(y[0], y[2]), pack(y[1], y[3]))
	var pairs [4]reg.VecVirtual
	for i := range 2 {
		pairs[i] = first[i].AsX().(reg.VecVirtual)
		pairs[i+2] = XMM()
		VEXTRACTI128(Imm(1), first[i], pairs[i+2])
	}
	y = pass(XMM, pairs, round2, 19)
	left, right := XMM(), XMM()
	VPACKSSDW(y[1], y[0], left)
	VPACKSSDW(y[3], y[2], right)
	VPACKUSWB(right, left, left)
	VPSHUFB(transpose, left, left)
	VMOVD(left, Mem{Base: dst})
	VPEXTRD(Imm(1), left, Mem{Base: dst, Index: stride, Scale: 1})
	VPEXTRD(Imm(2), left, Mem{Base: dst, Index: stride, Scale: 2})
	LEAQ(Mem{Base: dst, Index: stride, Scale: 2}, dst)
	VPEXTRD(Imm(3), left, Mem{Base: dst, Index: stride, Scale: 1})
	VZEROUPPER()
	RET()
}

func idct2() {
	t0 := words("idct2T0", 16384, 0)
	odd := [2]Mem{words("idct2Ox17", f3624, -f0720), words("idct2Ox35", -f1272, f0850)}
	round1, round2 := dwords("idct2Round1", 1<<12), dwords("idct2Round2", 1<<19+128<<20)

	pass := func(w width, x0, x17, x35 reg.VecVirtual, round Mem, shift uint64) (y0, y1 reg.VecVirtual) {
		t := w.mul(t0, x0)
		VPADDD(t, t, t)
		VPADDD(round, t, t)
		o := w.sum(w.mul(odd[0], x17), w.mul(odd[1], x35))
		y0, y1 = w.sum(t, o), w.difference(t, o)
		VPSRAD(Imm(shift), y0, y0)
		VPSRAD(Imm(shift), y1, y1)
		return y0, y1
	}

	TEXT("idct2x2Assembly", NOSPLIT, "func(dst *byte, stride int, b, q *byte)")
	dst, stride, b, q := params()
	pairs := dequantise(b, q)
	y0, y1 := pass(YMM, pairs[0], pairs[2], pairs[3], round1, 13)
	// Per row the column pairs (0,4) and (2,6) in the lower lane, (1,7) and (3,5) in
	// the upper.
	rows := pack(y0, y1)
	lower, upper, x35 := rows.AsX().(reg.VecVirtual), XMM(), XMM()
	VEXTRACTI128(Imm(1), rows, upper)
	VPSHUFD(Imm(0b11_01_11_01), upper, x35)
	VPSHUFD(Imm(0b10_00_10_00), upper, upper)
	VPSHUFD(Imm(0b10_00_10_00), lower, lower)
	y0, y1 = pass(XMM, lower, upper, x35, round2, 20)
	VPUNPCKLDQ(y1, y0, y0)
	VPACKSSDW(y0, y0, y0)
	VPACKUSWB(y0, y0, y0)
	VPEXTRW(Imm(0), y0, Mem{Base: dst})
	VPEXTRW(Imm(1), y0, Mem{Base: dst, Index: stride, Scale: 1})
	VZEROUPPER()
	RET()
}
