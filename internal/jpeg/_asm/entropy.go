package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What huffman.go and block.go of package jpeg define.
const (
	acBits        = 10
	dcBits        = 9
	blockSize     = 64
	advanceEnd    = 128
	advanceEscape = 192
	maxLookup     = 18
)

// The places of fields in its bitReader and scanComponent.
const (
	readerBits   = 0
	readerN      = 8
	readerPos    = 16
	readerWindow = 24

	componentDC     = 0
	componentAC     = 8
	componentQuant  = 16
	componentStride = 24
	componentPred   = 32
)

// lookups is how many AC lookups one refill leaves bits for.
const lookups = 56 / maxLookup

// entropy is the state of the block decoder in registers.
type entropy struct {
	bits, n, p reg.GPVirtual // p points to the next byte to load; n has its 6 lower bits right only
	ac, b, zz  reg.GPVirtual
	k, e       reg.GPVirtual
}

func (s *entropy) load(r reg.Register) {
	s.bits, s.n, s.p = GP64(), GP64(), GP64()
	MOVQ(Mem{Base: r, Disp: readerBits}, s.bits)
	MOVQ(Mem{Base: r, Disp: readerN}, s.n)
	MOVQ(Mem{Base: r, Disp: readerPos}, s.p)
	LEAQ(Mem{Base: r, Index: s.p, Scale: 1, Disp: readerWindow}, s.p)
	s.ac, s.k, s.e = GP64(), GP64(), GP64()
}

// loadBlock loads what storing coefficients takes.
func (s *entropy) loadBlock(component reg.Register) {
	s.b, s.zz = GP64(), GP64()
	MOVQ(Mem{Base: component, Disp: componentAC}, s.ac)
	Load(Param("b"), s.b)
	LEAQ(Mem{Symbol: Symbol{Name: "·zigzag"}, Base: reg.StaticBase}, s.zz)
}

func (s *entropy) save(r reg.Register) {
	ANDQ(Imm(63), s.n)
	SUBQ(r, s.p)
	SUBQ(Imm(readerWindow), s.p)
	MOVQ(s.bits, Mem{Base: r, Disp: readerBits})
	MOVQ(s.n, Mem{Base: r, Disp: readerN})
	MOVQ(s.p, Mem{Base: r, Disp: readerPos})
}

// refill loads bits up to at least 56.
func (s *entropy) refill() {
	next, bytes := GP64(), GP64()
	MOVQ(Mem{Base: s.p}, next)
	BSWAPQ(next)
	SHRXQ(s.n, next, next)
	ORQ(next, s.bits)
	MOVQ(s.n, bytes)
	NOTQ(bytes)
	SHRQ(Imm(3), bytes)
	ANDQ(Imm(7), bytes)
	ADDQ(bytes, s.p)
	ORQ(Imm(56), s.n)
}

// take drops as many bits as the low byte of count says.
func (s *entropy) take(count reg.Register) {
	SHLXQ(count, s.bits, s.bits)
	SUBQ(count, s.n)
}

// field copies e, shifted down.
func (s *entropy) field(shift uint64) reg.GPVirtual {
	f := GP64()
	RORXQ(Imm(shift), s.e, f)
	return f
}

// store writes a value at the counter.
func (s *entropy) store(value reg.GPVirtual) {
	slot := GP64()
	MOVBQZX(Mem{Base: s.zz, Index: s.k, Scale: 1}, slot)
	MOVW(value.As16(), Mem{Base: s.b, Index: slot, Scale: 2})
}

// coefficient advances the counter by the field of e at the given place and stores a
// value.
func (s *entropy) coefficient(advanceAt uint64, value reg.GPVirtual) {
	ADDL(s.field(advanceAt).As32(), s.k.As32())
	MOVBLZX(s.k.As8(), s.k.As32())
	s.store(value)
}

// second returns the second value of e, as acEntry.value2 does.
func (s *entropy) second() reg.GPVirtual {
	value, negative := GP64(), GP64()
	SHLXQ(s.field(48), s.bits, value)
	MOVQ(value, negative)
	NOTQ(negative)
	SARQ(Imm(63), negative)
	XORQ(negative, value)
	SHRQ(Imm(1), value)
	SHRXQ(s.field(56), value, value)
	XORQ(negative, value)
	SUBQ(negative, value)
	return value
}

