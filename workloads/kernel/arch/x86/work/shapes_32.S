/*
 * Functions whose first bytes have the shape that a rule of kprobes is about. All take two numbers
 * (eax, edx) and return one (eax).
 */
#include "../frame.h"

	.section .workload, "ax"

/* Starts with pushes, as most functions with a frame do. */
	.balign 16
FUNC work_frame
	pushl %ebp
	movl %esp, %ebp
	pushl %ebx
	leal 1(%eax,%edx,2), %ebx
	shrl $3, %ebx
	leal 5(%ebx,%eax), %eax
	popl %ebx
	popl %ebp
	ret
ENDFUNC work_frame

/* A loop whose back edge lands inside the first five bytes: no jump may replace them. */
	.balign 16
FUNC work_tight_loop
	andl $15, %eax
1:	leal 1(%edx,%edx,2), %edx
	subl $1, %eax
	jns 1b
	movl %edx, %eax
	ret
ENDFUNC work_tight_loop

/* Operands in memory: by address here, relative to the instruction pointer only with 64 bits. */
	.balign 16
FUNC work_rip_relative
	movl rip_words, %ecx
	addl rip_words+4, %ecx
	andl $3, %edx
	xorl rip_words(,%edx,4), %ecx
	addl %ecx, %eax
	ret
ENDFUNC work_rip_relative

/* Starts with a call: the pushed return address must be that of the original. */
	.balign 16
FUNC work_call_first
	call helper_mix
	addl %edx, %eax
	ret
ENDFUNC work_call_first

	.balign 16
FUNC helper_mix
	leal 3(%edx,%eax,4), %eax
	ret
ENDFUNC helper_mix

/* Four bytes, too short for a jump. */
	.balign 16
FUNC work_short
	addl $0, %eax
	ret
ENDFUNC work_short

/* Starts with a conditional jump; both ways compute the same. */
	.balign 16
FUNC work_jcc_first
	jc 1f
	leal 7(%eax,%edx), %eax
	ret
1:	leal 7(%edx,%eax), %eax
	ret
ENDFUNC work_jcc_first

/* Pushes and pops the flags: a single step must not show in them. */
	.balign 16
FUNC work_flags
	pushfl
	popl %ecx
	andl $0x300, %ecx
	addl %eax, %ecx
	pushfl
	cmpl %edx, %eax
	popfl
	adcl %edx, %ecx
	movl %ecx, %eax
	ret
ENDFUNC work_flags

/* Leaves by a jump to another function, which returns to the caller. */
	.balign 16
FUNC work_tail
	addl $9, %eax
	shll $1, %edx
	jmp helper_mix
ENDFUNC work_tail

/* Calls through a register, then through memory. */
	.balign 16
FUNC work_indirect_call
	movl $helper_mix, %ecx
	call *%ecx
	call *mix_pointer
	ret
ENDFUNC work_indirect_call

/* One-byte and short instructions in the first five bytes. */
	.balign 16
FUNC work_dense
	pushl %eax
	pushl %edx
	nop
	popl %eax
	popl %edx
	subl %edx, %eax
	cltd
	xorl %edx, %eax
	subl %edx, %eax
	ret
ENDFUNC work_dense

/* Interrupts off and on around a load: cli and sti are stepped with care for the flag. */
	.balign 16
FUNC work_cli_sti
	pushfl
	cli
	movl rip_words, %ecx
	sti
	popfl
	addl %ecx, %eax
	ret
ENDFUNC work_cli_sti

/* A string instruction as the first one. */
	.balign 16
FUNC work_string
	cld
	pushl %edi
	subl $12, %esp
	movl %esp, %edi
	movl $3, %ecx
	rep stosl
	movl 4(%esp), %eax
	addl %edx, %eax
	addl $12, %esp
	popl %edi
	ret
ENDFUNC work_string

	.section .workload.sites, "ax"
/* Far calls, jumps and returns, which load the code segment. */
	.balign 16
FUNC work_far
	lcall $__KERNEL_CS, $helper_far
	ljmp $__KERNEL_CS, $1f
1:	addl %edx, %eax
	pushl $0
	pushl $__KERNEL_CS
	pushl $2f
	lret $4
	{disp8} nopl 0(%eax,%eax,1)
2:	lcall *far_pointer
	ret
ENDFUNC work_far

	.balign 16
FUNC helper_far
	leal 3(%edx,%eax,2), %eax
	lret
ENDFUNC helper_far

	.data
	.balign 32
	.type rip_words, @object
rip_words:
	.long 0x1234, 0x77, 0x5a5a5a5a, 0x42
	.size rip_words, . - rip_words
	.type mix_pointer, @object
mix_pointer:
	.long helper_mix
	.size mix_pointer, . - mix_pointer
	.type far_pointer, @object
far_pointer:
	.long helper_far
	.word __KERNEL_CS
	.size far_pointer, . - far_pointer
