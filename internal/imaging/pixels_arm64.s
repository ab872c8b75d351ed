//go:build !noasm

#include "textflag.h"

// func split3NEON(a, b, c, src *byte, n int)
TEXT ·split3NEON(SB), NOSPLIT, $0-40
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD c+16(FP), R2
	MOVD src+24(FP), R3
	MOVD n+32(FP), R4

pixels:
	VLD3.P 48(R3), [V0.B16, V1.B16, V2.B16]
	VST1.P [V0.B16], 16(R0)
	VST1.P [V1.B16], 16(R1)
	VST1.P [V2.B16], 16(R2)
	SUBS $16, R4, R4
	BNE pixels
	RET

// func join3NEON(dst, a, b, c *byte, n int)
TEXT ·join3NEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD a+8(FP), R1
	MOVD b+16(FP), R2
	MOVD c+24(FP), R3
	MOVD n+32(FP), R4

pixels:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R2), [V1.B16]
	VLD1.P 16(R3), [V2.B16]
	VST3.P [V0.B16, V1.B16, V2.B16], 48(R0)
	SUBS $16, R4, R4
	BNE pixels
	RET

// func joinFloatsNEON(dst, a, b, c *float32, n int)
TEXT ·joinFloatsNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD a+8(FP), R1
	MOVD b+16(FP), R2
	MOVD c+24(FP), R3
	MOVD n+32(FP), R4

pixels:
	VLD1.P 16(R1), [V0.S4]
	VLD1.P 16(R2), [V1.S4]
	VLD1.P 16(R3), [V2.S4]
	VST3.P [V0.S4, V1.S4, V2.S4], 48(R0)
	SUBS $4, R4, R4
	BNE pixels
	RET

#define REVERSE(v) \
	VREV64 v.S4, v.S4; \
	VEXT $8, v.B16, v.B16, v.B16

// func reverseNEON(first, last *float32, n int)
TEXT ·reverseNEON(SB), NOSPLIT, $0-24
	MOVD first+0(FP), R0
	MOVD last+8(FP), R1
	MOVD n+16(FP), R2
	MOVD $-16, R3

values:
	VLD1 (R0), [V0.S4]
	VLD1 (R1), [V1.S4]
	REVERSE(V0)
	REVERSE(V1)
	VST1.P [V1.S4], 16(R0)
	VST1.P [V0.S4], (R1)(R3)
	SUBS $4, R2, R2
	BNE values
	RET
