/*
 * Functions whose first bytes have the shape that a rule of kprobes is about. All take two numbers
 * (rdi, rsi) and return one (rax).
 */
#include "../frame.h"

	.section .workload, "ax"

/* Starts with pushes, as most functions with a frame do. */
	.balign 16
FUNC work_frame
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	leaq (%rdi,%rsi,2), %rbx
	shrq $3, %rbx
	leaq 5(%rbx,%rdi), %rax
	popq %rbx
	popq %rbp
	ret
ENDFUNC work_frame

/* A loop whose back edge lands inside the first five bytes: no jump may replace them. */
	.balign 16
FUNC work_tight_loop
	andl $15, %edi
1:	leaq 1(%rsi,%rsi,2), %rsi
	subl $1, %edi
	jns 1b
	movq %rsi, %rax
	ret
ENDFUNC work_tight_loop

/* Operands relative to the instruction pointer: a copy elsewhere needs other displacements. */
	.balign 16
FUNC work_rip_relative
	movq rip_words(%rip), %rax
	addq rip_words+8(%rip), %rax
	leaq rip_words(%rip), %rdx
	andl $3, %esi
	xorq (%rdx,%rsi,8), %rax
	addq %rdi, %rax
	ret
ENDFUNC work_rip_relative

/* Starts with a call: the pushed return address must be that of the original. */
	.balign 16
FUNC work_call_first
	call helper_mix
	addq %rdi, %rax
	ret
ENDFUNC work_call_first

	.balign 16
FUNC helper_mix
	leaq 3(%rsi,%rdi,4), %rax
	ret
ENDFUNC helper_mix

/* Four bytes, too short for a jump. */
	.balign 16
FUNC work_short
	movq %rdi, %rax
	ret
ENDFUNC work_short

/* Starts with a conditional jump; both ways compute the same. */
	.balign 16
FUNC work_jcc_first
	jc 1f
	leaq 7(%rdi,%rsi), %rax
	ret
1:	leaq 7(%rsi,%rdi), %rax
	ret
ENDFUNC work_jcc_first

/* Pushes and pops the flags: a single step must not show in them. */
	.balign 16
FUNC work_flags
	pushfq
	popq %rax
	andl $0x300, %eax
	addq %rdi, %rax
	pushfq
	cmpq %rsi, %rdi
	popfq
	adcq %rsi, %rax
	ret
ENDFUNC work_flags

/* Leaves by a jump to another function, which returns to the caller. */
	.balign 16
FUNC work_tail
	addq $9, %rdi
	shlq $1, %rsi
	jmp helper_mix
ENDFUNC work_tail

/* Calls through a register, then through memory. */
	.balign 16
FUNC work_indirect_call
	movq $helper_mix, %rdx
	call *%rdx
	movq %rax, %rdi
	call *mix_pointer
	ret
ENDFUNC work_indirect_call

/* One-byte and short instructions in the first five bytes. */
	.balign 16
FUNC work_dense
	pushq %rdi
	pushq %rsi
	nop
	popq %rax
	popq %rdx
	subq %rdx, %rax
	cqto
	xorq %rdx, %rax
	subq %rdx, %rax
	ret
ENDFUNC work_dense

/* Interrupts off and on around a load: cli and sti are stepped with care for the flag. */
	.balign 16
FUNC work_cli_sti
	pushfq
	cli
	movq rip_words, %rax
	sti
	popfq
	addq %rdi, %rax
	ret
ENDFUNC work_cli_sti

/* A string instruction as the first one. */
	.balign 16
FUNC work_string
	cld
	subq $24, %rsp
	movq %rdi, %rax
	movq %rsp, %rdi
	movl $3, %ecx
	rep stosq
	movq 8(%rsp), %rax
	addq %rsi, %rax
	addq $24, %rsp
	ret
ENDFUNC work_string

	.section .workload.sites, "ax"
/*
 * Far returns: all that 64-bit mode has of far transfers to any address. The rules of jump optimization
 * cannot see that a label is where a far return goes, so that it must not be within a jump of it.
 */
	.balign 16
FUNC work_far
	leaq 3(%rsi,%rdi,2), %rax
	pushq $0
	pushq $__KERNEL_CS
	pushq $1f
	lretq $8
	{disp8} nopl 0(%rax,%rax,1)
1:	addq %rsi, %rax
	pushq $__KERNEL_CS
	pushq $2f
	lretq
2:	ret
ENDFUNC work_far

	.data
	.balign 32
	.type rip_words, @object
rip_words:
	.quad 0x1234, 0x77, 0x5a5a5a5a, 0x42
	.size rip_words, . - rip_words
	.type mix_pointer, @object
mix_pointer:
	.quad helper_mix
	.size mix_pointer, . - mix_pointer
