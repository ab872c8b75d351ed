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

// DEQUANTISE leaves the rows of a block in V0 to V7, in its order: 0, 4, 2, 6, 1, 7, 3 and 5. It
// clears the block.
#define DEQUANTISE(b, q, r) \
	MOVD b, r; \
	VEOR V8.B16, V8.B16, V8.B16; \
	VEOR V9.B16, V9.B16, V9.B16; \
	VEOR V10.B16, V10.B16, V10.B16; \
	VEOR V11.B16, V11.B16, V11.B16; \
	VLD2.P 32(b), [V0.H8, V1.H8]; \
	VLD2.P 32(b), [V2.H8, V3.H8]; \
	VLD2.P 32(b), [V4.H8, V5.H8]; \
	VLD2.P 32(b), [V6.H8, V7.H8]; \
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(r); \
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(r); \
	VLD2.P 32(q), [V16.H8, V17.H8]; \
	VLD2.P 32(q), [V18.H8, V19.H8]; \
	VLD2.P 32(q), [V20.H8, V21.H8]; \
	VLD2.P 32(q), [V22.H8, V23.H8]; \
	MUL_8H(16, 0, 0); \
	MUL_8H(17, 1, 1); \
	MUL_8H(18, 2, 2); \
	MUL_8H(19, 3, 3); \
	MUL_8H(20, 4, 4); \
	MUL_8H(21, 5, 5); \
	MUL_8H(22, 6, 6); \
	MUL_8H(23, 7, 7)

#define ZIP(T, a, b, lower, upper) \
	VZIP1 b.T, a.T, lower.T; \
	VZIP2 b.T, a.T, upper.T

