/*
 * Saving and restoring the general registers of struct pt_regs. Assembly needs no other header: selectors,
 * offsets and vectors come with it.
 */
#include <linux/sched.h>
#include <asm/ptrace.h>
#include <asm/processor.h>

#ifdef __x86_64__
/* off: bytes between the stack pointer and the frame. */
.macro STORE_REGS off=0
	movq %rdi, \off+PT_DI(%rsp)
	movq %rsi, \off+PT_SI(%rsp)
	movq %rdx, \off+PT_DX(%rsp)
	movq %rcx, \off+PT_CX(%rsp)
	movq %rax, \off+PT_AX(%rsp)
	movq %r8, \off+PT_R8(%rsp)
	movq %r9, \off+PT_R9(%rsp)
	movq %r10, \off+PT_R10(%rsp)
	movq %r11, \off+PT_R11(%rsp)
	movq %rbx, \off+PT_BX(%rsp)
	movq %rbp, \off+PT_BP(%rsp)
	movq %r12, \off+PT_R12(%rsp)
	movq %r13, \off+PT_R13(%rsp)
	movq %r14, \off+PT_R14(%rsp)
	movq %r15, \off+PT_R15(%rsp)
.endm

/* Leaves the stack pointer at the exception frame (pt_regs.ip). */
.macro LOAD_REGS_AND_DROP
	movq PT_R15(%rsp), %r15
	movq PT_R14(%rsp), %r14
	movq PT_R13(%rsp), %r13
	movq PT_R12(%rsp), %r12
	movq PT_BP(%rsp), %rbp
	movq PT_BX(%rsp), %rbx
	movq PT_R11(%rsp), %r11
	movq PT_R10(%rsp), %r10
	movq PT_R9(%rsp), %r9
	movq PT_R8(%rsp), %r8
	movq PT_AX(%rsp), %rax
	movq PT_CX(%rsp), %rcx
	movq PT_DX(%rsp), %rdx
	movq PT_SI(%rsp), %rsi
	movq PT_DI(%rsp), %rdi
	addq $PT_IP, %rsp
.endm

/* What lies below rsi. */
.macro PUSH_REGS_BELOW_SI
	pushq %rdx
	pushq %rcx
	pushq %rax
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
.endm

/*
 * The same with pushes, for code that no exception led to: after pushing rsp and the flags this
 * completes a struct pt_regs whose orig_ax, ip and cs are left for C to fill.
 */
.macro PUSH_REGS
	subq $24, %rsp
	pushq %rdi
	pushq %rsi
	PUSH_REGS_BELOW_SI
.endm

.macro POP_REGS
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rax
	popq %rcx
	popq %rdx
	popq %rsi
	popq %rdi
.endm
#else
#if ERA_FRAME_FS_GS
#define PT_AFTER_SEGMENTS PT_GS
#else
#define PT_AFTER_SEGMENTS PT_ORIG_AX
#endif

/* Completes a struct pt_regs downwards from orig_ax; the slot of gs, which the kernel leaves alone,
   is only made room for. */
.macro PUSH_REGS
#if ERA_FRAME_FS_GS
	pushl $0
	pushl %fs
#endif
	PUSH_REGS_BELOW_FS
.endm

.macro PUSH_REGS_BELOW_FS
	pushl %es
	pushl %ds
	pushl %eax
	pushl %ebp
	pushl %edi
	pushl %esi
	pushl %edx
	pushl %ecx
	pushl %ebx
.endm

/* Leaves the stack pointer at pt_regs.ds. */
.macro POP_REGS
	popl %ebx
	popl %ecx
	popl %edx
	popl %esi
	popl %edi
	popl %ebp
	popl %eax
.endm

#if ERA_FRAME_STACK
/*
 * Completes the frame of an exception that struck in the kernel: the processor has pushed neither ss nor
 * esp, so that they cannot stand behind its words. A second frame lies below these, and a handler may
 * push as much as lies between the two. In: fs, gs, orig_ax, ip, cs, flags, and then the stack as it was.
 */
#define WORDS_IN_HAND (PT_SP - PT_FS)
.macro SECOND_FRAME
	testb $3, PT_CS-PT_FS(%esp)
	jnz .Lwhole\@
	testl $X86_EFLAGS_VM, PT_FLAGS-PT_FS(%esp)
	jnz .Lwhole\@
	pushl %ss
	pushl %esp
	addl $(WORDS_IN_HAND + 4), (%esp)
	.rept WORDS_IN_HAND / 4
	pushl WORDS_IN_HAND+4(%esp)
	.endr
.Lwhole\@:
.endm

/* fs leads to per-CPU data before anything else happens. The gs of whoever was interrupted stays loaded. */
.macro SAVE_ALL
	cld
	pushl $0
	pushl %fs
	pushl %eax
	movl $__KERNEL_PERCPU, %eax
	movl %eax, %fs
	popl %eax
	SECOND_FRAME
	PUSH_REGS_BELOW_FS
	movl $__USER_DS, %edx
	movl %edx, %ds
	movl %edx, %es
.endm

/*
 * The three words that iret wants go below the stack pointer of the frame, wherever a handler has led it,
 * and the stack with them. In: ip, cs, flags, sp.
 */
.macro IRET_TO_KERNEL
	pushl %eax
	movl 16(%esp), %eax
	pushl 12(%esp)
	popl -4(%eax)
	pushl 8(%esp)
	popl -8(%eax)
	pushl 4(%esp)
	popl -12(%eax)
	popl -16(%eax)
	leal -16(%eax), %esp
	popl %eax
	iret
.endm
#else
/* Stacks below the error code what belongs to pt_regs and gives the kernel its segments. */
.macro SAVE_ALL
	cld
	PUSH_REGS
	movl $__USER_DS, %edx
	movl %edx, %ds
	movl %edx, %es
#if ERA_FRAME_FS_GS
	movl $__KERNEL_PERCPU, %edx
	movl %edx, %fs
#endif
.endm
#endif

/* For code that no exception led to: below the pushed flags, all of struct pt_regs but cs, ip, orig_ax
   and gs, which are left for C to fill. */
.macro PUSH_REGS_CALLED
	subl $(PT_FLAGS - PT_GS), %esp
	pushl %fs
	PUSH_REGS_BELOW_FS
.endm
#endif

.macro FUNC name
	.globl \name
	.type \name, @function
\name:
.endm

.macro ENDFUNC name
	.size \name, . - \name
.endm
