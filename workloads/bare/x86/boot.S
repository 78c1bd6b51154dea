/*
 * Brings a PC started by a multiboot loader into the state in which the guest kernel expects a
 * CPU: its mode, the image at its address and all memory mapped, the local APIC where kernels of
 * 2010 have it, and the pages that user mode may reach. The CPU's copy of the per-CPU data goes to 48 MiB.
 */
#include <linux/era.h>

	.section .boot32, "awx"
	.code32
	.globl boot32
	.balign 4
header:
	.long 0x1badb002, 0x00010000, -(0x1badb002 + 0x00010000)
	.long header, boot32_start, boot32_load_end, boot32_bss_end, boot32

boot32:
	cli
	movl $boot32_stack, %esp
	/* No interrupts from the old controller. */
	movb $0xff, %al
	outb %al, $0x21
	outb %al, $0xa1
#ifdef __x86_64__
	/* Second level: two megabyte pages of the first gigabyte. */
	movl $pd_low, %edi
	movl $0x83, %eax
	movl $512, %ecx
1:	movl %eax, (%edi)
	movl $0, 4(%edi)
	addl $0x200000, %eax
	addl $8, %edi
	loop 1b
	movl $pd_low + 3, pdpt_low
	movl $pd_low + 3, pdpt_high + 510*8
	movl $pd_top + 3, pdpt_high + 511*8
	movl $pt_top + 3, pd_top + 506*8
	movl $0xfee00000 + 0x1b, pt_top + 0x1fd*8
	movl $pdpt_user + 7, pml4
	movl $pdpt_low + 3, pml4 + 272*8
	movl $pdpt_high + 3, pml4 + 511*8
	/* The lowest pages: four megabytes as they are for this code, and behind them those of user mode. */
	movl $pd_user + 7, pdpt_user
	movl $0x83, pd_user
	movl $0x200083, pd_user + 8
	movl $pt_user + 7, pd_user + 16
	movl $_user_at + 7, %eax
	movl $pt_user, %edi
	movl $128, %ecx
1:	movl %eax, (%edi)
	addl $0x1000, %eax
	addl $8, %edi
	loop 1b

	movl %cr4, %eax
	orl $0x20, %eax
	movl %eax, %cr4
	movl $pml4, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx
	rdmsr
	orl $0x901, %eax
	wrmsr
	movl %cr0, %eax
	orl $0x80010001, %eax
	movl %eax, %cr0
	lgdt gdt32_ptr
	ljmp $8, $boot64
	.code64
boot64:
	xorl %eax, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	/* Memory is seen through the direct map. */
	movabsq $0xffff880003000000, %rdi
	movq %rdi, %rbp
	movq $__per_cpu_load, %rsi
	movq $__per_cpu_end, %rcx
	rep movsb
	xorl %edi, %edi
	movq %rbp, %rsi
	movq $_start, %rax
	jmp *%rax

	.balign 8
gdt32:
	.quad 0, 0x00af9b000000ffff
gdt32_ptr:
	.word 15
	.long gdt32
#else
	/* Pages of four megabytes: the first 512 MiB where they are and from 3 GiB on. */
	xorl %ecx, %ecx
	movl $0x83, %eax
1:	movl %eax, pd(,%ecx,4)
	movl %eax, pd + 768*4(,%ecx,4)
	addl $0x400000, %eax
	incl %ecx
	cmpl $128, %ecx
	jne 1b
	movl $pt_top + 3, pd + 1023*4
	/* Pages of user mode from 0x8048000 on. */
	movl $pt_user + 7, pd + 32*4
	movl $_user_at + 7, %eax
	movl $pt_user + 0x48*4, %edi
	movl $128, %ecx
1:	movl %eax, (%edi)
	addl $0x1000, %eax
	addl $4, %edi
	loop 1b
	movl $0xfee00000 + 0x1b, pt_top + 0x3fb*4
	movl %cr4, %eax
	orl $0x10, %eax
	movl %eax, %cr4
	movl $pd, %eax
	movl %eax, %cr3
	movl %cr0, %eax
	orl $0x80010001, %eax
	movl %eax, %cr0
	xorl %eax, %eax
	xorl %edx, %edx
#if !ERA_UNIPROCESSOR
	movl $0xc3000000, %edi
	movl %edi, %edx
	movl $__per_cpu_load, %esi
	movl $__per_cpu_end, %ecx
	cld
	rep movsb
#endif
	movl $_start, %ecx
	jmp *%ecx
#endif

	.section .boot32.tables, "aw", @nobits
	.balign 4096
#ifdef __x86_64__
pml4:	.skip 4096
pdpt_low: .skip 4096
pdpt_high: .skip 4096
pd_low: .skip 4096
pd_top: .skip 4096
pdpt_user: .skip 4096
pd_user: .skip 4096
#else
pd:	.skip 4096
#endif
pt_top: .skip 4096
pt_user: .skip 4096
	.skip 4096
boot32_stack:
