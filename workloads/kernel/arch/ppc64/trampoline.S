/*
 * Where a return probed function returns to, and the detour template of optimized probes.
 */
#include <linux/era.h>
#include <asm/ptrace.h>
#include <asm/function.h>

	/*
	 * A probe stands here for good, so that this is not among what cannot be probed. C takes its address as that of
	 * code: it has no descriptor. The return is for the hit that a detour has led to.
	 */
	.text
	.balign 16
	.globl kretprobe_trampoline
	.type kretprobe_trampoline, @function
kretprobe_trampoline:
	nop
#if ERA_OPTIMIZE
	blr
#endif
	.size kretprobe_trampoline, . - kretprobe_trampoline

#if ERA_OPTIMIZE
#define SAVED(register) SP_REGS+PT_GPR(register)(1)

	.section .phase.detour, "ax"
	.balign 16
	.globl detour_template, detour_template_end
	.globl detour_template_value, detour_template_call, detour_template_insn, detour_template_emulate
	.type detour_template, @function
detour_template:
	stdu 1, -EXCEPTION_FRAME(1)
	std 0, SAVED(0)
	.irp reg, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std \reg, SAVED(\reg)
	.endr
	addi 3, 1, EXCEPTION_FRAME
	mfmsr 4
	mfctr 5
	mflr 6
	mfxer 7
	mfcr 8
	std 3, SAVED(1)
	std 4, SP_REGS+PT_MSR(1)
	std 5, SP_REGS+PT_CTR(1)
	std 6, SP_REGS+PT_LINK(1)
	std 7, SP_REGS+PT_XER(1)
	std 8, SP_REGS+PT_CCR(1)
detour_template_value:
	lis 3, 0
	ori 3, 3, 0
	sldi 3, 3, 32
	oris 3, 3, 0
	ori 3, 3, 0
	addi 4, 1, SP_REGS
detour_template_call:
	.long 0x48000001
	addi 3, 1, SP_REGS
detour_template_insn:
	lis 4, 0
	ori 4, 4, 0
	/* An argument of 32 bits has no others. */
	clrldi 4, 4, 32
detour_template_emulate:
	.long 0x48000001
	ld 5, SP_REGS+PT_CTR(1)
	ld 6, SP_REGS+PT_LINK(1)
	ld 7, SP_REGS+PT_XER(1)
	ld 8, SP_REGS+PT_CCR(1)
	mtctr 5
	mtlr 6
	mtxer 7
	mtcr 8
	ld 0, SAVED(0)
	/* Register 13 is the same for all that runs on this CPU. */
	.irp reg, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld \reg, SAVED(\reg)
	.endr
	/* The instruction may have moved the stack pointer. */
	ld 1, SAVED(1)
detour_template_end:
	.size detour_template, . - detour_template
#endif
