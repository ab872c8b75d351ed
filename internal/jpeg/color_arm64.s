//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// The factors of color.go without their whole parts: of Cr in red, which is
// 1 + 2·13173/65536 here and makes the same of all Cr, of Cb in blue, which is
// 2 - 2·7471/65536, and of Cb and Cr in green, which is -1 + 18734/65536.
#define K_13173 120
#define K_m7471 121
#define K_m22554 122
#define K_18734 123

DATA colorFactors<>+0(SB)/8, $0x492EA7E6E2D13375
GLOBL colorFactors<>(SB), RODATA|NOPTR, $8

// HALF makes green in V16, blue in V17 and red in V18 of 8 pixels: u is Cb - 128, v is
// Cr - 128, WIDEN adds the luma in V0.
#define HALF(u, v, U, V, WIDEN, Y) \
	SMULL(K_m22554, u, 19); \
	SMULL2(K_m22554, u, 20); \
	SQRDMULH(K_m7471, u, 17); \
	SQRDMULH(K_13173, v, 18); \
	SMLAL(K_18734, v, 19); \
	SMLAL2(K_18734, v, 20); \
	VADD U.H8, V17.H8, V17.H8; \
	VADD V.H8, V18.H8, V18.H8; \
	SQRSHRN(16, 19, 16); \
	SQRSHRN2(16, 20, 16); \
	VADD U.H8, V17.H8, V17.H8; \
	WIDEN Y, V18.H8, V18.H8; \
	VSUB V.H8, V16.H8, V16.H8; \
	WIDEN Y, V17.H8, V17.H8; \
	WIDEN Y, V16.H8, V16.H8

// func yccToRGBAssembly(dst, y, cb, cr *uint8, n int)
TEXT ·yccToRGBAssembly(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD y+8(FP), R1
	MOVD cb+16(FP), R2
	MOVD cr+24(FP), R3
	MOVD n+32(FP), R4
	MOVD $colorFactors<>(SB), R5
	FMOVD (R5), F15
	VMOVI $128, V31.B16

pixels:
	VLD1.P 16(R2), [V1.B16]
	VLD1.P 16(R3), [V2.B16]
	VLD1.P 16(R1), [V0.B16]
	USUBL(31, 1, 3)
	USUBL2(31, 1, 4)
	USUBL(31, 2, 5)
	USUBL2(31, 2, 6)
	HALF(3, 5, V3, V5, VUADDW, V0.B8)
	SQXTUN(18, 24)
	SQXTUN(16, 25)
	SQXTUN(17, 26)
	HALF(4, 6, V4, V6, VUADDW2, V0.B16)
	SQXTUN2(18, 24)
	SQXTUN2(16, 25)
	SQXTUN2(17, 26)
	VST3.P [V24.B16, V25.B16, V26.B16], 48(R0)
	SUBS $16, R4, R4
	BNE pixels
	RET
