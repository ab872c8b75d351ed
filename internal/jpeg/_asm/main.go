// Command asm generates the AVX2 kernels of package jpeg. Their Go declarations are
// written by hand in kernels_amd64.go, with the types of the package; here all
// pointers are to bytes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	c := idctConstants()
	decodeBlock(c)
	decodeAC(c)
	skipMCU()
	idct(c)
	idct4()
	idct2()
	upsampleH2V2()
	upsampleH2()
	yccToRGB()
	Generate()
}

// words declares 32 bytes of constant data that repeat the given 16-bit values.
func words(name string, values ...int16) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(2*i, U16(uint16(values[i%len(values)])))
	}
	return m
}

// dwords declares 32 bytes of constant data that repeat a 32-bit value.
func dwords(name string, value int32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(value)))
	}
	return m
}

// perLane declares 32 bytes of constant data that repeat 16.
func perLane(name string, lane [16]byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(lane[i%16]))
	}
	return m
}

func ymm() reg.VecVirtual { return YMM() }
