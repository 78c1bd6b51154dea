//go:build linux && amd64

#include "textflag.h"

// func Call(enter, code uintptr, with unsafe.Pointer) uint64
TEXT ·Call(SB), NOSPLIT, $8-32
	MOVQ enter+0(FP), CX
	MOVQ code+8(FP), AX
	MOVQ with+16(FP), R15
	CALL CX
	MOVQ AX, ret+24(FP)
	RET

// func serialize()
TEXT ·serialize(SB), NOSPLIT, $0-0
	XORL AX, AX
	CPUID
	RET
