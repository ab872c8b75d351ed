// Command asm writes the AVX2 kernels of package imaging. Each has a plain Go twin in kernels.go that performs the same
// float32 operations in the same order; lengths are multiples of what a comment says, the rest is left to the twin.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!noasm")
	horizontal()
	horizontalWide()
	vertical()
	toRGB()
	twistBytes()
	twistRows()
	quantise()
	toBytes()
	affine()
	affineBytes()
	touch()
	split3()
	join3()
	joinFloats()
	normalize3("normalize3AVX2", toCache, false,
		"normalize3AVX2 takes h rows of n pixels of three bytes, a positive multiple of 16, apart and stores value·scale + bias of",
		"each channel. Behind a row it goes on by skip bytes in the pixels and by step bytes in the planes. norm is that of",
		"toRGBAffineAVX2.")
	normalize3("normalize3StreamAVX2", pastCaches, false,
		"normalize3StreamAVX2 writes past the caches; the destinations are aligned to 32 bytes, in every row.")
	normalize3("normalize3MirrorAVX2", toCache, true,
		"normalize3MirrorAVX2 writes rows from their ends: a, b and c are where the last 16 values of the first row begin.")
	normalize3("normalize3MirrorStreamAVX2", pastCaches, true,
		"normalize3MirrorStreamAVX2 is normalize3MirrorAVX2 past the caches; the destinations are aligned to 32 bytes, in every row.")
	reverse()
	fence()
	Generate()
}

// table is a read-only global of 16 or 32 bytes.
func table(name string, b ...byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range b {
		DATA(i, U8(v))
	}
	return m
}

var constants = map[float32]Mem{}

// constant returns a register with eight copies of v.
func constant(v float32) VecVirtual {
	m, ok := constants[v]
	if !ok {
		m = GLOBL(fmt.Sprintf("constant%d", len(constants)), RODATA|NOPTR)
		DATA(0, U32(math.Float32bits(v)))
		constants[v] = m
	}
	r := YMM()
	VBROADCASTSS(m, r)
	return r
}

// zero returns a cleared register.
func zero() VecVirtual {
	r := YMM()
	VXORPS(r, r, r)
	return r
}

func toCache(v, m Op)    { VMOVUPS(v, m) }
func pastCaches(v, m Op) { VMOVNTPS(v, m) }

// clamp limits r to 0 … 255. The constant is the operand that wins among zeroes, so that -0 becomes 0.
func clamp(r, lo, hi VecVirtual) {
	VMAXPS(lo, r, r)
	VMINPS(hi, r, r)
}

// loop counts n down by step and runs body as long as step is left.
func loop(name string, n Register, step int, body func()) {
	Label(name)
	CMPQ(n, I32(int32(step)))
	JLT(LabelRef(name + "_done"))
	body()
	SUBQ(I32(int32(step)), n)
	JMP(LabelRef(name))
	Label(name + "_done")
}

