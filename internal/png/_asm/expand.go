package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These are constants and offsets of package png; a test there compares them.
const (
	readerSrc  = 0
	readerLen  = 8
	readerPos  = 24
	readerBits = 32
	readerN    = 40

	litBits, litTable   = 11, 4096
	distBits, distTable = 9, 1024

	bitsMask = 1<<6 - 1
	literals = 3 << 6
	isRare   = 1 << 12
	isEnd    = 1 << 13

	aheadBytes = 16

	ranOut, blockEnded, badCode, badDistance = 0, 1, 2, 3
)

// expander is the state of the kernel in registers.
type expander struct {
	src, last reg.Register // the next input, and the last place where it can be read
	out, full reg.Register // the next output, and the first place where there is no room
	window    reg.Register
	lit, dist reg.Register
	bits, n   reg.Register
	e         reg.Register // the entry of a table

	t, u reg.Register // of the moment
}

func expand() {
	patterns, strides := nearTables()
	TEXT("expandAVX2", NOSPLIT, "func(r *byte, lit, dist *uint32, window *byte, to, limit int) (end, why int)")
	r := Load(Param("r"), GP64())
	x := expander{
		src: GP64(), last: GP64(), out: GP64(), full: GP64(), window: GP64(), lit: GP64(), dist: GP64(),
		bits: GP64(), n: GP64(), e: GP64(), t: GP64(), u: GP64(),
	}
	MOVQ(Mem{Base: r, Disp: readerSrc}, x.src)
	MOVQ(Mem{Base: r, Disp: readerLen}, x.last)
	LEAQ(Mem{Base: x.src, Index: x.last, Scale: 1, Disp: -aheadBytes}, x.last)
	ADDQ(Mem{Base: r, Disp: readerPos}, x.src)
	MOVQ(Mem{Base: r, Disp: readerBits}, x.bits)
	MOVQ(Mem{Base: r, Disp: readerN}, x.n)
	Load(Param("window"), x.window)
	Load(Param("lit"), x.lit)
	Load(Param("dist"), x.dist)
	Load(Param("to"), x.out)
	Load(Param("limit"), x.full)
	ADDQ(x.window, x.out)
	ADDQ(x.window, x.full)

	Label("loop")
	XORL(x.t.(reg.GPVirtual).As32(), x.t.(reg.GPVirtual).As32()) // ranOut
	CMPQ(x.src, x.last)
	JA(LabelRef("done"))
	CMPQ(x.out, x.full)
	JAE(LabelRef("done"))
	x.refill()
	x.look(x.lit, litBits)
	TESTB(U8(literals), low8(x.e))
	JZ(LabelRef("other"))
	x.literals()
	x.look(x.lit, litBits)
	TESTB(U8(literals), low8(x.e))
	JZ(LabelRef("otherBehind"))
	x.literals()
	x.look(x.lit, litBits)
	TESTB(U8(literals), low8(x.e))
	JZ(LabelRef("otherBehind"))
	x.literals()
	JMP(LabelRef("loop"))

	Label("otherBehind")
	x.refill()
	Label("other")
	TESTL(U32(isRare), low32(x.e))
	JNZ(LabelRef("rare"))
	Label("length")
	length, distance := GP64(), GP64()
	x.value(length)
	x.look(x.dist, distBits)
	TESTL(U32(isRare), low32(x.e))
	JNZ(LabelRef("rareDistance"))
	Label("distance")
	x.value(distance)
	MOVQ(x.out, x.t)
	SUBQ(x.window, x.t)
	CMPQ(distance, x.t)
	JA(LabelRef("badDistance"))
	x.copy(patterns, strides, length, distance)

	Label("rare")
	TESTL(U32(isEnd), low32(x.e))
	JNZ(LabelRef("end"))
	x.second(x.lit, litBits, litTable, "badCode")
	TESTB(U8(literals), low8(x.e))
	JZ(LabelRef("secondOther"))
	x.literals()
	JMP(LabelRef("loop"))
	Label("secondOther")
	TESTL(U32(isRare), low32(x.e))
	JZ(LabelRef("length"))
	TESTL(U32(isEnd), low32(x.e))
	JZ(LabelRef("badCode"))
	Label("end")
	x.consume()
	MOVQ(U32(blockEnded), x.t)
	JMP(LabelRef("done"))

	Label("rareDistance")
	x.second(x.dist, distBits, distTable, "badDistance")
	TESTL(U32(isRare), low32(x.e))
	JZ(LabelRef("distance"))
	Label("badDistance")
	MOVQ(U32(badDistance), x.t)
	JMP(LabelRef("done"))
	Label("badCode")
	MOVQ(U32(badCode), x.t)

	Label("done")
	Load(Param("r"), r)
	SUBQ(Mem{Base: r, Disp: readerSrc}, x.src)
	MOVQ(x.src, Mem{Base: r, Disp: readerPos})
	MOVQ(x.bits, Mem{Base: r, Disp: readerBits})
	MOVQ(x.n, Mem{Base: r, Disp: readerN})
	SUBQ(x.window, x.out)
	Store(x.out, ReturnIndex(0))
	Store(x.t, ReturnIndex(1))
	RET()
}

