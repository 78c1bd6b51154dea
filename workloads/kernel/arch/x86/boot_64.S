/*
 * The first instructions of a CPU. In: long mode, CPL 0, paging on, interrupts off,
 * rdi = CPU number, rsi = address of this CPU's copy of the section .percpu.
 */
#include "frame.h"

	.section .text.head, "ax"
FUNC _start
	cld
	leaq idle_stack_end-8(%rsi), %rsp
	lgdt boot_gdt_ptr
	movl $__KERNEL_DS, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %eax, %eax
	movl %eax, %fs
	movl %eax, %gs

	/* Only after the selector: loading it clears the base. */
	movl $MSR_GS_BASE, %ecx
	movl %esi, %eax
	movq %rsi, %rdx
	shrq $32, %rdx
	wrmsr

	/* An interrupt return is what reloads CS. */
	movq %rsp, %rax
	pushq $__KERNEL_DS
	pushq %rax
	pushq $2
	pushq $__KERNEL_CS
	pushq $start_kernel
	iretq
ENDFUNC _start

	.section .data.boot, "aw"
	.balign 16
	.globl boot_gdt
	.type boot_gdt, @object
boot_gdt:
	.quad 0
	.quad 0x00cf9b000000ffff	/* 08: 32-bit kernel code */
	.quad 0x00af9b000000ffff	/* 10: kernel code */
	.quad 0x00cf93000000ffff	/* 18: kernel data */
	.quad 0x00cffb000000ffff	/* 20: 32-bit user code */
	.quad 0x00cff3000000ffff	/* 28: user data */
	.quad 0x00affb000000ffff	/* 30: user code */
	.quad 0
	.quad 0, 0			/* 40: TSS, filled in each CPU's copy */
	.size boot_gdt, . - boot_gdt
boot_gdt_ptr:
	.word . - boot_gdt - 1
	.quad boot_gdt

	/* The stack a CPU has until it takes its own in the first instructions. */
	.section .bss.boot, "aw", @nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:

	/* Stacks of each CPU. They follow the per-CPU data and take no room in the image. */
	.section .percpu_stacks, "aw", @nobits
	.balign 64
.macro STACK name, size
	.globl \name, \name\()_end
	.type \name, @object
\name:
	.skip \size
	.size \name, \size
\name\()_end:
.endm
	STACK idle_stack, THREAD_SIZE
	STACK debug_stack, DEBUG_STKSZ
	STACK fault_stack, EXCEPTION_STKSZ
	STACK nmi_stack, EXCEPTION_STKSZ
	STACK irq_stack, IRQ_STKSZ