func horizontal() {
	TEXT("horizontalAVX2", NOSPLIT, "func(dst *float32, src *byte, base *int32, tab *uint32, groups, taps int)")
	Pragma("noescape")
	Doc("horizontalAVX2 resamples a row of bytes, eight outputs per group. A group reads 16 bytes from base[0] on for its",
		"first four outputs and from base[1] on for the others; for each tap, tab holds a shuffle that brings the samples",
		"to the outputs, and eight weights.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	base, tab := Load(Param("base"), GP64()), Load(Param("tab"), GP64())
	groups, taps := Load(Param("groups"), GP64()), Load(Param("taps"), GP64())
	at, k := GP64(), GP64()
	pixels, sum, v := YMM(), YMM(), YMM()
	load := func() {
		MOVLQSX(Mem{Base: base}, at)
		VMOVDQU(Mem{Base: src, Index: at, Scale: 1}, pixels.AsX())
		MOVLQSX(Mem{Base: base, Disp: 4}, at)
		VINSERTI128(Imm(1), Mem{Base: src, Index: at, Scale: 1}, pixels, pixels)
	}
	tap := func(i int, to VecVirtual) {
		VPSHUFB(Mem{Base: tab, Disp: 64 * i}, pixels, to)
		VCVTDQ2PS(to, to)
		VMULPS(Mem{Base: tab, Disp: 64*i + 32}, to, to)
	}
	store := func(taps int) {
		ADDQ(I32(int32(64*taps)), tab)
		VMOVUPS(sum, Mem{Base: dst})
		ADDQ(Imm(32), dst)
		ADDQ(Imm(8), base)
	}
	// The numbers of taps that linear filters have when they shrink to a third at most.
	for n := 2; n <= 6; n++ {
		next := fmt.Sprintf("not%d", n)
		CMPQ(taps, Imm(uint64(n)))
		JNE(LabelRef(next))
		loop(fmt.Sprintf("groups%d", n), groups, 1, func() {
			load()
			tap(0, sum)
			for i := 1; i < n; i++ {
				tap(i, v)
				VADDPS(v, sum, sum)
			}
			store(n)
		})
		VZEROUPPER()
		RET()
		Label(next)
	}
	DECQ(taps)
	loop("groups", groups, 1, func() {
		load()
		tap(0, sum)
		MOVQ(taps, k)
		loop("taps", k, 1, func() {
			ADDQ(Imm(64), tab)
			tap(0, v)
			VADDPS(v, sum, sum)
		})
		store(1)
	})
	VZEROUPPER()
	RET()
}

func horizontalWide() {
	TEXT("horizontalWideAVX2", NOSPLIT, "func(dst *float32, src *byte, first *int32, w *float32, n, taps int)")
	Pragma("noescape")
	Doc("horizontalWideAVX2 resamples a row of bytes to n outputs; taps is a multiple of 8. Eight partial sums, of every",
		"eighth tap, are added at the end: halves, quarters, neighbours.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	first, w := Load(Param("first"), GP64()), Load(Param("w"), GP64())
	n, taps := Load(Param("n"), GP64()), Load(Param("taps"), GP64())
	at, k := GP64(), GP64()
	sum, v, upper := YMM(), YMM(), XMM()
	loop("output", n, 1, func() {
		MOVLQSX(Mem{Base: first}, at)
		ADDQ(src, at)
		VXORPS(sum, sum, sum)
		MOVQ(taps, k)
		loop("tap", k, 8, func() {
			VPMOVZXBD(Mem{Base: at}, v)
			VCVTDQ2PS(v, v)
			VMULPS(Mem{Base: w}, v, v)
			VADDPS(v, sum, sum)
			ADDQ(Imm(8), at)
			ADDQ(Imm(32), w)
		})
		VEXTRACTF128(Imm(1), sum, upper)
		VADDPS(upper, sum.AsX(), sum.AsX())
		VMOVHLPS(sum.AsX(), sum.AsX(), upper)
		VADDPS(upper, sum.AsX(), sum.AsX())
		VMOVSHDUP(sum.AsX(), upper)
		VADDSS(upper, sum.AsX(), sum.AsX())
		VMOVSS(sum.AsX(), Mem{Base: dst})
		ADDQ(Imm(4), dst)
		ADDQ(Imm(4), first)
	})
	VZEROUPPER()
	RET()
}

func vertical() {
	verticalKernel("verticalAVX2", "", "verticalAVX2 writes the weighted sum of taps rows, pitch bytes apart; n is a multiple of 8.", toCache, nil)
	affine := func() func(VecVirtual) {
		scale, bias := broadcast("scale", 48), broadcast("bias", 52)
		return func(v VecVirtual) {
			VMULPS(scale, v, v)
			VADDPS(bias, v, v)
		}
	}
	rounded := func() func(VecVirtual) {
		then := affine()
		lo, hi, half := zero(), constant(255), constant(0.5)
		return func(v VecVirtual) {
			round(v, lo, hi, half)
			then(v)
		}
	}
	const params = ", scale, bias float32"
	verticalKernel("verticalAffineAVX2", params, "verticalAffineAVX2 is verticalAVX2 and affineAVX2 in one.", toCache, affine)
	verticalKernel("verticalAffineStreamAVX2", params, "verticalAffineStreamAVX2 writes past the caches; dst is aligned to 32 bytes.", pastCaches, affine)
	verticalKernel("verticalRoundAVX2", params, "verticalRoundAVX2 is verticalAVX2, quantiseAVX2 and affineAVX2 in one.", toCache, rounded)
	verticalKernel("verticalRoundStreamAVX2", params, "verticalRoundStreamAVX2 writes past the caches; dst is aligned to 32 bytes.", pastCaches, rounded)
}

// broadcast returns a register with eight copies of a parameter.
func broadcast(name string, offset int) VecVirtual {
	r := YMM()
	VBROADCASTSS(NewParamAddr(name, offset), r)
	return r
}

// round clamps v to 0 … 255 and rounds it to an integer, ties up.
func round(v, lo, hi, half VecVirtual) {
	clamp(v, lo, hi)
	VADDPS(half, v, v)
	VCVTTPS2DQ(v, v)
	VCVTDQ2PS(v, v)
}

// verticalKernel writes a kernel that sums rows; prepare returns what is done with every sum before it is stored.
func verticalKernel(name, params, doc string, store func(v, m Op), prepare func() func(VecVirtual)) {
	TEXT(name, NOSPLIT, "func(dst, rows *float32, pitch int, w *float32, taps, n int"+params+")")
	Pragma("noescape")
	Doc(doc)
	dst, rows := Load(Param("dst"), GP64()), Load(Param("rows"), GP64())
	pitch, w := Load(Param("pitch"), GP64()), Load(Param("w"), GP64())
	taps, n := Load(Param("taps"), GP64()), Load(Param("n"), GP64())
	finish := func(VecVirtual) {}
	if prepare != nil {
		finish = prepare()
	}
	row, k := GP64(), GP64()
	body := func(name string, width int) func() {
		return func() {
			weight, v := YMM(), YMM()
			sums := make([]VecVirtual, width)
			VBROADCASTSS(Mem{Base: w}, weight)
			for i := range sums {
				sums[i] = YMM()
				VMULPS(Mem{Base: rows, Disp: 32 * i}, weight, sums[i])
			}
			MOVQ(rows, row)
			MOVQ(U32(1), k)
			Label(name + "_tap")
			CMPQ(k, taps)
			JGE(LabelRef(name + "_sum"))
			ADDQ(pitch, row)
			VBROADCASTSS(Mem{Base: w, Index: k, Scale: 4}, weight)
			for i := range sums {
				VMULPS(Mem{Base: row, Disp: 32 * i}, weight, v)
				VADDPS(v, sums[i], sums[i])
			}
			INCQ(k)
			JMP(LabelRef(name + "_tap"))
			Label(name + "_sum")
			for i := range sums {
				finish(sums[i])
				store(sums[i], Mem{Base: dst, Disp: 32 * i})
			}
			ADDQ(U32(uint32(32*width)), rows)
			ADDQ(U32(uint32(32*width)), dst)
		}
	}
	loop("wide", n, 32, body("wide", 4))
	loop("narrow", n, 8, body("narrow", 1))
	VZEROUPPER()
	RET()
}

func toRGB() {
	TEXT("toRGBAVX2", NOSPLIT, "func(y, cb, cr *float32, n int)")
	Pragma("noescape")
	Doc("toRGBAVX2 converts rows of Y, Cb, Cr to R, G, B in place; n is a multiple of 8.")
	y, cb, cr := Load(Param("y"), GP64()), Load(Param("cb"), GP64()), Load(Param("cr"), GP64())
	n := Load(Param("n"), GP64())
	convert := colours(y, cb, cr)
	loop("pixels", n, 8, func() {
		convert(func(channel int, v VecVirtual) { VMOVUPS(v, Mem{Base: []Register{y, cb, cr}[channel]}) })
	})
	VZEROUPPER()
	RET()

	toRGBAffine("toRGBAffineAVX2", toCache,
		"toRGBAffineAVX2 converts rows of Y, Cb, Cr to R·scale + bias, G·scale + bias, B·scale + bias; n is a multiple of 8.",
		"For each channel, norm holds eight copies of the scale and eight of the bias.")
	toRGBAffine("toRGBAffineStreamAVX2", pastCaches,
		"toRGBAffineStreamAVX2 writes past the caches; the destinations are aligned to 32 bytes.")
}

func toRGBAffine(name string, write func(v, m Op), doc ...string) {
	TEXT(name, NOSPLIT, "func(red, green, blue, y, cb, cr *float32, n int, norm *float32)")
	Pragma("noescape")
	Doc(doc...)
	y, cb, cr := Load(Param("y"), GP64()), Load(Param("cb"), GP64()), Load(Param("cr"), GP64())
	rgb := []Register{Load(Param("red"), GP64()), Load(Param("green"), GP64()), Load(Param("blue"), GP64())}
	n, norm := Load(Param("n"), GP64()), Load(Param("norm"), GP64())
	convert := colours(y, cb, cr)
	loop("pixels", n, 8, func() {
		convert(func(channel int, v VecVirtual) {
			VMULPS(Mem{Base: norm, Disp: 64 * channel}, v, v)
			VADDPS(Mem{Base: norm, Disp: 64*channel + 32}, v, v)
			write(v, Mem{Base: rgb[channel]})
			ADDQ(Imm(32), rgb[channel])
		})
	})
	VZEROUPPER()
	RET()
}

// twist returns a function that maps the colours of eight pixels. pairs holds red in the lower and green in the upper half of
// each lane, blues holds blue and a 1. The three results, by channel, are not clamped yet.
//
// A factor is upper·2¹⁴ + lower, so that each product fits what VPMADDWD multiplies. What the shift of the upper sum loses
// at the top does not matter, since the whole sum fits 32 bits.
func twist(table Register) func(pairs, blues VecVirtual) [3]VecVirtual {
	const split, fraction = 14, 20
	return func(pairs, blues VecVirtual) (out [3]VecVirtual) {
		t := YMM()
		for c := range out {
			factors := func(i int) Mem { return Mem{Base: table, Disp: 32 * (4*c + i)} }
			out[c] = YMM()
			VPMADDWD(factors(0), pairs, out[c])
			VPMADDWD(factors(1), blues, t)
			VPADDD(t, out[c], out[c])
			VPSLLD(Imm(split), out[c], out[c])
			VPMADDWD(factors(2), pairs, t)
			VPADDD(t, out[c], out[c])
			VPMADDWD(factors(3), blues, t)
			VPADDD(t, out[c], out[c])
			VPSRAD(Imm(fraction), out[c], out[c])
		}
		return out
	}
}

// both is table with the same 16 bytes for each half of a register.
func both(name string, b []byte) Mem { return table(name, append(b, b...)...) }

// ones returns a register with a 1 in the upper half of each lane.
func ones() VecVirtual {
	r := YMM()
	VPCMPEQD(r, r, r)
	VPSRLD(Imm(31), r, r)
	VPSLLD(Imm(16), r, r)
	return r
}

func twistBytes() {
	TEXT("twistBytesAVX2", NOSPLIT, "func(dst, src *byte, n int, table *int32)")
	Pragma("noescape")
	Doc("twistBytesAVX2 maps the colours of n pixels of three bytes, a multiple of 8. It reads and writes two pixels more.",
		"For each channel, table holds eight copies of the upper parts of the factors of red and green, in one word, and of",
		"blue and of the offset; then those of their lower parts.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	factors := Load(Param("table"), GP64())
	// Four pixels fill the first 12 of 16 bytes.
	var redGreen, blue, back []byte
	for i := range byte(4) {
		redGreen = append(redGreen, 3*i, 0x80, 3*i+1, 0x80)
		blue = append(blue, 3*i+2, 0x80, 0x80, 0x80)
		back = append(back, i, 4+i, 8+i)
	}
	back = append(back, 0x80, 0x80, 0x80, 0x80)
	toPairs, toBlues, toPixels := both("twistPairs", redGreen), both("twistBlues", blue), both("twistPixels", back)
	apply, one := twist(factors), ones()
	pixels, pairs, blues := YMM(), YMM(), YMM()
	loop("pixels", n, 8, func() {
		VMOVDQU(Mem{Base: src}, pixels.AsX())
		VINSERTI128(Imm(1), Mem{Base: src, Disp: 12}, pixels, pixels)
		VPSHUFB(toPairs, pixels, pairs)
		VPSHUFB(toBlues, pixels, blues)
		VPOR(one, blues, blues)
		out := apply(pairs, blues)
		VPACKSSDW(out[1], out[0], out[0])
		VPACKSSDW(out[2], out[2], out[2])
		VPACKUSWB(out[2], out[0], out[0])
		VPSHUFB(toPixels, out[0], out[0])
		VMOVDQU(out[0].AsX(), Mem{Base: dst})
		VEXTRACTI128(Imm(1), out[0], Mem{Base: dst, Disp: 12})
		ADDQ(Imm(24), src)
		ADDQ(Imm(24), dst)
	})
	VZEROUPPER()
	RET()
}

func twistRows() {
	twistRowsKernel("twistRowsAVX2", toCache,
		"twistRowsAVX2 rounds n pixels, a multiple of 8, whose channels are apart, to levels, maps their colours as",
		"twistBytesAVX2 does, and stores level·scale + bias. norm is that of toRGBAffineAVX2.")
	twistRowsKernel("twistRowsStreamAVX2", pastCaches,
		"twistRowsStreamAVX2 writes past the caches; the destinations are aligned to 32 bytes.")
}

func twistRowsKernel(name string, write func(v, m Op), doc ...string) {
	TEXT(name, NOSPLIT, "func(red, green, blue, a, b, c *float32, n int, table *int32, norm *float32)")
	Pragma("noescape")
	Doc(doc...)
	dst := [3]Register{Load(Param("red"), GP64()), Load(Param("green"), GP64()), Load(Param("blue"), GP64())}
	src := [3]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())}
	n, factors, norm := Load(Param("n"), GP64()), Load(Param("table"), GP64()), Load(Param("norm"), GP64())
	apply, one := twist(factors), ones()
	lo, hi, half := zero(), constant(255), constant(0.5)
	loop("pixels", n, 8, func() {
		var level [3]VecVirtual
		for c := range level {
			level[c] = YMM()
			VMOVUPS(Mem{Base: src[c]}, level[c])
			clamp(level[c], lo, hi)
			VADDPS(half, level[c], level[c])
			VCVTTPS2DQ(level[c], level[c])
			ADDQ(Imm(32), src[c])
		}
		VPSLLD(Imm(16), level[1], level[1])
		VPOR(level[1], level[0], level[0])
		VPOR(one, level[2], level[2])
		for c, v := range apply(level[0], level[2]) {
			VCVTDQ2PS(v, v)
			clamp(v, lo, hi)
			VMULPS(Mem{Base: norm, Disp: 64 * c}, v, v)
			VADDPS(Mem{Base: norm, Disp: 64*c + 32}, v, v)
			write(v, Mem{Base: dst[c]})
			ADDQ(Imm(32), dst[c])
		}
	})
	VZEROUPPER()
	RET()
}

func joinFloats() {
	TEXT("joinFloatsAVX2", NOSPLIT, "func(dst, a, b, c *float32, n int)")
	Pragma("noescape")
	Doc("joinFloatsAVX2 puts n pixels of three values, a multiple of 8, together.")
	dst := Load(Param("dst"), GP64())
	planes := [3]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())}
	n := Load(Param("n"), GP64())
	// Lane i of part p is value 8p+i of the pixels: of channel (8p+i) mod 3 and pixel (8p+i) / 3.
	var order [3]VecVirtual
	var lanes [3][3]uint64
	for part := range 3 {
		m := GLOBL("joinFloats"+string(rune('A'+part)), RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(uint32((8*part+i)/3)))
			lanes[part][(8*part+i)%3] |= 1 << i
		}
		order[part] = YMM()
		VMOVDQU(m, order[part])
	}
	v, t := YMM(), YMM()
	loop("pixels", n, 8, func() {
		for part := range 3 {
			VPERMPS(Mem{Base: planes[0]}, order[part], v)
			for c := 1; c < 3; c++ {
				VPERMPS(Mem{Base: planes[c]}, order[part], t)
				VBLENDPS(Imm(lanes[part][c]), t, v, v)
			}
			VMOVUPS(v, Mem{Base: dst, Disp: 32 * part})
		}
		for _, p := range planes {
			ADDQ(Imm(32), p)
		}
		ADDQ(Imm(96), dst)
	})
	VZEROUPPER()
	RET()
}

