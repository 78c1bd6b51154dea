/* Who takes undefined instructions. */
#ifndef _ASM_TRAPS_H
#define _ASM_TRAPS_H

#include <linux/list.h>
#include <linux/types.h>

struct pt_regs;

/*
 * Takes instructions with instr & instr_mask == instr_val, where the status register was cpsr & cpsr_mask ==
 * cpsr_val. fn returns 0 when it has taken the instruction; regs->ARM_pc is where to go on, and at first the
 * instruction itself. Interrupts are off for an instruction of the kernel. The members are interface.
 */
struct undef_hook {
	struct list_head node;
	u32 instr_mask, instr_val;
	u32 cpsr_mask, cpsr_val;
	int (*fn)(struct pt_regs *regs, unsigned int instr);
};

void register_undef_hook(struct undef_hook *hook);

#endif
