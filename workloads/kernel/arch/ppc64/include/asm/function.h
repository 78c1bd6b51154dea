/* Functions in assembly. C knows one by the address of its descriptor, the symbol name: the code, the table
   of contents and an environment that C has no use for. Its code is the symbol .name. */
#ifndef _ASM_FUNCTION_H
#define _ASM_FUNCTION_H

.macro FUNC name
	.pushsection .opd, "aw"
	.balign 8
	.globl \name
	.type \name, @function
\name:
	.quad .\name, .TOC.@tocbase, 0
	.size \name, 24
	.popsection
	.globl .\name
	.type .\name, @function
.\name:
.endm

.macro ENDFUNC name
	.size .\name, . - .\name
.endm

/* Any address of 64 bits, in five instructions and without the table of contents. */
.macro LOAD_ADDRESS reg, symbol
	lis \reg, \symbol@highest
	ori \reg, \reg, \symbol@higher
	sldi \reg, \reg, 32
	oris \reg, \reg, \symbol@high
	ori \reg, \reg, \symbol@l
.endm

#endif
