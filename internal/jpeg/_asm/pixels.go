package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// samplesAt loads 16 samples as words.
func samplesAt(base, index reg.Register, disp int) reg.VecVirtual {
	r := ymm()
	VPMOVZXBW(Mem{Base: base, Index: index, Scale: 1, Disp: disp}, r)
	return r
}

// triple returns 3·v.
func triple(v reg.VecVirtual) reg.VecVirtual {
	r := ymm()
	VPADDW(v, v, r)
	VPADDW(v, r, r)
	return r
}

// mixNeighbours writes the pixels on both sides of the middle of here, 32 for the 16
// samples.
func mixNeighbours(dst Mem, before, here, after reg.VecVirtual, roundLeft, roundRight Mem, shift uint64) {
	left, right := ymm(), ymm()
	here3 := triple(here)
	VPADDW(before, here3, left)
	VPADDW(after, here3, right)
	VPADDW(roundLeft, left, left)
	VPADDW(roundRight, right, right)
	VPSRLW(Imm(shift), left, left)
	VPSRLW(Imm(shift), right, right)
	VPSLLW(Imm(8), right, right)
	VPOR(left, right, right)
	VMOVDQU(right, dst)
}

// loop runs body for index 0, step and so on below n.
func loop(n reg.Register, step uint32, body func(index reg.Register)) {
	index := GP64()
	XORQ(index, index)
	Label("loop")
	body(index)
	ADDQ(U32(step), index)
	CMPQ(index, n)
	JB(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func upsampleH2V2() {
	round8, round7 := words("round8", 8), words("round7", 7)
	TEXT("upsampleH2V2AVX2", NOSPLIT, "func(dst, near, far *byte, n int)")
	dst := Load(Param("dst"), GP64())
	near := Load(Param("near"), GP64())
	far := Load(Param("far"), GP64())
	n := Load(Param("n"), GP64())
	loop(n, 16, func(i reg.Register) {
		var sums [3]reg.VecVirtual
		for shift := range sums {
			sums[shift] = triple(samplesAt(near, i, shift))
			VPADDW(samplesAt(far, i, shift), sums[shift], sums[shift])
		}
		mixNeighbours(Mem{Base: dst, Index: i, Scale: 2}, sums[0], sums[1], sums[2], round8, round7, 4)
	})
	upsampleH2V2Short(round8, round7)
}

// upsampleH2V2Short makes the kernel for a row that fits a register, so that its neighbours
// are its own samples.
func upsampleH2V2Short(round8, round7 Mem) {
	TEXT("upsampleH2V2ShortAVX2", NOSPLIT, "func(dst, near, far *byte)")
	dst := Load(Param("dst"), GP64())
	near := Load(Param("near"), GP64())
	far := Load(Param("far"), GP64())
	sample := ymm()
	VPMOVZXBW(Mem{Base: near}, sample)
	here := triple(sample)
	VPMOVZXBW(Mem{Base: far}, sample)
	VPADDW(sample, here, here)

	// Moved by one word across the lanes, the first and the last one repeated.
	first, last, below, above, before, after := ymm(), ymm(), ymm(), ymm(), ymm(), ymm()
	VPBROADCASTW(here.AsX(), first)
	VPERM2I128(Imm(0x02), first, here, below)
	VPALIGNR(Imm(14), below, here, before)
	VPERMQ(Imm(0xFF), here, last)
	VPSHUFLW(Imm(0xFF), last, last)
	VPERM2I128(Imm(0x21), last, here, above)
	VPALIGNR(Imm(2), here, above, after)
	mixNeighbours(Mem{Base: dst}, before, here, after, round8, round7, 4)
	VZEROUPPER()
	RET()
}

func upsampleH2() {
	round1, round2 := words("round1", 1), words("round2", 2)
	TEXT("upsampleH2Assembly", NOSPLIT, "func(dst, src *byte, n int)")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	loop(n, 16, func(i reg.Register) {
		mixNeighbours(Mem{Base: dst, Index: i, Scale: 2}, samplesAt(src, i, 0), samplesAt(src, i, 1), samplesAt(src, i, 2), round1, round2, 2)
	})
}

func yccToRGB() {
	const (
		crToR  = 91881 - 65536    // what is left of the factor past 1·Cr
		cbToB  = 116130 - 2*65536 // past 2·Cb
		crToG  = -46802 + 65536   // past −1·Cr
		cbToG  = -22554
		absent = 0x80 // a byte that VPSHUFB clears
	)
	center, one := words("center", 128), words("one", 1)
	factorR, factorB := words("crToR", crToR), words("cbToB", cbToB)
	factorG, half := words("toG", cbToG, crToG), dwords("half", 1<<15)
	// Eight pixels of a lane: their red and green bytes are in one register, their
	// blue ones in the other; 16 bytes come first, then 8.
	var rg, bb [2][16]byte
	for i := range 32 {
		pixel, channel := i/3, i%3
		rg[i/16][i%16], bb[i/16][i%16] = absent, absent
		switch {
		case i >= 24:
		case channel == 2:
			bb[i/16][i%16] = byte(pixel)
		default:
			rg[i/16][i%16] = byte(pixel + 8*channel)
		}
	}
	shuffleRG := [2]Mem{perLane("shuffleRG0", rg[0]), perLane("shuffleRG1", rg[1])}
	shuffleB := [2]Mem{perLane("shuffleB0", bb[0]), perLane("shuffleB1", bb[1])}

	TEXT("yccToRGBAssembly", NOSPLIT, "func(dst, y, cb, cr *byte, n int)")
	dst := Load(Param("dst"), GP64())
	py := Load(Param("y"), GP64())
	pcb := Load(Param("cb"), GP64())
	pcr := Load(Param("cr"), GP64())
	n := Load(Param("n"), GP64())
	loop(n, 16, func(i reg.Register) {
		y, cb, cr := samplesAt(py, i, 0), samplesAt(pcb, i, 0), samplesAt(pcr, i, 0)
		VPSUBW(center, cb, cb)
		VPSUBW(center, cr, cr)

		// (f·2c >> 16 + 1) >> 1 rounds f·c >> 16.
		scaled := func(c reg.VecVirtual, factor Mem) (twice, product reg.VecVirtual) {
			twice, product = ymm(), ymm()
			VPADDW(c, c, twice)
			VPMULHW(factor, twice, product)
			VPADDW(one, product, product)
			VPSRAW(Imm(1), product, product)
			return twice, product
		}
		_, r := scaled(cr, factorR)
		VPADDW(cr, r, r)
		VPADDW(y, r, r)
		cb2, b := scaled(cb, factorB)
		VPADDW(cb2, b, b)
		VPADDW(y, b, b)

		lo, hi := ymm(), ymm()
		VPUNPCKLWD(cr, cb, lo)
		VPUNPCKHWD(cr, cb, hi)
		for _, part := range []reg.VecVirtual{lo, hi} {
			VPMADDWD(factorG, part, part)
			VPADDD(half, part, part)
			VPSRAD(Imm(16), part, part)
		}
		g := pack(lo, hi)
		VPSUBW(cr, g, g)
		VPADDW(y, g, g)

		VPACKUSWB(g, r, r)
		VPACKUSWB(b, b, b)
		var out [2]reg.VecVirtual
		for j := range out {
			blue := ymm()
			out[j] = ymm()
			VPSHUFB(shuffleRG[j], r, out[j])
			VPSHUFB(shuffleB[j], b, blue)
			VPOR(blue, out[j], out[j])
		}
		VMOVDQU(out[0].AsX(), Mem{Base: dst})
		VMOVQ(out[1].AsX(), Mem{Base: dst, Disp: 16})
		VEXTRACTI128(Imm(1), out[0], Mem{Base: dst, Disp: 24})
		upper := XMM()
		VEXTRACTI128(Imm(1), out[1], upper)
		VMOVQ(upper, Mem{Base: dst, Disp: 40})
		ADDQ(Imm(48), dst)
	})
}
