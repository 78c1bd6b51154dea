/* What linux/kprobes.h asks the architecture for: the interface of x86, and the layout of its slots. */
#ifndef _ASM_KPROBES_H
#define _ASM_KPROBES_H

#include <linux/types.h>

#define BREAKPOINT_INSTRUCTION 0xcc	/* int3 */
#define RELATIVEJUMP_OPCODE 0xe9	/* jmp rel32 */
#define RELATIVEJUMP_SIZE 5
#define ENTRY_NOP_SIZE 5	/* by which functions begin that the function tracer knows */
#define MAX_INSN_SIZE 16	/* bytes of a slot: one more than the longest instruction */

typedef u8 kprobe_opcode_t;
struct pt_regs;

/* The copy of the displaced instruction, in its slot. */
struct arch_specific_insn {
	kprobe_opcode_t *insn;
	int boostable;		/* 1: a jump back is behind it; 0: there may be one; -1: step it */
#if ERA_COPY_TRAPS
	u8 size;		/* bytes of the copy; a breakpoint is behind it */
	u8 condition;		/* of a branch: the low bits of its opcode */
	u8 operand;		/* number of a register, or whether a loop counts in half a register */
	s32 displacement;	/* from the next instruction to where it branches */
	/* Instead of a copy, or NULL: does what the instruction does, and says where the code goes on. */
	unsigned long (*emulate)(const struct arch_specific_insn *a, struct pt_regs *regs, unsigned long behind);
#endif
};

#endif
