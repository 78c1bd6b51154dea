/*
 * The first instructions of a CPU. In: supervisor, 64-bit mode, translation on, interrupts off, r3 = CPU
 * number, r4 = what lies between the section .percpu and this CPU's copy of it.
 */
#include "frame.h"

	.section .text.head, "ax"
FUNC _start
	addis 13, 4, PERCPU_LINKED@ha
	mtspr SPRN_SPRG3, 13
	addis 1, 4, (idle_stack_end - SP_REGS)@ha
	addi 1, 1, (idle_stack_end - SP_REGS)@l
	li 0, 0
	std 0, 0(1)
	LOAD_ADDRESS 5, start_kernel
	ld 0, 0(5)
	ld 2, 8(5)
	std 2, kernel_toc@l(13)
	mtctr 0
	bctr
ENDFUNC _start

	/* The stack a CPU has until it takes its own in the first instructions. */
	.section .bss.boot, "aw", @nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:

	/* Stacks of each CPU. They follow the per-CPU data and take no room in the image. The bottom of a
	   task's stack is found from any address in it. */
	.section .percpu_stacks, "aw", @nobits
.macro STACK name, size
	.balign \size
	.globl \name, \name\()_end
	.type \name, @object
\name:
	.skip \size
	.size \name, \size
\name\()_end:
.endm
	STACK idle_stack, THREAD_SIZE
	STACK fault_stack, 4096
