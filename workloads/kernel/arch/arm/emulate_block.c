/*
 * Loads and stores of several registers (A8.8.57 to A8.8.61, A8.8.199 to A8.8.202). C goes through the list. For
 * some lists later kernels call a copy instead: one that has all of its registers, the base included, in a row of
 * thirteen that the frame holds. The copy names r0 to r12 for them.
 */
#include "emulate.h"

#define LOWEST_REGISTER(list) ((unsigned int)__builtin_ctz(list))

static __always_inline unsigned int registers_in(u32 list)
{
	unsigned int n = 0;

	for (; list; list &= list - 1)
		n++;
	return n;
}

/* Where the lowest register of the list goes, and what the base is afterwards. */
static __always_inline unsigned long *lowest_place(u32 word, unsigned long base, unsigned long *after)
{
	unsigned long bytes = sizeof(long) * registers_in(word & 0xffff);
	unsigned long at = word & IS_UP ? base : base - bytes;

	*after = word & IS_UP ? base + bytes : base - bytes;
	/* The base is not part of the block that is counted up with P, or down without. */
	if (!(word & IS_UP) == !(word & IS_BEFORE))
		at += sizeof(long);
	return (unsigned long *)at;
}

static __step void load_block(struct pt_regs *regs, u32 list, const unsigned long *from)
{
	for (; list; list &= list - 1) {
		unsigned int n = LOWEST_REGISTER(list);

		if (n == REG_PC)
			branch_to(regs, *from++);
		else
			regs->uregs[n] = *from++;
	}
}

static __step void store_block(const struct pt_regs *regs, u32 list, unsigned long *to)
{
	for (; list; list &= list - 1)
		*to++ = operand(regs, LOWEST_REGISTER(list));
}

__step __used void emulate_block(struct kprobe *p, struct pt_regs *regs)
{
	const u32 word = p->opcode;
	unsigned long after, *base = &regs->uregs[FIELD_N(word)], *at = lowest_place(word, *base, &after);

	if (!is_executed(word, regs))
		return;
	if (word & IS_LOAD) {
		/* What is loaded into the base stays. */
		if (word & IS_WRITE_BACK)
			*base = after;
		load_block(regs, word & 0xffff, at);
	} else {
		store_block(regs, word & 0xffff, at);
		if (word & IS_WRITE_BACK)
			*base = after;
	}
}

#if ERA_BLOCK_COPIES
/* Calls code with r0 to r12 loaded from a row of registers, and keeps what they are then (emulate_row.S). */
void call_with_row(unsigned long *row, kprobe_opcode_t *copy);

__step __used void emulate_block_low(struct kprobe *p, struct pt_regs *regs)
{
	call_with_row(&regs->uregs[0], p->ainsn.insn);
}

__step __used void emulate_block_high(struct kprobe *p, struct pt_regs *regs)
{
	call_with_row(&regs->uregs[2], p->ainsn.insn);
}

/* The last one of the row is the program counter. */
__step __used void emulate_block_pc(struct kprobe *p, struct pt_regs *regs)
{
	call_with_row(&regs->uregs[3], p->ainsn.insn);
	branch_to(regs, regs->ARM_pc);
}
#endif
