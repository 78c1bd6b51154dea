/* Functions in assembly. */
#ifndef _ASM_FUNCTION_H
#define _ASM_FUNCTION_H

.macro FUNC name
	.globl \name
	.type \name, %function
\name:
.endm

.macro ENDFUNC name
	.size \name, . - \name
.endm

/* Any address. */
.macro LOAD_ADDRESS reg, symbol
	movw \reg, #:lower16:\symbol
	movt \reg, #:upper16:\symbol
.endm

#endif