func low32(r reg.Register) reg.Register { return r.(reg.GPVirtual).As32() }
func low8(r reg.Register) reg.Register  { return r.(reg.GPVirtual).As8() }

// refill makes bits hold 56 at least.
func (x *expander) refill() {
	MOVQ(ptr(x.src), x.t)
	SHLXQ(x.n, x.t, x.t)
	ORQ(x.t, x.bits)
	MOVQ(U32(63), x.t)
	SUBQ(x.n, x.t)
	SHRQ(Imm(3), x.t)
	ADDQ(x.t, x.src)
	ORQ(U32(56), x.n)
}

// look loads the entry of the next bits.
func (x *expander) look(table reg.Register, tableBits int) {
	MOVL(low32(x.bits), low32(x.t))
	ANDL(U32(1<<tableBits-1), low32(x.t))
	MOVL(Mem{Base: table, Index: x.t, Scale: 4}, low32(x.e))
}

// second loads the entry that a second table has, and goes elsewhere where there is none.
func (x *expander) second(table reg.Register, tableBits, size int, none string) {
	MOVL(low32(x.e), low32(x.t))
	SHRL(Imm(8), low32(x.t))
	ANDL(U32(15), low32(x.t))
	SHRL(Imm(16), low32(x.e))
	JZ(LabelRef(none))
	MOVQ(x.bits, x.u)
	SHRQ(Imm(uint64(tableBits)), x.u)
	BZHIQ(x.t, x.u, x.u)
	ADDL(low32(x.u), low32(x.e))
	ANDL(U32(uint32(size-1)), low32(x.e))
	MOVL(Mem{Base: table, Index: x.e, Scale: 4}, low32(x.e))
}

// consume takes the bits of the entry.
func (x *expander) consume() {
	SHRXQ(x.e, x.bits, x.bits) // by the lowest 6 bits
	MOVL(low32(x.e), low32(x.t))
	ANDL(U32(bitsMask), low32(x.t))
	SUBQ(x.t, x.n)
}

// literals writes the literals of an entry.
func (x *expander) literals() {
	MOVL(low32(x.e), low32(x.t))
	SHRL(Imm(8), low32(x.t))
	MOVL(low32(x.t), ptr(x.out))
	x.consume()
	MOVBLZX(low8(x.e), low32(x.t))
	SHRL(Imm(6), low32(x.t))
	ADDQ(x.t, x.out)
}

// value sets v to the length or distance that an entry and the bits behind its code say.
func (x *expander) value(v reg.Register) {
	BZHIQ(x.e, x.bits, v) // by the lowest 8 bits, of which two are zero
	MOVL(low32(x.e), low32(x.t))
	SHRL(Imm(8), low32(x.t))
	SHRXQ(x.t, v, v) // by the lowest 6 bits, likewise
	x.consume()
	SHRL(Imm(16), low32(x.e))
	ADDQ(x.e, v)
}

// copy copies so many bytes from a distance, and up to 15 more. From nearby it writes
// patterns, which repeat.
func (x *expander) copy(patterns, strides Mem, length, distance reg.Register) {
	some := XMM()
	ADDQ(x.out, length)
	MOVQ(x.out, x.t)
	SUBQ(distance, x.t)
	VMOVDQU(ptr(x.t), some)
	CMPQ(distance, U8(16))
	JB(LabelRef("near"))
	Label("far")
	VMOVDQU(some, ptr(x.out))
	ADDQ(U32(16), x.t)
	ADDQ(U32(16), x.out)
	VMOVDQU(ptr(x.t), some)
	CMPQ(x.out, length)
	JB(LabelRef("far"))
	MOVQ(length, x.out)
	JMP(LabelRef("loop"))

	Label("near")
	LEAQ(strides, x.t)
	MOVBLZX(Mem{Base: x.t, Index: distance, Scale: 1}, low32(x.t))
	SHLL(Imm(4), low32(distance))
	LEAQ(patterns, x.u)
	VPSHUFB(Mem{Base: x.u, Index: distance, Scale: 1}, some, some)
	Label("pattern")
	VMOVDQU(some, ptr(x.out))
	ADDQ(x.t, x.out)
	CMPQ(x.out, length)
	JB(LabelRef("pattern"))
	MOVQ(length, x.out)
	JMP(LabelRef("loop"))
}

// nearTables declares, for distances below 16, how 16 bytes are filled with a pattern of
// that length, and in how many of them it comes out even.
func nearTables() (patterns, strides Mem) {
	patterns = GLOBL("patterns", RODATA|NOPTR)
	for i := range 16 * 16 {
		DATA(i, U8(byte(i%16%max(1, i/16))))
	}
	strides = GLOBL("strides", RODATA|NOPTR)
	for i := range 16 {
		DATA(i, U8(byte(16/max(1, i)*i)))
	}
	return patterns, strides
}
