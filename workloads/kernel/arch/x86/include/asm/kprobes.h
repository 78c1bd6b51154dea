/* What linux/kprobes.h asks the architecture for: the interface of x86, and the layout of its slots. */
#ifndef _ASM_KPROBES_H
#define _ASM_KPROBES_H

#include <linux/types.h>

#define BREAKPOINT_INSTRUCTION 0xcc	/* int3 */
#define RELATIVEJUMP_OPCODE 0xe9	/* jmp rel32 */
#define RELATIVEJUMP_SIZE 5
#define MAX_INSN_SIZE 16	/* bytes of a slot: one more than the longest instruction */

typedef u8 kprobe_opcode_t;

/* The copy of the displaced instruction, in its slot. */
struct arch_specific_insn {
	kprobe_opcode_t *insn;
	int boostable;		/* 1: a jump back is behind it; 0: there may be one; -1: step it */
};

#endif
