//go:build !noasm

#include "textflag.h"

// func touchNEON(mem *byte, n int)
TEXT ·touchNEON(SB), NOSPLIT, $0-16
	MOVD mem+0(FP), R0
	MOVD n+8(FP), R1
	ADD R0, R1, R1

lines:
	PRFM (R0), PLDL1KEEP
	ADD $64, R0
	CMP R1, R0
	BLO lines
	RET
