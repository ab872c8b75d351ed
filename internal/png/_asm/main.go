// Command asm generates the AVX2 kernels of package png. Their Go declarations are
// written by hand in kernels_amd64.go.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	addLeft()
	addBytes()
	addAverage()
	addPaeth()
	adler()
	narrow()
	shuffle()
	expand()
	Generate()
}

// ptr returns the place that a register points to.
func ptr(r reg.Register) Mem { return Mem{Base: r} }

// behind returns the place so many bytes behind a pointer.
func behind(r, bytes reg.Register) Mem { return Mem{Base: r, Index: bytes, Scale: 1} }

// rounds runs body n times; n is positive.
func rounds(n reg.Register, body func()) {
	Label("loop")
	body()
	DECQ(n)
	JNZ(LabelRef("loop"))
}

// bytes declares 32 bytes of constant data.
func bytes(name string, at func(i int) byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(at(i)))
	}
	return m
}

// words declares 32 bytes of constant data that repeat a 16-bit value.
func words(name string, value int16) Mem {
	return bytes(name, func(i int) byte { return byte(uint16(value) >> (i % 2 * 8)) })
}

// The filters that look to the left go from pixel to pixel. They read and write eight
// bytes, of which the next pixel overwrites what is not this one's.

func addLeft() {
	TEXT("addLeftAVX2", NOSPLIT, "func(row, raw *byte, step, n int)")
	row := Load(Param("row"), GP64())
	raw := Load(Param("raw"), GP64())
	step := Load(Param("step"), GP64())
	n := Load(Param("n"), GP64())
	left, x := XMM(), XMM()
	VMOVQ(ptr(row), left)
	rounds(n, func() {
		VMOVQ(ptr(raw), x)
		VPADDB(x, left, left)
		VMOVQ(left, behind(row, step))
		ADDQ(step, raw)
		ADDQ(step, row)
	})
	RET()
}

func addBytes() {
	TEXT("addBytesAVX2", NOSPLIT, "func(dst, a, b *byte, n int)")
	dst := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	x := YMM()
	rounds(n, func() {
		VMOVDQU(ptr(a), x)
		VPADDB(ptr(b), x, x)
		VMOVDQU(x, ptr(dst))
		ADDQ(U32(32), dst)
		ADDQ(U32(32), a)
		ADDQ(U32(32), b)
	})
	VZEROUPPER()
	RET()
}

// addAverage works on the complements of pixels, of which VPAVGB yields the complement of
// the mean that is rounded down: ^((a+b)/2) = avg(^a, ^b), and ^(x + mean) = ^mean - x.
func addAverage() {
	TEXT("addAverageAVX2", NOSPLIT, "func(row, above, raw *byte, step, n int)")
	row := Load(Param("row"), GP64())
	above := Load(Param("above"), GP64())
	raw := Load(Param("raw"), GP64())
	step := Load(Param("step"), GP64())
	n := Load(Param("n"), GP64())
	ones, left, up, x := XMM(), XMM(), XMM(), XMM()
	VPCMPEQB(ones, ones, ones)
	VMOVQ(ptr(row), left)
	VPXOR(ones, left, left)
	rounds(n, func() {
		VMOVQ(behind(above, step), up)
		VPXOR(ones, up, up)
		VMOVQ(ptr(raw), x)
		VPAVGB(up, left, left)
		VPSUBB(x, left, left)
		VPXOR(ones, left, x)
		VMOVQ(x, behind(row, step))
		ADDQ(step, raw)
		ADDQ(step, above)
		ADDQ(step, row)
	})
	RET()
}

