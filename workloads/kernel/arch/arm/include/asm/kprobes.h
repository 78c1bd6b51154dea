/* What linux/kprobes.h asks the architecture for: the interface of ARM, and the layout of its slots. */
#ifndef _ASM_KPROBES_H
#define _ASM_KPROBES_H

#include <linux/types.h>

#define BREAKPOINT_INSTRUCTION 0xe7f001f8	/* undefined for good; the upper four bits are a condition */
#define RELATIVEJUMP_SIZE 4			/* b: one instruction, as the breakpoint is */
#define MAX_INSN_SIZE 2				/* words of a slot: the copy, and a return behind it */

typedef u32 kprobe_opcode_t;

struct kprobe;
struct pt_regs;

/* Does what a probe's displaced instruction does. regs->ARM_pc is the next instruction's address. */
typedef void kprobe_insn_handler_t(struct kprobe *p, struct pt_regs *regs);

struct arch_specific_insn {
	kprobe_opcode_t *insn;		/* the slot: a copy with other registers, which is called */
	kprobe_insn_handler_t *insn_handler;
	int stack_space;		/* bytes below the stack pointer that it may write, -1 for unknown */
};

#endif
