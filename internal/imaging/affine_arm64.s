//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// EXPAND makes numbers in V16 to V19 of the bytes of a register.
#define EXPAND(v) \
	VUXTL v.B8, V20.H8; \
	VUXTL2 v.B16, V21.H8; \
	VUXTL V20.H4, V16.S4; \
	VUXTL2 V20.H8, V17.S4; \
	VUXTL V21.H4, V18.S4; \
	VUXTL2 V21.H8, V19.S4; \
	SCVTF(16, 16); \
	SCVTF(17, 17); \
	SCVTF(18, 18); \
	SCVTF(19, 19)

#define AFFINE(scale, bias, v) \
	FMUL(scale, v, v); \
	FADD(bias, v, v)

#define AFFINE4(scale, bias) \
	AFFINE(scale, bias, 16); \
	AFFINE(scale, bias, 17); \
	AFFINE(scale, bias, 18); \
	AFFINE(scale, bias, 19)

// func affineNEON(dst, src *float32, n int, scale, bias float32)
TEXT ·affineNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	FMOVS scale+24(FP), F1
	FMOVS bias+28(FP), F2
	VDUP V1.S[0], V1.S4
	VDUP V2.S[0], V2.S4

values:
	VLD1.P 32(R1), [V16.S4, V17.S4]
	AFFINE(1, 2, 16)
	AFFINE(1, 2, 17)
	VST1.P [V16.S4, V17.S4], 32(R0)
	SUBS $8, R2, R2
	BNE values
	RET

// func affineBytesNEON(dst *float32, src *byte, n int, scale, bias float32)
TEXT ·affineBytesNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	FMOVS scale+24(FP), F1
	FMOVS bias+28(FP), F2
	VDUP V1.S[0], V1.S4
	VDUP V2.S[0], V2.S4

values:
	VLD1.P 16(R1), [V0.B16]
	EXPAND(V0)
	AFFINE4(1, 2)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R0)
	SUBS $16, R2, R2
	BNE values
	RET

// CHANNEL stores the bytes of a register.
#define CHANNEL(v, scale, bias, to) \
	EXPAND(v); \
	AFFINE4(scale, bias); \
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(to)

#define REVERSE(v) \
	VREV64 v.B16, v.B16; \
	VEXT $8, v.B16, v.B16, v.B16

// func normalize3NEON(a, b, c *float32, src *byte, step, n int, norm *norms, mirror bool)
TEXT ·normalize3NEON(SB), NOSPLIT, $0-57
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD c+16(FP), R2
	MOVD src+24(FP), R3
	MOVD step+32(FP), R4
	MOVD n+40(FP), R5
	MOVD norm+48(FP), R6
	MOVBU mirror+56(FP), R7
	MOVD $32, R8 // from eight copies of a number to the next eight
	VLD1.P (R6)(R8), [V3.S4]
	VLD1.P (R6)(R8), [V4.S4]
	VLD1.P (R6)(R8), [V5.S4]
	VLD1.P (R6)(R8), [V6.S4]
	VLD1.P (R6)(R8), [V7.S4]
	VLD1.P (R6)(R8), [V8.S4]

pixels:
	VLD3.P (R3)(R4), [V0.B16, V1.B16, V2.B16]
	CBZ R7, forward
	REVERSE(V0)
	REVERSE(V1)
	REVERSE(V2)

forward:
	CHANNEL(V0, 3, 4, R0)
	CHANNEL(V1, 5, 6, R1)
	CHANNEL(V2, 7, 8, R2)
	SUBS $16, R5, R5
	BNE pixels
	RET
