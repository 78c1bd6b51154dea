/* NATIVE name: a slot of the section .native, 16 bytes. Its instruction is never executed: the simulator takes
   the CPU over before. It is undefined, for a machine without the simulator. */
#ifndef _ASM_NATIVE_H
#define _ASM_NATIVE_H

#include <asm/function.h>

.macro NATIVE name
	.balign 16
	FUNC \name
	.inst 0xe7f000f0
	.balign 16, 0
	.size \name, 16
.endm

#endif