// addPaeth finds the predictor by comparing 3·corner − left − up with the smaller and the
// larger one of left and up: what is nearest to left + up − corner is the larger one if
// that is not above the smaller one, the smaller one if it is not below the larger one,
// and else the corner.
func addPaeth() {
	TEXT("addPaethAVX2", NOSPLIT, "func(row, above, raw *byte, step, n int)")
	row := Load(Param("row"), GP64())
	above := Load(Param("above"), GP64())
	raw := Load(Param("raw"), GP64())
	step := Load(Param("step"), GP64())
	n := Load(Param("n"), GP64())
	left, corner, up, x := XMM(), XMM(), XMM(), XMM()
	low, high, limit, below, packed := XMM(), XMM(), XMM(), XMM(), XMM()
	VPMOVZXBW(ptr(row), left)
	VPMOVZXBW(ptr(above), corner)
	rounds(n, func() {
		VPMOVZXBW(behind(above, step), up)
		VPMOVZXBW(ptr(raw), x)
		VPADDW(corner, corner, limit)
		VPADDW(corner, limit, limit)
		VPSUBW(up, limit, limit)
		VPSUBW(left, limit, limit)
		VPMINSW(left, up, low)
		VPMAXSW(left, up, high)
		VPCMPGTW(limit, high, below) // the smaller one does not do
		VPCMPGTW(low, limit, limit)  // nor the larger one
		VPBLENDVB(below, corner, low, low)
		VPBLENDVB(limit, low, high, left)
		VPADDB(x, left, left)
		VPACKUSWB(left, left, packed)
		VMOVQ(packed, behind(row, step))
		VMOVDQA(up, corner)
		ADDQ(step, raw)
		ADDQ(step, above)
		ADDQ(step, row)
	})
	RET()
}

// adler adds up bytes, what is before each 32 of them, and these by their distance from
// the end of the 32.
func adler() {
	weights := bytes("weights", func(i int) byte { return byte(32 - i) })
	ones := words("ones", 1)
	TEXT("adlerAVX2", NOSPLIT, "func(sums, p *byte, n int)")
	sums := Load(Param("sums"), GP64())
	p := Load(Param("p"), GP64())
	n := Load(Param("n"), GP64())
	sum, before, weighted, zero, x, y := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VPXOR(sum, sum, sum)
	VPXOR(before, before, before)
	VPXOR(weighted, weighted, weighted)
	VPXOR(zero, zero, zero)
	rounds(n, func() {
		VMOVDQU(ptr(p), x)
		VPADDQ(sum, before, before)
		VPSADBW(zero, x, y)
		VPADDQ(y, sum, sum)
		VPMADDUBSW(weights, x, x)
		VPMADDWD(ones, x, x)
		VPADDD(x, weighted, weighted)
		ADDQ(U32(32), p)
	})
	VMOVDQU(sum, Mem{Base: sums})
	VMOVDQU(before, Mem{Base: sums, Disp: 32})
	VPSRLQ(Imm(32), weighted, x)
	VPBLENDD(Imm(0b10101010), zero, weighted, weighted)
	VPADDQ(x, weighted, weighted)
	VMOVDQU(weighted, Mem{Base: sums, Disp: 64})
	VZEROUPPER()
	RET()
}

// narrow takes the first byte of each value, and one more or less where the second byte
// is further from it than 128.
func narrow() {
	first, most, least := words("firsts", 0xff), words("most", 128), words("least", -128)
	TEXT("narrowAVX2", NOSPLIT, "func(dst, src *byte, n int)")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	value, rest, more, less := YMM(), YMM(), YMM(), YMM()
	rounds(n, func() {
		VMOVDQU(ptr(src), value)
		VPSRLW(Imm(8), value, rest)
		VPAND(first, value, value)
		VPSUBW(value, rest, rest)
		VPCMPGTW(most, rest, more) // -1
		VMOVDQU(least, less)
		VPCMPGTW(rest, less, less)
		VPSUBW(more, value, value)
		VPADDW(less, value, value)
		VPACKUSWB(value, value, value)
		VPERMQ(Imm(0b1000), value, value)
		VMOVDQU(value.AsX(), ptr(dst))
		ADDQ(U32(32), src)
		ADDQ(U32(16), dst)
	})
	VZEROUPPER()
	RET()
}

func shuffle() {
	TEXT("shuffleAVX2", NOSPLIT, "func(dst, src, order *byte, to, from, n int)")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	order := Load(Param("order"), GP64())
	to := Load(Param("to"), GP64())
	from := Load(Param("from"), GP64())
	n := Load(Param("n"), GP64())
	by, x := XMM(), XMM()
	VMOVDQU(ptr(order), by)
	rounds(n, func() {
		VMOVDQU(ptr(src), x)
		VPSHUFB(by, x, x)
		VMOVDQU(x, ptr(dst))
		ADDQ(from, src)
		ADDQ(to, dst)
	})
	RET()
}
