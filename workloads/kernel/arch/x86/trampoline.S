/*
 * Code that stands in for an exception: the return trampoline of kretprobes, where a probed
 * function returns to, and the detour template of jump optimized probes.
 */
#include <linux/era.h>
#include "frame.h"

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
	call trampoline_handler
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
	pushfl
	PUSH_REGS_CALLED
	movl %esp, %eax
	call trampoline_handler
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
	.globl optprobe_template_val, optprobe_template_call, optprobe_template_end
FUNC optprobe_template_entry
	pushq %rsp
	pushfq
	PUSH_REGS
	movq %rsp, %rsi
	.byte 0x48, 0xbf		/* movabs to rdi */
optprobe_template_val:
	.quad 0
optprobe_template_call:
	.byte 0xe8
	.long 0
	/* Flags go where the stack pointer was saved: the pop then leaves the old stack. */
	movq PT_FLAGS(%rsp), %rdx
	movq %rdx, PT_SP(%rsp)
	POP_REGS
	addq $32, %rsp
	popfq
optprobe_template_end:
ENDFUNC optprobe_template_entry
#else
	.section .phase.detour, "ax"
	.globl optprobe_template_val, optprobe_template_call, optprobe_template_end
FUNC optprobe_template_entry
	pushfl
	PUSH_REGS_CALLED
	movl %esp, %edx
	.byte 0xb8			/* movl to eax */
optprobe_template_val:
	.long 0
optprobe_template_call:
	.byte 0xe8
	.long 0
	POP_REGS
	addl $(PT_CS - PT_DS), %esp
	addl $4, %esp
	popfl
optprobe_template_end:
ENDFUNC optprobe_template_entry
#endif
#endif
