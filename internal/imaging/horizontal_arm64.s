//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// LOAD reads the samples of a group: V0 for its first four outputs, V1 for the others.
#define LOAD \
	LDPSW.P 8(R2), (R6, R7); \
	LOADQ(6, 1, 0); \
	LOADQ(7, 1, 1)

// TAP makes the next products of the outputs.
#define TAP(a, b, A, B) \
	VLD1.P 64(R3), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	VTBL V16.B16, [V0.B16], A.B16; \
	VTBL V17.B16, [V1.B16], B.B16; \
	SCVTF(a, a); \
	SCVTF(b, b); \
	FMUL(18, a, a); \
	FMUL(19, b, b)

#define FIRST TAP(20, 21, V20, V21)

#define NEXT \
	TAP(22, 23, V22, V23); \
	FADD(22, 20, 20); \
	FADD(23, 21, 21)

#define STORE \
	VST1.P [V20.S4, V21.S4], 32(R0); \
	SUBS $1, R4, R4

// func horizontalNEON(dst *float32, src *byte, base *int32, tab *uint32, groups, taps int)
TEXT ·horizontalNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD base+16(FP), R2
	MOVD tab+24(FP), R3
	MOVD groups+32(FP), R4
	MOVD taps+40(FP), R5

	// The numbers of taps that linear filters have when they shrink to a half at most.
	CMP $2, R5
	BEQ two
	CMP $3, R5
	BEQ three
	CMP $4, R5
	BEQ four

group:
	LOAD
	FIRST
	SUBS $1, R5, R6
	BEQ store

tap:
	NEXT
	SUBS $1, R6, R6
	BNE tap

store:
	STORE
	BNE group
	RET

two:
	LOAD
	FIRST
	NEXT
	STORE
	BNE two
	RET

three:
	LOAD
	FIRST
	NEXT
	NEXT
	STORE
	BNE three
	RET

four:
	LOAD
	FIRST
	NEXT
	NEXT
	NEXT
	STORE
	BNE four
	RET

// func horizontalWideNEON(dst *float32, src *byte, first *int32, w *float32, n, taps int)
TEXT ·horizontalWideNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD first+16(FP), R2
	MOVD w+24(FP), R3
	MOVD n+32(FP), R4
	MOVD taps+40(FP), R5

output:
	MOVW.P 4(R2), R6
	ADD R1, R6, R6
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	MOVD R5, R7

taps:
	VLD1.P 8(R6), [V0.B8]
	VLD1.P 32(R3), [V2.S4, V3.S4]
	VUXTL V0.B8, V0.H8
	VUXTL2 V0.H8, V1.S4
	VUXTL V0.H4, V0.S4
	SCVTF(0, 0)
	SCVTF(1, 1)
	FMUL(2, 0, 0)
	FMUL(3, 1, 1)
	FADD(0, 20, 20)
	FADD(1, 21, 21)
	SUBS $8, R7, R7
	BNE taps

	// Halves, quarters, neighbours.
	FADD(21, 20, 20)
	VEXT $8, V20.B16, V20.B16, V21.B16
	FADD(21, 20, 20)
	FADDP(20, 20)
	FMOVS.P F20, 4(R0)
	SUBS $1, R4, R4
	BNE output
	RET