// func idctAssembly(dst *uint8, stride int, b *block, q *quantTable)
TEXT ·idctAssembly(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD b+16(FP), R2
	MOVD q+24(FP), R3
	MOVD $idctFactors<>(SB), R4
	VLD1 (R4), [V14.B16, V15.B16]
	MOVD $4112, R5 // 2^25 + 2^17, before the shift by 13
	VDUP R5, V13.S4

	DEQUANTISE(R2, R3, R6)

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

// The factors of idct4 in idct_reduced.go as elements of V14 and V15.
#define K_15137 112
#define K_m6270 113
#define K_20995 114
#define K_m4176 115
#define K_7373 116
#define K_m4926 117
#define K_8697 118
#define K_m1730 119
#define K_m17799 120
#define K_11893 121

DATA idct4Factors<>+0(SB)/8, $0xEFB05203E7823B21
DATA idct4Factors<>+8(SB)/8, $0xF93E21F9ECC21CCD
DATA idct4Factors<>+16(SB)/8, $0x000000002E75BA79
DATA idct4Factors<>+24(SB)/8, $0
GLOBL idct4Factors<>(SB), RODATA|NOPTR, $32

// The factors of idct2, twice each, as elements of V15.
#define K_29692 120
#define K_m5906 122
#define K_m10426 124
#define K_6967 126

DATA idct2Factors<>+0(SB)/8, $0xE8EEE8EE73FC73FC
DATA idct2Factors<>+8(SB)/8, $0x1B371B37D746D746
GLOBL idct2Factors<>(SB), RODATA|NOPTR, $16

// FOUR leaves the even parts of a pass in V28 and V29, the odd ones in V30 and V31. MLA2 is for x5, x6
// and x7.
#define FOUR(SHL, MUL, MLA, MLA2, round, x0, x1, x2, x3, x5, x6, x7) \
	SHL(14, x0, 24); \
	VADD round.S4, V24.S4, V24.S4; \
	MUL(K_15137, x2, 25); \
	MLA2(K_m6270, x6, 25); \
	MUL(K_20995, x1, 30); \
	MUL(K_8697, x1, 31); \
	MLA2(K_m4176, x7, 30); \
	MLA2(K_m1730, x7, 31); \
	MLA(K_7373, x3, 30); \
	MLA(K_m17799, x3, 31); \
	MLA2(K_m4926, x5, 30); \
	MLA2(K_11893, x5, 31); \
	VADD V25.S4, V24.S4, V28.S4; \
	VSUB V25.S4, V24.S4, V29.S4

// SUMS4 stores what a pass over columns makes.
#define SUMS4(NARROW) \
	VADD V30.S4, V28.S4, V24.S4; \
	VADD V31.S4, V29.S4, V25.S4; \
	VSUB V31.S4, V29.S4, V26.S4; \
	VSUB V30.S4, V28.S4, V27.S4; \
	NARROW(12, 24, 16); \
	NARROW(12, 25, 17); \
	NARROW(12, 26, 18); \
	NARROW(12, 27, 19)

// func idct4x4Assembly(dst *uint8, stride int, b *block, q *quantTable)
TEXT ·idct4x4Assembly(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD b+16(FP), R2
	MOVD q+24(FP), R3
	MOVD $idct4Factors<>(SB), R4
	VLD1 (R4), [V14.B16, V15.B16]
	MOVD $0x800, R5 // rounds the shift by 12
	VDUP R5, V12.S4
	MOVD $0x4040000, R5 // 2^26 + 2^18: moves samples by 128 and rounds the shift by 19
	VDUP R5, V13.S4
	DEQUANTISE(R2, R3, R6)

	FOUR(SSHLL, SMULL, SMLAL, SMLAL, V12, 0, 4, 2, 6, 7, 3, 5)
	SUMS4(SQSHRN)
	FOUR(SSHLL2, SMULL2, SMLAL2, SMLAL2, V12, 0, 4, 2, 6, 7, 3, 5)
	SUMS4(SQSHRN2)

	// Transpose: V20 gets columns 0 and 4, V21 2 and 6, V22 1 and 7, V23 3 and 5.
	VZIP1 V18.H8, V16.H8, V0.H8
	VZIP2 V18.H8, V16.H8, V1.H8
	VZIP1 V19.H8, V17.H8, V2.H8
	VZIP2 V19.H8, V17.H8, V3.H8
	VZIP1 V2.H8, V0.H8, V20.H8
	VZIP2 V2.H8, V0.H8, V21.H8
	VZIP1 V3.H8, V1.H8, V22.H8
	VZIP2 V3.H8, V1.H8, V23.H8

	FOUR(SSHLL, SMULL, SMLAL, SMLAL2, V13, 20, 22, 21, 23, 23, 21, 22)
	ADDHN(30, 28, 16)
	ADDHN(31, 29, 17)
	SUBHN(31, 29, 18)
	SUBHN(30, 28, 19)
	VZIP1 V18.H8, V16.H8, V0.H8
	VZIP1 V19.H8, V17.H8, V1.H8
	VZIP1 V1.H8, V0.H8, V2.H8
	VZIP2 V1.H8, V0.H8, V3.H8
	SQSHRUN(3, 2, 4)
	SQSHRUN2(3, 3, 4)
	VST1.P V4.S[0], (R0)(R1)
	VST1.P V4.S[1], (R0)(R1)
	VST1.P V4.S[2], (R0)(R1)
	VST1 V4.S[3], (R0)
	RET

// TWO stores what a pass over columns makes.
#define TWO(SHL, MUL, MLA, NARROW) \
	SHL(15, 0, 24); \
	VADD V12.S4, V24.S4, V24.S4; \
	MUL(K_29692, 4, 25); \
	MLA(K_m5906, 5, 25); \
	MLA(K_m10426, 6, 25); \
	MLA(K_6967, 7, 25); \
	VADD V25.S4, V24.S4, V26.S4; \
	VSUB V25.S4, V24.S4, V27.S4; \
	NARROW(13, 26, 16); \
	NARROW(13, 27, 17)

// func idct2x2Assembly(dst *uint8, stride int, b *block, q *quantTable)
TEXT ·idct2x2Assembly(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD b+16(FP), R2
	MOVD q+24(FP), R3
	MOVD $idct2Factors<>(SB), R4
	VLD1 (R4), [V15.B16]
	MOVD $0x1000, R5 // rounds the shift by 13
	VDUP R5, V12.S4
	MOVD $0x8080000, R5 // 2^27 + 2^19: moves samples by 128 and rounds the shift by 20
	VDUP R5, V13.S4
	DEQUANTISE(R2, R3, R6)

	TWO(SSHLL, SMULL, SMLAL, SQSHRN)
	TWO(SSHLL2, SMULL2, SMLAL2, SQSHRN2)

	// Columns as pairs: 0 at the beginning of V20; 1, 7, 3 and 5 in V21.
	VZIP1 V17.H8, V16.H8, V20.H8
	VZIP2 V17.H8, V16.H8, V21.H8
	SSHLL(15, 20, 24)
	VADD V13.S4, V24.S4, V24.S4
	SMULLV(15, 21, 25)
	SMLALV2(15, 21, 25)
	VEXT $8, V25.B16, V25.B16, V26.B16
	VADD V26.S4, V25.S4, V25.S4
	ADDHN(25, 24, 16)
	SUBHN(25, 24, 17)
	VZIP1 V17.H8, V16.H8, V0.H8
	SQSHRUN(4, 0, 1)
	VST1.P V1.H[0], (R0)(R1)
	VST1 V1.H[1], (R0)
	RET