func fence() {
	TEXT("fenceSSE", NOSPLIT, "func()")
	Doc("fenceSSE makes what was written past the caches visible before anything that follows.")
	SFENCE()
	RET()
}

// colours returns a function that converts the next eight pixels of rows of Y, Cb, Cr and hands over R, G and B.
func colours(y, cb, cr Register) func(store func(channel int, v VecVirtual)) {
	lo, hi, half := zero(), constant(255), constant(128)
	redCr, greenCb := constant(1.402), constant(-0.344136286)
	greenCr, blueCb := constant(-0.714136286), constant(1.772)
	return func(store func(channel int, v VecVirtual)) {
		vy, b, r, t, g := YMM(), YMM(), YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: y}, vy)
		VMOVUPS(Mem{Base: cb}, b)
		VMOVUPS(Mem{Base: cr}, r)
		VSUBPS(half, b, b)
		VSUBPS(half, r, r)
		VMULPS(redCr, r, t)
		VADDPS(t, vy, t)
		clamp(t, lo, hi)
		store(0, t)
		VMULPS(greenCb, b, t)
		VADDPS(t, vy, t)
		VMULPS(greenCr, r, g)
		VADDPS(g, t, g)
		clamp(g, lo, hi)
		store(1, g)
		VMULPS(blueCb, b, t)
		VADDPS(t, vy, t)
		clamp(t, lo, hi)
		store(2, t)
		for _, p := range []Register{y, cb, cr} {
			ADDQ(Imm(32), p)
		}
	}
}

