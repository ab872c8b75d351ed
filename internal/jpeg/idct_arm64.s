//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// The factors of idct8 in idct.go, products written out, as elements of V14 and V15.
#define K_11363 112
#define K_2260 113
#define K_9633 114
#define K_6437 115
#define K_m6436 116
#define K_m2259 117
#define K_m11362 118
#define K_2261 119
#define K_m11363 120
#define K_4433 121
#define K_m10704 122
#define K_10703 123

DATA idctFactors<>+0(SB)/8, $0x192525A108D42C63
DATA idctFactors<>+8(SB)/8, $0x08D5D39EF72DE6DC
DATA idctFactors<>+16(SB)/8, $0x29CFD6301151D39D
DATA idctFactors<>+24(SB)/8, $0
GLOBL idctFactors<>(SB), RODATA|NOPTR, $32

// The inputs of a pass are in the order of a block: x0 in V0, then x4, x2, x6, x1, x7, x3
// and x5 in V7. EVEN takes the sum of x0 and x4 from V24 and their difference from V25, and
// leaves the sums e0 in V28, e1 in V29, e2 in V25 and e3 in V24.
#define EVEN(MUL, MLA) \
	VSHL $13, V24.S4, V24.S4; \
	VSHL $13, V25.S4, V25.S4; \
	MUL(K_4433, 2, 26); \
	MUL(K_10703, 2, 27); \
	MLA(K_m10704, 3, 26); \
	MLA(K_4433, 3, 27); \
	VADD V26.S4, V25.S4, V29.S4; \
	VSUB V26.S4, V25.S4, V25.S4; \
	VADD V27.S4, V24.S4, V28.S4; \
	VSUB V27.S4, V24.S4, V24.S4

// ODD leaves o0 in V26, o1 in V27, o2 in V30 and o3 in V31.
#define ODD(MUL, MLA) \
	MUL(K_11363, 4, 26); \
	MUL(K_9633, 4, 27); \
	MUL(K_6437, 4, 30); \
	MUL(K_2260, 4, 31); \
	MLA(K_2260, 5, 26); \
	MLA(K_m6436, 5, 27); \
	MLA(K_9633, 5, 30); \
	MLA(K_m11363, 5, 31); \
	MLA(K_9633, 6, 26); \
	MLA(K_m2259, 6, 27); \
	MLA(K_m11362, 6, 30); \
	MLA(K_m6436, 6, 31); \
	MLA(K_6437, 7, 26); \
	MLA(K_m11362, 7, 27); \
	MLA(K_2261, 7, 30); \
	MLA(K_9633, 7, 31)

// PAIR stores e + o and e - o as a pass over the columns does.
#define PAIR(NARROW, o, e, sum, difference) \
	VADD o.S4, e.S4, V8.S4; \
	VSUB o.S4, e.S4, V9.S4; \
	NARROW(11, 8, sum); \
	NARROW(11, 9, difference)

#define COLUMNS(ADDL, SUBL, MUL, MLA, NARROW) \
	ADDL(1, 0, 24); \
	SUBL(1, 0, 25); \
	EVEN(MUL, MLA); \
	ODD(MUL, MLA); \
	PAIR(NARROW, V26, V28, 16, 23); \
	PAIR(NARROW, V27, V29, 17, 22); \
	PAIR(NARROW, V30, V25, 18, 21); \
	PAIR(NARROW, V31, V24, 19, 20)

// ROWS leaves the upper 16 bits of the sums. V13 holds what rounds and moves the samples
// from around 0 to around 128.
#define ROWS(ADDW, SUBW, MUL, MLA, ADDN, SUBN) \
	ADDW(0, 13, 25); \
	ADDW(1, 25, 24); \
	SUBW(1, 25, 25); \
	EVEN(MUL, MLA); \
	ODD(MUL, MLA); \
	ADDN(26, 28, 16); \
	SUBN(26, 28, 23); \
	ADDN(27, 29, 17); \
	SUBN(27, 29, 22); \
	ADDN(30, 25, 18); \
	SUBN(30, 25, 21); \
	ADDN(31, 24, 19); \
	SUBN(31, 24, 20)

