/*
 * The end of a jprobe's function: what an undefined instruction leads to is called, with a frame that says so. It
 * comes back with the registers of the probed function behind its first instruction.
 */
#include <asm/function.h>
#include <asm/hit.h>

	.section .phase.dispatch.jprobe, "ax"
	.balign 4
FUNC jprobe_return
	bl jprobe_frame_place
	mov sp, r0
	LOAD_ADDRESS r1, JPROBE_ENDS
	str r1, [sp, #PT_PC]
	bl probe_hit
	ldr r1, [sp, #PT_CPSR]
	msr spsr_cxsf, r1
	ldmia sp, {r0-r15}^
ENDFUNC jprobe_return