func quantise() {
	TEXT("quantiseAVX2", NOSPLIT, "func(row *float32, n int)")
	Pragma("noescape")
	Doc("quantiseAVX2 rounds n values, a multiple of 8, to the integers 0 … 255.")
	row, n := Load(Param("row"), GP64()), Load(Param("n"), GP64())
	lo, hi, half := zero(), constant(255), constant(0.5)
	v := YMM()
	loop("values", n, 8, func() {
		VMOVUPS(Mem{Base: row}, v)
		round(v, lo, hi, half)
		VMOVUPS(v, Mem{Base: row})
		ADDQ(Imm(32), row)
	})
	VZEROUPPER()
	RET()
}

func toBytes() {
	TEXT("toBytesAVX2", NOSPLIT, "func(dst *byte, src *float32, n int)")
	Pragma("noescape")
	Doc("toBytesAVX2 rounds n values, a multiple of 8, to bytes.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	lo, hi, half := zero(), constant(255), constant(0.5)
	v, upper := YMM(), XMM()
	loop("values", n, 8, func() {
		VMOVUPS(Mem{Base: src}, v)
		clamp(v, lo, hi)
		VADDPS(half, v, v)
		VCVTTPS2DQ(v, v)
		VEXTRACTI128(Imm(1), v, upper)
		VPACKUSDW(upper, v.AsX(), upper)
		VPACKUSWB(upper, upper, upper)
		VMOVQ(upper, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(8), dst)
	})
	VZEROUPPER()
	RET()
}

func affine() {
	TEXT("affineAVX2", NOSPLIT, "func(dst, src *float32, n int, scale, bias float32)")
	Pragma("noescape")
	Doc("affineAVX2 stores src·scale + bias; n is a multiple of 8.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	scale, bias, v := broadcast("scale", 24), broadcast("bias", 28), YMM()
	loop("values", n, 8, func() {
		VMULPS(Mem{Base: src}, scale, v)
		VADDPS(bias, v, v)
		VMOVUPS(v, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(32), dst)
	})
	VZEROUPPER()
	RET()
}

func affineBytes() {
	TEXT("affineBytesAVX2", NOSPLIT, "func(dst *float32, src *byte, n int, scale, bias float32)")
	Pragma("noescape")
	Doc("affineBytesAVX2 stores src·scale + bias; n is a multiple of 8.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	scale, bias := broadcast("scale", 24), broadcast("bias", 28)
	body := func(width int) func() {
		return func() {
			for i := range width {
				v := YMM()
				VPMOVZXBD(Mem{Base: src, Disp: 8 * i}, v)
				VCVTDQ2PS(v, v)
				VMULPS(scale, v, v)
				VADDPS(bias, v, v)
				VMOVUPS(v, Mem{Base: dst, Disp: 32 * i})
			}
			ADDQ(U32(uint32(8*width)), src)
			ADDQ(U32(uint32(32*width)), dst)
		}
	}
	loop("wide", n, 32, body(4))
	loop("narrow", n, 8, body(1))
	VZEROUPPER()
	RET()
}

func touch() {
	TEXT("touchSSE", NOSPLIT, "func(mem *byte, n int)")
	Pragma("noescape")
	Doc("touchSSE asks for n bytes to be brought into the caches.")
	mem, n := Load(Param("mem"), GP64()), Load(Param("n"), GP64())
	loop("lines", n, 64, func() {
		PREFETCHT0(Mem{Base: mem})
		ADDQ(U8(64), mem)
	})
	RET()
}

// spread returns the shuffles that take three times 16 interleaved bytes to the 16 bytes of one channel, those of the
// last pixel first where it mirrors.
func spread(channel int, mirror bool) (masks [3][]byte) {
	for part := range masks {
		masks[part] = make([]byte, 16)
		for i := range 16 {
			masks[part][i] = 0x80
			pixel := i
			if mirror {
				pixel = 15 - i
			}
			if at := 3*pixel + channel - 16*part; at >= 0 && at < 16 {
				masks[part][i] = byte(at)
			}
		}
	}
	return masks
}

func split3() {
	TEXT("split3AVX2", NOSPLIT, "func(a, b, c, src *byte, n int)")
	Pragma("noescape")
	Doc("split3AVX2 takes n pixels of three bytes, a multiple of 16, apart.")
	planes := [3]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())}
	src, n := Load(Param("src"), GP64()), Load(Param("n"), GP64())
	split := splitter(false)
	loop("pixels", n, 16, func() {
		split(src, func(c int, v VecVirtual) {
			VMOVDQU(v, Mem{Base: planes[c]})
			ADDQ(Imm(16), planes[c])
		})
		ADDQ(Imm(48), src)
	})
	RET()
}

var splitMasks = map[bool][3][3]Mem{}

// splitter returns a function that takes 16 pixels of three bytes apart and hands over the bytes of each channel.
func splitter(mirror bool) func(src Register, use func(channel int, v VecVirtual)) {
	masks, ok := splitMasks[mirror]
	if !ok {
		name := map[bool]string{false: "split", true: "splitMirror"}[mirror]
		for c := range 3 {
			for part, m := range spread(c, mirror) {
				masks[c][part] = table(name+string(rune('A'+3*c+part)), m...)
			}
		}
		splitMasks[mirror] = masks
	}
	part := [3]VecVirtual{XMM(), XMM(), XMM()}
	v, t := XMM(), XMM()
	return func(src Register, use func(channel int, v VecVirtual)) {
		for i, p := range part {
			VMOVDQU(Mem{Base: src, Disp: 16 * i}, p)
		}
		for c := range 3 {
			VPSHUFB(masks[c][0], part[0], v)
			for i := 1; i < 3; i++ {
				VPSHUFB(masks[c][i], part[i], t)
				VPOR(t, v, v)
			}
			use(c, v)
		}
	}
}

// ahead is how many bytes before they are read the pixels of a batch are asked for, which are not in the caches.
const ahead = 2048

func normalize3(name string, write func(v, m Op), mirror bool, doc ...string) {
	TEXT(name, NOSPLIT, "func(a, b, c *float32, step int, src *byte, skip, n, h int, norm *float32)")
	Pragma("noescape")
	Doc(doc...)
	planes := [3]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())}
	step, src, skip := Load(Param("step"), GP64()), Load(Param("src"), GP64()), Load(Param("skip"), GP64())
	n, h, norm := Load(Param("n"), GP64()), Load(Param("h"), GP64()), Load(Param("norm"), GP64())
	split := splitter(mirror)
	move := map[bool]func(Op, Op){false: ADDQ, true: SUBQ}[mirror]
	left, wide, upper := GP64(), YMM(), XMM()
	Label("rows")
	MOVQ(n, left)
	Label("pixels")
	PREFETCHT0(Mem{Base: src, Disp: ahead})
	split(src, func(c int, v VecVirtual) {
		VPSRLDQ(Imm(8), v, upper)
		for half, x := range []VecVirtual{v, upper} {
			VPMOVZXBD(x, wide)
			VCVTDQ2PS(wide, wide)
			VMULPS(Mem{Base: norm, Disp: 64 * c}, wide, wide)
			VADDPS(Mem{Base: norm, Disp: 64*c + 32}, wide, wide)
			write(wide, Mem{Base: planes[c], Disp: 32 * half})
		}
		move(Imm(64), planes[c])
	})
	ADDQ(Imm(48), src)
	SUBQ(Imm(16), left)
	JNZ(LabelRef("pixels"))
	for _, plane := range planes {
		ADDQ(step, plane)
	}
	ADDQ(skip, src)
	DECQ(h)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

