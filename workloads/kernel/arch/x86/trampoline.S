/*
 * Code that stands in for an exception: the return trampoline of kretprobes, where a probed
 * function returns to, and the detour template of jump optimized probes.
 */
#include <linux/era.h>
#include "frame.h"

#define ENTRY_CALL 5	/* bytes of the call that leads to entry_trampoline */

#ifdef __i386__
/* All of struct pt_regs but cs, ip, orig_ax and gs, which are left for C to fill. */
.macro SAVE_FRAME
	pushfl
#if ERA_FRAME_FS_GS
	subl $(PT_FLAGS - PT_GS), %esp
	pushl %fs
#else
	subl $(PT_FLAGS - PT_ORIG_AX), %esp
#endif
	PUSH_REGS_BELOW_FS
.endm
#endif

#if ERA_RETURN_TRAP
	/* A probe stands here for good, so that this is not among what cannot be probed. */
	.text
FUNC kretprobe_trampoline
	nop
ENDFUNC kretprobe_trampoline
#elif ERA_RETHOOK && defined(__i386__)
	.section .phase.kretprobe, "ax"
FUNC kretprobe_trampoline
	/* The word becomes the return address, that of the stack segment the flags. */
	pushl $kretprobe_trampoline
	pushl %ss
	pushl %esp
	pushfl
	PUSH_REGS_CALLED
	movl %esp, %eax
	call function_returned
	POP_REGS
	addl $(PT_SS - PT_DS), %esp
	popfl
	ret
ENDFUNC kretprobe_trampoline
#elif ERA_RETHOOK
	.section .phase.kretprobe, "ax"
FUNC kretprobe_trampoline
	/* The word becomes the return address, that of the stack segment the flags. */
	pushq $kretprobe_trampoline
	pushq $__KERNEL_DS
	pushq %rsp
	pushfq
	PUSH_REGS
	movq %rsp, %rdi
	call function_returned
	POP_REGS
	addq $40, %rsp
	popfq
	ret
ENDFUNC kretprobe_trampoline
#elif defined(__x86_64__)
	.section .phase.kretprobe, "ax"
FUNC kretprobe_trampoline
	pushq %rsp
	pushfq
	PUSH_REGS
	movq %rsp, %rdi
	call function_returned
	/* The word of the saved stack pointer becomes the return address. */
	movq %rax, PT_SP(%rsp)
	POP_REGS
	addq $24, %rsp
	popfq
	ret
ENDFUNC kretprobe_trampoline
#else
	.section .phase.kretprobe, "ax"
FUNC kretprobe_trampoline
	SAVE_FRAME
	movl %esp, %eax
	call function_returned
	/* The flags move down by a word, which the return address takes. */
	movl PT_FLAGS(%esp), %edx
	movl %edx, PT_CS(%esp)
	movl %eax, PT_FLAGS(%esp)
	POP_REGS
	addl $(PT_CS - PT_DS), %esp
	popfl
	ret
ENDFUNC kretprobe_trampoline
#endif

#if ERA_OPTIMIZE
#ifdef __x86_64__
	.section .phase.detour, "ax"
	.globl detour_template_value, detour_template_call, detour_template_end
FUNC detour_template
	pushq %rsp
	pushfq
	PUSH_REGS
	movq %rsp, %rsi
	.byte 0x48, 0xbf		/* movabs to rdi */
detour_template_value:
	.quad 0
detour_template_call:
	.byte 0xe8
	.long 0
	/* Flags go where the stack pointer was saved: the pop then leaves the old stack. */
	movq PT_FLAGS(%rsp), %rdx
	movq %rdx, PT_SP(%rsp)
	POP_REGS
	addq $32, %rsp
	popfq
detour_template_end:
ENDFUNC detour_template
#else
	.section .phase.detour, "ax"
	.globl detour_template_value, detour_template_call, detour_template_end
FUNC detour_template
#if ERA_FRAME_STACK
	pushl %esp
#endif
	SAVE_FRAME
	movl %esp, %edx
	.byte 0xb8			/* movl to eax */
detour_template_value:
	.long 0
detour_template_call:
	.byte 0xe8
	.long 0
#if ERA_FRAME_STACK
	/* Flags go where the stack pointer was saved: the pop then leaves the old stack. */
	movl PT_FLAGS(%esp), %edx
	movl %edx, PT_SP(%esp)
	POP_REGS
	addl $(PT_SP - PT_DS), %esp
#else
	POP_REGS
	addl $(PT_CS - PT_DS), %esp
	addl $4, %esp
#endif
	popfl
detour_template_end:
ENDFUNC detour_template
#endif
#endif

#ifdef FENTRY
/*
 * What the first instruction of a function calls while a probe stands there. Below the frame that it saves
 * lie the flags, the address behind the call, and the function's return address. A handler may change
 * where the code goes on.
 */
	.section .phase.detour, "ax"
	.balign 16
FUNC entry_trampoline
#ifdef __i386__
	/* Flags are nobody's at the entry of a function: they are shown to handlers and not brought back. */
	leal -8(%esp), %esp
	pushfl
	pushl $__KERNEL_CS
	pushl 16(%esp)
	pushl $0
	pushl $0
	pushl %fs
	PUSH_REGS_BELOW_FS
	leal PT_SIZE+4(%esp), %ecx
	movl %ecx, PT_SP(%esp)
	movl $__KERNEL_DS, PT_SS(%esp)
	movl PT_IP(%esp), %eax
	subl $ENTRY_CALL, %eax
	movl %esp, %edx
	call entry_hit
	movl PT_IP(%esp), %ecx
	movl %ecx, PT_SIZE(%esp)
	POP_REGS
	addl $(PT_SIZE - PT_DS), %esp
	ret
#else
	pushfq
	subq $PT_SIZE, %rsp
	STORE_REGS
	movq $0, PT_ORIG_AX(%rsp)
	movq PT_SIZE(%rsp), %rcx
	movq %rcx, PT_FLAGS(%rsp)
	movq PT_SIZE+8(%rsp), %rdi
	movq %rdi, PT_IP(%rsp)
	leaq PT_SIZE+16(%rsp), %rcx
	movq %rcx, PT_SP(%rsp)
	movq $__KERNEL_CS, PT_CS(%rsp)
	movq $__KERNEL_DS, PT_SS(%rsp)
	subq $ENTRY_CALL, %rdi
	movq %rsp, %rsi
	call entry_hit
	movq PT_FLAGS(%rsp), %rcx
	movq %rcx, PT_SIZE(%rsp)
	movq PT_IP(%rsp), %rcx
	movq %rcx, PT_SIZE+8(%rsp)
	LOAD_REGS_AND_DROP
	addq $(PT_SIZE - PT_IP), %rsp
	popfq
	ret
#endif
ENDFUNC entry_trampoline
#endif
