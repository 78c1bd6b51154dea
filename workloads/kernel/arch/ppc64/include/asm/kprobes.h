/* What linux/kprobes.h asks the architecture for: the interface of ppc64, and the layout of its slots. */
#ifndef _ASM_KPROBES_H
#define _ASM_KPROBES_H

#include <linux/types.h>

#define BREAKPOINT_INSTRUCTION 0x7fe00008	/* trap: tw 31,0,0 */
#define RELATIVEJUMP_SIZE 4			/* b: one instruction, as the breakpoint is */
#define MAX_INSN_SIZE 1				/* words of a slot */

typedef u32 kprobe_opcode_t;

/* The copy of the displaced instruction, in its slot. */
struct arch_specific_insn {
	kprobe_opcode_t *insn;
	int boostable;		/* 1: it has been emulated; 0: that was not tried yet; -1: step it */
};

#endif
