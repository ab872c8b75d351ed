//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// FACTORS takes the lower halves of the numbers of a byteTwist: what makes red stays in V4, green
// in V5 and blue in V6, four copies of what is added in V7, V8 and V9.
#define FACTORS(f) \
	VLD1.P 64(f), [V0.D2, V1.D2, V2.D2, V3.D2]; \
	VUZP1 V1.S4, V0.S4, V4.S4; \
	VUZP1 V3.S4, V2.S4, V5.S4; \
	VLD1 (f), [V0.D2, V1.D2]; \
	VUZP1 V1.S4, V0.S4, V6.S4; \
	VDUP V4.S[3], V7.S4; \
	VDUP V5.S[3], V8.S4; \
	VDUP V6.S[3], V9.S4

// MIX sums four pixels, given as levels of red, green and blue. What is lost at the top of a product
// does not matter, since the whole sum fits 32 bits.
#define MIX(factors, add, r, g, b, sum) \
	COPY(add, sum); \
	MLAE(factors, 0, r, sum); \
	MLAE(factors, 1, g, sum); \
	MLAE(factors, 2, b, sum)

// LEVELS makes four registers of the bytes of one.
#define LEVELS(v, a, b, c, d) \
	VUXTL v.B8, V28.H8; \
	VUXTL2 v.B16, V29.H8; \
	VUXTL V28.H4, a.S4; \
	VUXTL2 V28.H8, b.S4; \
	VUXTL V29.H4, c.S4; \
	VUXTL2 V29.H8, d.S4

// CHANNEL makes the bytes of a channel: sums lose 20 bits, 16 and then 4, and are cut to 0 … 255.
#define CHANNEL(factors, add, v) \
	MIX(factors, add, 16, 20, 24, 28); \
	MIX(factors, add, 17, 21, 25, 29); \
	MIX(factors, add, 18, 22, 26, 30); \
	MIX(factors, add, 19, 23, 27, 31); \
	SQSHRUN16(28, 28); \
	SQSHRUN16_2(29, 28); \
	SQSHRUN16(30, 30); \
	SQSHRUN16_2(31, 30); \
	UQSHRN4(28, v); \
	UQSHRN4_2(30, v)

// func twistBytesNEON(dst, src *byte, n int, factors *[3][4]int64)
TEXT ·twistBytesNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD factors+24(FP), R3
	FACTORS(R3)

pixels:
	VLD3.P 48(R1), [V0.B16, V1.B16, V2.B16]
	LEVELS(V0, V16, V17, V18, V19)
	LEVELS(V1, V20, V21, V22, V23)
	LEVELS(V2, V24, V25, V26, V27)
	CHANNEL(4, 7, 0)
	CHANNEL(5, 8, 1)
	CHANNEL(6, 9, 2)
	VST3.P [V0.B16, V1.B16, V2.B16], 48(R0)
	SUBS $16, R2, R2
	BNE pixels
	RET

#define CLAMP(v) \
	FMAX(0, v, v); \
	FMIN(1, v, v)

#define ROUND(v) \
	CLAMP(v); \
	FADD(2, v, v); \
	FCVTZS(v, v)

#define FINISH(scale, bias, v) \
	SSHR20(v, v); \
	SCVTF(v, v); \
	CLAMP(v); \
	FMUL(scale, v, v); \
	FADD(bias, v, v)

// func twistRowsNEON(red, green, blue, a, b, c *float32, n int, factors *[3][4]int64, norm *norms)
TEXT ·twistRowsNEON(SB), NOSPLIT, $0-72
	MOVD red+0(FP), R0
	MOVD green+8(FP), R1
	MOVD blue+16(FP), R2
	MOVD a+24(FP), R3
	MOVD b+32(FP), R4
	MOVD c+40(FP), R5
	MOVD n+48(FP), R6
	MOVD factors+56(FP), R7
	FACTORS(R7)
	MOVD norm+64(FP), R7
	MOVD $32, R8 // from eight copies of a number to the next eight
	VLD1.P (R7)(R8), [V10.S4]
	VLD1.P (R7)(R8), [V11.S4]
	VLD1.P (R7)(R8), [V12.S4]
	VLD1.P (R7)(R8), [V13.S4]
	VLD1.P (R7)(R8), [V14.S4]
	VLD1.P (R7)(R8), [V15.S4]
	VEOR V0.B16, V0.B16, V0.B16
	MOVD $0x437F0000, R8 // 255
	VDUP R8, V1.S4
	MOVD $0x3F000000, R8 // 0.5
	VDUP R8, V2.S4

pixels:
	VLD1.P 32(R3), [V16.S4, V17.S4]
	VLD1.P 32(R4), [V18.S4, V19.S4]
	VLD1.P 32(R5), [V20.S4, V21.S4]
	ROUND(16)
	ROUND(17)
	ROUND(18)
	ROUND(19)
	ROUND(20)
	ROUND(21)
	MIX(4, 7, 16, 18, 20, 22)
	MIX(4, 7, 17, 19, 21, 23)
	MIX(5, 8, 16, 18, 20, 24)
	MIX(5, 8, 17, 19, 21, 25)
	MIX(6, 9, 16, 18, 20, 26)
	MIX(6, 9, 17, 19, 21, 27)
	FINISH(10, 11, 22)
	FINISH(10, 11, 23)
	FINISH(12, 13, 24)
	FINISH(12, 13, 25)
	FINISH(14, 15, 26)
	FINISH(14, 15, 27)
	VST1.P [V22.S4, V23.S4], 32(R0)
	VST1.P [V24.S4, V25.S4], 32(R1)
	VST1.P [V26.S4, V27.S4], 32(R2)
	SUBS $8, R6, R6
	BNE pixels
	RET
