//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// What stays in V0 to V2: 0, 255 and 0.5.
#define CONSTANTS(r) \
	VEOR V0.B16, V0.B16, V0.B16; \
	MOVD $0x437F0000, r; \
	VDUP r, V1.S4; \
	MOVD $0x3F000000, r; \
	VDUP r, V2.S4

#define ROUND(v) \
	FMAX(0, v, v); \
	FMIN(1, v, v); \
	FADD(2, v, v); \
	FCVTZS(v, v)

// func quantiseNEON(row *float32, n int)
TEXT ·quantiseNEON(SB), NOSPLIT, $0-16
	MOVD row+0(FP), R0
	MOVD n+8(FP), R1
	CONSTANTS(R2)

values:
	VLD1 (R0), [V16.S4, V17.S4]
	ROUND(16)
	ROUND(17)
	SCVTF(16, 16)
	SCVTF(17, 17)
	VST1.P [V16.S4, V17.S4], 32(R0)
	SUBS $8, R1, R1
	BNE values
	RET

// func toBytesNEON(dst *byte, src *float32, n int)
TEXT ·toBytesNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	CONSTANTS(R3)

values:
	VLD1.P 32(R1), [V16.S4, V17.S4]
	ROUND(16)
	ROUND(17)
	VUZP1 V17.H8, V16.H8, V16.H8
	VUZP1 V16.B16, V16.B16, V16.B16
	VST1.P [V16.B8], 8(R0)
	SUBS $8, R2, R2
	BNE values
	RET