// receive returns the value that the first size bits stand for (T.81 figure F.12):
// less 2^size - 1 if the first of them is 0. The lower 6 bits of size count.
func receive(bits, size reg.GPVirtual) reg.GPVirtual {
	value, count, extend, sign := GP64(), GP64(), GP64(), GP64()
	MOVQ(bits, value)
	SHRQ(Imm(1), value)
	MOVQ(size, count)
	NOTQ(count)
	SHRXQ(count, value, value) // by 63 - size
	MOVQ(I32(-1), extend)
	SHLXQ(size, extend, extend)
	INCQ(extend)
	MOVQ(bits, sign)
	SARQ(Imm(63), sign)
	ANDNQ(extend, sign, extend)
	ADDQ(extend, value)
	return value
}

// decodeDC starts a block: it advances the predictor of the component, returns it and
// sets the counter to 1. If the table does not hold the code it jumps to done with
// counter 0.
func (s *entropy) decodeDC(component reg.Register) (pred reg.GPVirtual) {
	s.refill()
	e, index := GP64(), GP64()
	MOVQ(s.bits, index)
	SHRQ(Imm(64-dcBits), index)
	MOVQ(Mem{Base: component, Disp: componentDC}, e)
	MOVL(Mem{Base: e, Index: index, Scale: 4}, e.As32())
	XORL(s.k.As32(), s.k.As32())
	TESTL(e.As32(), e.As32())
	JZ(LabelRef("done"))
	INCL(s.k.As32())
	length, size, behind := GP64(), GP64(), GP64()
	RORXQ(Imm(8), e, length)
	RORXQ(Imm(16), e, size)
	SHLXQ(length, s.bits, behind)
	s.take(e)
	pred = receive(behind, size)
	ADDL(Mem{Base: component, Disp: componentPred}, pred.As32())
	MOVL(pred.As32(), Mem{Base: component, Disp: componentPred})
	return pred
}

// lookup loads the entry for the next bits.
func (s *entropy) lookup() {
	index := GP64()
	MOVQ(s.bits, index)
	SHRQ(Imm(64-acBits), index)
	MOVQ(Mem{Base: s.ac, Index: index, Scale: 8}, s.e)
}

// last takes the lookup that has brought the counter to the end of the block. Where
// its first coefficient is the block's last, what it read behind it is none, and undo
// is called with the counter set back.
func (s *entropy) last(undo func()) {
	Label("last")
	first := GP64()
	MOVL(s.k.As32(), first.As32())
	SUBL(s.field(40).As32(), first.As32())
	MOVBLZX(first.As8(), first.As32())
	CMPL(first.As32(), U32(blockSize))
	JB(LabelRef("whole"))
	CMPL(first.As32(), s.k.As32())
	JNE(LabelRef("undo"))
	Label("whole")
	s.take(s.e)
	JMP(LabelRef("end"))

	Label("undo")
	MOVL(first.As32(), s.k.As32())
	undo()
	s.take(s.field(32))
	Label("end")
}

// decodeAC decodes up to the end of the block, then transforms it if dst is not nil.
// It returns the counter.
func (s *entropy) decodeAC(r, component reg.Register, idct *idctData) {
	Label("refill")
	s.refill()
	for i := range lookups {
		Comment(fmt.Sprintf("Lookup %d.", i+1))
		s.lookup()
		s.coefficient(8, s.field(16))
		s.coefficient(40, s.second())
		CMPL(s.k.As32(), U32(blockSize))
		JAE(LabelRef("last"))
		s.take(s.e)
	}
	JMP(LabelRef("refill"))

	s.last(func() { s.store(s.field(16)) })
	Label("done")
	s.save(r)
	Store(s.k, ReturnIndex(0))
	CMPL(s.k.As32(), U32(blockSize))
	JB(LabelRef("return"))
	CMPL(s.k.As32(), U32(advanceEscape))
	JAE(LabelRef("return"))
	dst := Load(Param("dst"), GP64())
	TESTQ(dst, dst)
	JZ(LabelRef("return"))
	stride, quant := GP64(), GP64()
	MOVQ(Mem{Base: component, Disp: componentStride}, stride)
	MOVQ(Mem{Base: component, Disp: componentQuant}, quant)
	CMPL(s.k.As32(), U32(advanceEnd+1))
	JE(LabelRef("flat"))
	idct.transform(dst, stride, s.b, quant)
	RET()

	Label("flat")
	dc := GP64()
	MOVW(Mem{Base: s.b}, dc.As16())
	IMULW(Mem{Base: quant}, dc.As16())
	MOVW(U16(0), Mem{Base: s.b})
	fillFlat(dst, stride, dc)
	Label("return")
	RET()
}