#define ZIP(T, a, b, lower, upper) \
	VZIP1 b.T, a.T, lower.T; \
	VZIP2 b.T, a.T, upper.T

// func idctNEON(dst *uint8, stride int, b *block, q *quantTable)
TEXT ·idctNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD b+16(FP), R2
	MOVD q+24(FP), R3
	MOVD $idctFactors<>(SB), R4
	VLD1 (R4), [V14.B16, V15.B16]
	MOVD $4112, R5 // 2^25 + 2^17, before the shift by 13
	VDUP R5, V13.S4

	// Dequantise and clear the block.
	MOVD R2, R6
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VLD2.P 32(R2), [V0.H8, V1.H8]
	VLD2.P 32(R2), [V2.H8, V3.H8]
	VLD2.P 32(R2), [V4.H8, V5.H8]
	VLD2.P 32(R2), [V6.H8, V7.H8]
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(R6)
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(R6)
	VLD2.P 32(R3), [V16.H8, V17.H8]
	VLD2.P 32(R3), [V18.H8, V19.H8]
	VLD2.P 32(R3), [V20.H8, V21.H8]
	VLD2.P 32(R3), [V22.H8, V23.H8]
	MUL_8H(16, 0, 0)
	MUL_8H(17, 1, 1)
	MUL_8H(18, 2, 2)
	MUL_8H(19, 3, 3)
	MUL_8H(20, 4, 4)
	MUL_8H(21, 5, 5)
	MUL_8H(22, 6, 6)
	MUL_8H(23, 7, 7)

	COLUMNS(SADDL, SSUBL, SMULL, SMLAL, SQRSHRN)
	COLUMNS(SADDL2, SSUBL2, SMULL2, SMLAL2, SQRSHRN2)

	// Transpose: columns come in the order of a block.
	ZIP(H8, V16, V20, V0, V4)
	ZIP(H8, V17, V21, V1, V5)
	ZIP(H8, V18, V22, V2, V6)
	ZIP(H8, V19, V23, V3, V7)
	ZIP(H8, V0, V2, V16, V18)
	ZIP(H8, V1, V3, V17, V19)
	ZIP(H8, V4, V6, V20, V22)
	ZIP(H8, V5, V7, V21, V23)
	ZIP(H8, V16, V17, V0, V1)
	ZIP(H8, V18, V19, V2, V3)
	ZIP(H8, V20, V21, V4, V5)
	ZIP(H8, V22, V23, V6, V7)

	ROWS(SADDW, SSUBW, SMULL, SMLAL, ADDHN, SUBHN)
	ROWS(SADDW2, SSUBW2, SMULL2, SMLAL2, ADDHN2, SUBHN2)

	// Columns 0 and 2, 1 and 3, 4 and 6, 5 and 7 as bytes, then transpose.
	SQSHRUN(2, 16, 0)
	SQSHRUN(2, 17, 1)
	SQSHRUN(2, 20, 2)
	SQSHRUN(2, 21, 3)
	SQSHRUN2(2, 18, 0)
	SQSHRUN2(2, 19, 1)
	SQSHRUN2(2, 22, 2)
	SQSHRUN2(2, 23, 3)
	ZIP(B16, V0, V2, V4, V5)
	ZIP(B16, V1, V3, V6, V7)
	ZIP(B16, V4, V5, V16, V17)
	ZIP(B16, V6, V7, V18, V19)
	ZIP(B16, V16, V18, V20, V21)
	ZIP(B16, V17, V19, V22, V23)
	VST1.P V20.D[0], (R0)(R1)
	VST1.P V20.D[1], (R0)(R1)
	VST1.P V21.D[0], (R0)(R1)
	VST1.P V21.D[1], (R0)(R1)
	VST1.P V22.D[0], (R0)(R1)
	VST1.P V22.D[1], (R0)(R1)
	VST1.P V23.D[0], (R0)(R1)
	VST1 V23.D[1], (R0)
	RET
