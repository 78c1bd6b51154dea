/* What ARM adds to linux/hit.h. */
#ifndef _ASM_HIT_H
#define _ASM_HIT_H

#include <asm/ptrace.h>

#define JPROBE_STACK 64		/* bytes of the stack that a jprobe puts back */

/* A jprobe's function ends in a hit that no exception begins: its frame has this address. Nothing can be probed
   there, since it is no multiple of four. */
#define JPROBE_ENDS 0x4a50524e

#ifndef __ASSEMBLER__

#include <linux/compiler.h>
#include <asm/kprobes.h>

/* What a jprobe puts back when its function has ended. */
struct jprobe_frame {
	struct pt_regs regs;
	unsigned long stack[JPROBE_STACK / sizeof(long)];
};

/* A breakpoint, at regs->ARM_pc. Nonzero: it was a probe's. */
int probe_hit(struct pt_regs *regs);

/*
 * The detour of optimized probes. The simulator copies it to a buffer and fills in: the bytes that it takes from
 * the stack, in the two instructions at detour_template_room and detour_template_sp; the address of the jump_probe
 * in the word at detour_template_value, and that of detour_called in the word at detour_template_call. The detour
 * ends in a load of all registers, of which the program counter is one.
 */
extern kprobe_opcode_t detour_template[], detour_template_room[], detour_template_sp[];
extern kprobe_opcode_t detour_template_value[], detour_template_call[], detour_template_end[];

/*
 * A frame that code has saved by itself, see core/kprobes.c. That of the return trampoline ends behind r11, and what
 * lies there is the caller's.
 */
static __always_inline void complete_frame(struct pt_regs *regs __unused, unsigned long ip __unused)
{
}

#endif /* __ASSEMBLER__ */
#endif
