//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// What stays in V0 to V3: 128, 255, 0 and the factors of Cr in red, Cb in green, Cr in green
// and Cb in blue.
DATA colorFactors<>+0(SB)/8, $0xBEB032A23FB374BC
DATA colorFactors<>+8(SB)/8, $0x3FE2D0E5BF36D1A3
GLOBL colorFactors<>(SB), RODATA|NOPTR, $16

#define CONSTANTS(r) \
	MOVD $colorFactors<>(SB), r; \
	VLD1 (r), [V3.S4]; \
	MOVD $0x43000000, r; \
	VDUP r, V0.S4; \
	MOVD $0x437F0000, r; \
	VDUP r, V1.S4; \
	VEOR V2.B16, V2.B16, V2.B16

// CONVERT makes r, g and b of y, cb and cr, four pixels at a time. V4 is lost, and so are cb and cr.
// FMAX takes 0 for larger than -0.
#define CONVERT(y, cb, cr, r, g, b) \
	FSUB(0, cb, cb); \
	FSUB(0, cr, cr); \
	FMULE(3, 0, cr, r); \
	FMULE(3, 1, cb, g); \
	FMULE(3, 2, cr, 4); \
	FMULE(3, 3, cb, b); \
	FADD(y, r, r); \
	FADD(y, g, g); \
	FADD(y, b, b); \
	FADD(4, g, g); \
	FMAX(2, r, r); \
	FMAX(2, b, b); \
	FMAX(2, g, g); \
	FMIN(1, r, r); \
	FMIN(1, b, b); \
	FMIN(1, g, g)

#define AFFINE(scale, bias, v) \
	FMUL(scale, v, v); \
	FADD(bias, v, v)

// func toRGBNEON(y, cb, cr *float32, n int)
TEXT ·toRGBNEON(SB), NOSPLIT, $0-32
	MOVD y+0(FP), R0
	MOVD cb+8(FP), R1
	MOVD cr+16(FP), R2
	MOVD n+24(FP), R3
	CONSTANTS(R4)

pixels:
	VLD1 (R0), [V16.S4, V17.S4]
	VLD1 (R1), [V18.S4, V19.S4]
	VLD1 (R2), [V20.S4, V21.S4]
	CONVERT(16, 18, 20, 22, 24, 26)
	CONVERT(17, 19, 21, 23, 25, 27)
	VST1.P [V22.S4, V23.S4], 32(R0)
	VST1.P [V24.S4, V25.S4], 32(R1)
	VST1.P [V26.S4, V27.S4], 32(R2)
	SUBS $8, R3, R3
	BNE pixels
	RET

// func toRGBAffineNEON(red, green, blue, y, cb, cr *float32, n int, norm *norms)
TEXT ·toRGBAffineNEON(SB), NOSPLIT, $0-64
	MOVD red+0(FP), R0
	MOVD green+8(FP), R1
	MOVD blue+16(FP), R2
	MOVD y+24(FP), R3
	MOVD cb+32(FP), R4
	MOVD cr+40(FP), R5
	MOVD n+48(FP), R6
	MOVD norm+56(FP), R7
	CONSTANTS(R8)
	MOVD $32, R8 // from eight copies of a number to the next eight
	VLD1.P (R7)(R8), [V5.S4]
	VLD1.P (R7)(R8), [V6.S4]
	VLD1.P (R7)(R8), [V7.S4]
	VLD1.P (R7)(R8), [V8.S4]
	VLD1.P (R7)(R8), [V9.S4]
	VLD1.P (R7)(R8), [V10.S4]

pixels:
	VLD1.P 32(R3), [V16.S4, V17.S4]
	VLD1.P 32(R4), [V18.S4, V19.S4]
	VLD1.P 32(R5), [V20.S4, V21.S4]
	CONVERT(16, 18, 20, 22, 24, 26)
	CONVERT(17, 19, 21, 23, 25, 27)
	AFFINE(5, 6, 22)
	AFFINE(5, 6, 23)
	AFFINE(7, 8, 24)
	AFFINE(7, 8, 25)
	AFFINE(9, 10, 26)
	AFFINE(9, 10, 27)
	VST1.P [V22.S4, V23.S4], 32(R0)
	VST1.P [V24.S4, V25.S4], 32(R1)
	VST1.P [V26.S4, V27.S4], 32(R2)
	SUBS $8, R6, R6
	BNE pixels
	RET
