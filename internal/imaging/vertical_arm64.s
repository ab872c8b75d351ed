//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// The steps for widths of 32 and of 8 values: the products of the first row into V24
// and on, and those of each other row, by way of V16 and on.
#define FIRST2 \
	FMUL(0, 16, 24); \
	FMUL(0, 17, 25)

#define FIRST8 \
	FIRST2; \
	FMUL(0, 18, 26); \
	FMUL(0, 19, 27); \
	FMUL(0, 20, 28); \
	FMUL(0, 21, 29); \
	FMUL(0, 22, 30); \
	FMUL(0, 23, 31)

#define NEXT(v, sum) \
	FMUL(0, v, v); \
	FADD(v, sum, sum)

#define NEXT2 \
	NEXT(16, 24); \
	NEXT(17, 25)

#define NEXT8 \
	NEXT2; \
	NEXT(18, 26); \
	NEXT(19, 27); \
	NEXT(20, 28); \
	NEXT(21, 29); \
	NEXT(22, 30); \
	NEXT(23, 31)

#define LOAD2 \
	VLD1R.P 4(R7), [V0.S4]; \
	VLD1.P (R6)(R2), [V16.S4, V17.S4]

// R9 is R2 less the half that is read before.
#define LOAD8 \
	VLD1R.P 4(R7), [V0.S4]; \
	VLD1.P 64(R6), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	VLD1.P (R6)(R9), [V20.S4, V21.S4, V22.S4, V23.S4]

// What is done with each sum: V1 holds the scale, V2 the bias, V3 0, V4 255, V5 0.5.
#define NOTHING(v)

#define AFFINE(v) \
	FMUL(1, v, v); \
	FADD(2, v, v)

#define ROUND(v) \
	FMAX(3, v, v); \
	FMIN(4, v, v); \
	FADD(5, v, v); \
	FCVTZS(v, v); \
	SCVTF(v, v); \
	AFFINE(v)

// ROWS sums all rows: wide pieces first, then narrow ones.
#define ROWS(FINISH) \
	SUB $64, R2, R9; \
	SUBS $32, R5, R5; \
	BLT narrow; \
wide: \
	MOVD R1, R6; \
	MOVD R3, R7; \
	LOAD8; \
	FIRST8; \
	SUBS $1, R4, R8; \
	BEQ wideSum; \
wideRow: \
	LOAD8; \
	NEXT8; \
	SUBS $1, R8, R8; \
	BNE wideRow; \
wideSum: \
	FINISH(24); \
	FINISH(25); \
	FINISH(26); \
	FINISH(27); \
	FINISH(28); \
	FINISH(29); \
	FINISH(30); \
	FINISH(31); \
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R0); \
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R0); \
	ADD $128, R1; \
	SUBS $32, R5, R5; \
	BGE wide; \
narrow: \
	ADDS $24, R5, R5; \
	BLT done; \
narrowPiece: \
	MOVD R1, R6; \
	MOVD R3, R7; \
	LOAD2; \
	FIRST2; \
	SUBS $1, R4, R8; \
	BEQ narrowSum; \
narrowRow: \
	LOAD2; \
	NEXT2; \
	SUBS $1, R8, R8; \
	BNE narrowRow; \
narrowSum: \
	FINISH(24); \
	FINISH(25); \
	VST1.P [V24.S4, V25.S4], 32(R0); \
	ADD $32, R1; \
	SUBS $8, R5, R5; \
	BGE narrowPiece; \
done: \
	RET

// func verticalNEON(dst, rows *float32, pitch int, w *float32, taps, n int)
TEXT ·verticalNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD w+24(FP), R3
	MOVD taps+32(FP), R4
	MOVD n+40(FP), R5
	ROWS(NOTHING)

// func verticalAffineNEON(dst, rows *float32, pitch int, w *float32, taps, n int, scale, bias float32)
TEXT ·verticalAffineNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD w+24(FP), R3
	MOVD taps+32(FP), R4
	MOVD n+40(FP), R5
	FMOVS scale+48(FP), F1
	FMOVS bias+52(FP), F2
	VDUP V1.S[0], V1.S4
	VDUP V2.S[0], V2.S4
	ROWS(AFFINE)

// func verticalRoundNEON(dst, rows *float32, pitch int, w *float32, taps, n int, scale, bias float32)
TEXT ·verticalRoundNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD w+24(FP), R3
	MOVD taps+32(FP), R4
	MOVD n+40(FP), R5
	FMOVS scale+48(FP), F1
	FMOVS bias+52(FP), F2
	VDUP V1.S[0], V1.S4
	VDUP V2.S[0], V2.S4
	VEOR V3.B16, V3.B16, V3.B16
	MOVD $0x437F0000, R6
	VDUP R6, V4.S4
	MOVD $0x3F000000, R6
	VDUP R6, V5.S4
	ROWS(ROUND)
