/* NATIVE name: a slot of the section .native, 16 bytes. Its instruction is never executed: the simulator
   takes the CPU over before. It traps, for a machine without the simulator. */
#ifndef _ASM_NATIVE_H
#define _ASM_NATIVE_H

.macro NATIVE name
	.balign 16
	.globl \name
	.type \name, @function
\name:
	ud2
	.balign 16, 0
	.size \name, 16
.endm

#endif
