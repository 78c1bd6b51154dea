/*
 * Code that stands in for an exception: the return trampoline of kretprobes, where a probed
 * function returns to, and the detour template of jump optimized probes.
 */
#include <linux/era.h>
#include "frame.h"

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
	SAVE_FRAME
	movl %esp, %edx
	.byte 0xb8			/* movl to eax */
detour_template_value:
	.long 0
detour_template_call:
	.byte 0xe8
	.long 0
	POP_REGS
	addl $(PT_CS - PT_DS), %esp
	addl $4, %esp
	popfl
detour_template_end:
ENDFUNC detour_template
#endif
#endif