// fillFlat writes a block without AC coefficients, given the product of the DC
// coefficient with its factor.
func fillFlat(dst, stride reg.Register, dc reg.GPVirtual) {
	limit, stride3 := GP64(), GP64()
	MOVWLSX(dc.As16(), dc.As32())
	ADDL(Imm(4), dc.As32())
	SARL(Imm(3), dc.As32())
	ADDL(U32(128), dc.As32())
	XORL(limit.As32(), limit.As32())
	TESTL(dc.As32(), dc.As32())
	CMOVLLT(limit.As32(), dc.As32())
	MOVL(U32(255), limit.As32())
	CMPL(dc.As32(), limit.As32())
	CMOVLGT(limit.As32(), dc.As32())
	MOVQ(U64(0x0101010101010101), limit)
	IMULQ(limit, dc)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	for half := range 2 {
		MOVQ(dc, Mem{Base: dst})
		MOVQ(dc, Mem{Base: dst, Index: stride, Scale: 1})
		MOVQ(dc, Mem{Base: dst, Index: stride, Scale: 2})
		MOVQ(dc, Mem{Base: dst, Index: stride3, Scale: 1})
		if half == 0 {
			LEAQ(Mem{Base: dst, Index: stride, Scale: 4}, dst)
		}
	}
}

// decodeBlock makes decodeBlockAVX2.
func decodeBlock(idct *idctData) {
	TEXT("decodeBlockAVX2", NOSPLIT, "func(r, c, b, dst *byte) (k int)")
	r := Load(Param("r"), GP64())
	c := Load(Param("c"), GP64())
	var s entropy
	s.load(r)
	s.loadBlock(c)
	MOVW(s.decodeDC(c).As16(), Mem{Base: s.b})
	s.decodeAC(r, c, idct)
}

// decodeAC makes decodeACAVX2.
func decodeAC(idct *idctData) {
	TEXT("decodeACAVX2", NOSPLIT, "func(r, c, b, dst *byte, start int) (k int)")
	r := Load(Param("r"), GP64())
	c := Load(Param("c"), GP64())
	var s entropy
	s.load(r)
	s.loadBlock(c)
	Load(Param("start"), s.k)
	CMPL(s.k.As32(), U32(blockSize))
	JAE(LabelRef("done"))
	s.decodeAC(r, c, idct)
}

// skipMCU makes skipMCUAVX2.
func skipMCU() {
	TEXT("skipMCUAVX2", NOSPLIT, "func(r, comps *byte, block, n, start int) (at, k int)")
	r := Load(Param("r"), GP64())
	comps := Load(Param("comps"), GP64())
	block := Load(Param("block"), GP64())
	n := Load(Param("n"), GP64())
	var s entropy
	s.load(r)
	Load(Param("start"), s.k)
	component := GP64()
	MOVQ(Mem{Base: comps, Index: block, Scale: 8}, component)
	MOVQ(Mem{Base: component, Disp: componentAC}, s.ac)
	CMPL(s.k.As32(), U32(blockSize))
	JAE(LabelRef("end"))
	TESTL(s.k.As32(), s.k.As32())
	JNZ(LabelRef("refill"))

	Label("block")
	MOVQ(Mem{Base: comps, Index: block, Scale: 8}, component)
	MOVQ(Mem{Base: component, Disp: componentAC}, s.ac)
	s.decodeDC(component)

	Label("refill")
	s.refill()
	for i := range lookups {
		Comment(fmt.Sprintf("Lookup %d.", i+1))
		s.lookup()
		ADDL(s.field(8).As32(), s.k.As32())
		ADDL(s.field(40).As32(), s.k.As32())
		MOVBLZX(s.k.As8(), s.k.As32())
		CMPL(s.k.As32(), U32(blockSize))
		JAE(LabelRef("last"))
		s.take(s.e)
	}
	JMP(LabelRef("refill"))

	s.last(func() {})
	CMPL(s.k.As32(), U32(blockSize))
	JE(LabelRef("step"))
	CMPL(s.k.As32(), U32(advanceEnd))
	JBE(LabelRef("done"))
	CMPL(s.k.As32(), U32(advanceEscape))
	JAE(LabelRef("done"))
	Label("step")
	XORL(s.k.As32(), s.k.As32())
	INCQ(block)
	CMPQ(block, n)
	JB(LabelRef("block"))

	Label("done")
	s.save(r)
	Store(block, ReturnIndex(0))
	Store(s.k, ReturnIndex(1))
	RET()
}