func reverse() {
	TEXT("reverseAVX2", NOSPLIT, "func(first, last *float32, n int)")
	Pragma("noescape")
	Doc("reverseAVX2 exchanges n values, a multiple of 8, from first on with as many that end with the eight at last, and",
		"reverses both.")
	first, last, n := Load(Param("first"), GP64()), Load(Param("last"), GP64()), Load(Param("n"), GP64())
	m := GLOBL("backwards", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(7-i)))
	}
	order, a, b := YMM(), YMM(), YMM()
	VMOVDQU(m, order)
	loop("values", n, 8, func() {
		VPERMPS(Mem{Base: first}, order, a)
		VPERMPS(Mem{Base: last}, order, b)
		VMOVUPS(a, Mem{Base: last})
		VMOVUPS(b, Mem{Base: first})
		ADDQ(Imm(32), first)
		SUBQ(Imm(32), last)
	})
	VZEROUPPER()
	RET()
}

// gather returns the shuffles that take 16 bytes of one channel to three times 16 interleaved bytes.
func gather(channel int) (masks [3][]byte) {
	for part := range masks {
		masks[part] = make([]byte, 16)
		for i := range 16 {
			masks[part][i] = 0x80
			if at := 16*part + i; at%3 == channel {
				masks[part][i] = byte(at / 3)
			}
		}
	}
	return masks
}

func join3() {
	TEXT("join3AVX2", NOSPLIT, "func(dst, a, b, c *byte, n int)")
	Pragma("noescape")
	Doc("join3AVX2 puts n pixels of three bytes, a multiple of 16, together.")
	dst := Load(Param("dst"), GP64())
	planes := [3]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())}
	n := Load(Param("n"), GP64())
	var masks [3][3]Mem
	for c := range 3 {
		for part, m := range gather(c) {
			masks[c][part] = table("join"+string(rune('A'+3*c+part)), m...)
		}
	}
	channel := [3]VecVirtual{XMM(), XMM(), XMM()}
	v, t := XMM(), XMM()
	loop("pixels", n, 16, func() {
		for i, p := range planes {
			VMOVDQU(Mem{Base: p}, channel[i])
			ADDQ(Imm(16), p)
		}
		for part := range 3 {
			VPSHUFB(masks[0][part], channel[0], v)
			for c := 1; c < 3; c++ {
				VPSHUFB(masks[c][part], channel[c], t)
				VPOR(t, v, v)
			}
			VMOVDQU(v, Mem{Base: dst, Disp: 16 * part})
		}
		ADDQ(Imm(48), dst)
	})
	RET()
}
