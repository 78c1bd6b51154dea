/*
 * The first instructions of a CPU. In: supervisor mode, translation on, interrupts off, r0 = CPU number, r1 = the
 * address of this CPU's copy of the section .percpu.
 */
#include "frame.h"

	.section .text.head, "ax"
FUNC _start
	mcr p15, 0, r1, c13, c0, 4
	LOAD_ADDRESS r2, idle_stack
	add r2, r2, r1
	add sp, r2, #THREAD_SIZE
	sub sp, sp, #8
	/* Where per-CPU data are found by it, nothing of them can be read before. */
	str r0, [r2, #TI_CPU]
	mov lr, #0
	b start_kernel
ENDFUNC _start

/* set_mode_stacks(words): undefined instructions, aborts and interrupts get three words each at words[0][4] and so
   on. Their stack pointers can be written in their modes only. */
FUNC set_mode_stacks
	cps #UND_MODE
	mov sp, r0
	cps #ABT_MODE
	add sp, r0, #16
	cps #IRQ_MODE
	add sp, r0, #32
	cps #FIQ_MODE
	add sp, r0, #48
	cps #SVC_MODE
	bx lr
ENDFUNC set_mode_stacks

	/* The stack a CPU has until it takes its own in the first instructions. */
	.section .bss.boot, "aw", %nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:

	/* Stacks of each CPU. They follow the per-CPU data and take no room in the image. The bottom of a task's
	   stack is found from any address in it. */
	.section .percpu_stacks, "aw", %nobits
	.balign THREAD_SIZE
	.globl idle_stack
	.type idle_stack, %object
idle_stack:
	.skip THREAD_SIZE
	.size idle_stack, THREAD_SIZE
