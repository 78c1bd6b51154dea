/*
 * The first instructions of a CPU, 32-bit protected mode. In: CPL 0, paging on, interrupts off,
 * eax = CPU number, edx = what to add to the address of a per-CPU variable to reach this CPU's.
 */
#include "frame.h"

	.section .text.head, "ax"
FUNC _start
	cld
	leal idle_stack_end(%edx), %esp
	lgdt boot_gdt_ptr
	movl $__KERNEL_DS, %ecx
	movl %ecx, %ss
	movl $__USER_DS, %ecx
	movl %ecx, %ds
	movl %ecx, %es
	xorl %ecx, %ecx
	movl %ecx, %fs
	movl %ecx, %gs

	/* An interrupt return is what reloads CS; its frame becomes the word above the stack. */
	pushl $0
	pushl $2
	pushl $__KERNEL_CS
	pushl $start_kernel
	iret
ENDFUNC _start

	.section .data.boot, "aw"
	.balign 16
	.globl boot_gdt
	.type boot_gdt, @object
boot_gdt:
	.quad 0
	.quad 0
	.quad 0x00cf9b000000ffff	/* 10: kernel code */
	.quad 0x00cf93000000ffff	/* 18: kernel data */
	.quad 0x00cffb000000ffff	/* 20: user code */
	.quad 0x00cff3000000ffff	/* 28: user data */
	.quad 0, 0
	.quad 0, 0			/* 40: TSS, 48: per-CPU data; filled in each CPU's copy */
	.size boot_gdt, . - boot_gdt
boot_gdt_ptr:
	.word . - boot_gdt - 1
	.long boot_gdt

	/* The stack a CPU has until it takes its own in the first instructions. */
	.section .bss.boot, "aw", @nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:

	/* The stack of each CPU's idle task: it follows the per-CPU data and takes no room in the image. */
	.section .percpu_stacks, "aw", @nobits
	.balign THREAD_SIZE
	.globl idle_stack, idle_stack_end
	.type idle_stack, @object
idle_stack:
	.skip THREAD_SIZE
	.size idle_stack, THREAD_SIZE
idle_stack_end:
