/*
 * Where a return probed function returns to, and the detour template of optimized probes. Both build a frame
 * that no exception has saved.
 */
#include <linux/era.h>
#include <asm/function.h>
#include <asm/ptrace.h>

	.section .phase.kretprobe, "ax"
	.balign 4
/* The result's registers are in the frame, too: what the handler makes of them counts. */
FUNC kretprobe_trampoline
	stmdb sp!, {r0-r11}
	mov r0, sp
	bl function_returned
	mov lr, r0
	ldmia sp!, {r0-r11}
	mov pc, lr
ENDFUNC kretprobe_trampoline

#if ERA_OPTIMIZE
	.section .phase.detour, "ax"
	.balign 4
	.globl detour_template, detour_template_end
	.globl detour_template_room, detour_template_sp, detour_template_value, detour_template_call
	.type detour_template, %function
detour_template:
	/* The frame lies below what the displaced instruction may store under the stack pointer. */
detour_template_room:
	sub sp, sp, #PT_SIZE
	stmia sp, {r0-r12}
detour_template_sp:
	add r3, sp, #PT_SIZE
	mrs r4, cpsr
	str r3, [sp, #PT_SP]
	str lr, [sp, #PT_LR]
	str r4, [sp, #PT_CPSR]
	ldr r0, detour_template_value
	ldr r2, detour_template_call
	mov r1, sp
	blx r2
	ldr r1, [sp, #PT_CPSR]
	msr cpsr_fs, r1
	ldmia sp, {r0-r15}
detour_template_value:
	.word 0
detour_template_call:
	.word 0
detour_template_end:
	.size detour_template, . - detour_template
#endif
