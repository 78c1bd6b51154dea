/*
 * Instructions that lead somewhere, or that read the state of the processor, done in C: in a copy they would do
 * it to the probe's code.
 */
#include "emulate.h"

#define LINK_BIT 0x01000000	/* of b: bl */
#define LINK_REGISTER_BIT 0x20	/* of bx: blx */
#define IS_REGISTER 0x02000000	/* of a load: the offset is a register. Of data processing: it is not */

/* What MRS shows of the status register: not the state of execution, but for endianness (A8.8.109). */
#define PSR_SHOWN 0xf8ff03df

const u16 flags_that_hold[16] = {
	[0] = 0xf0f0, [1] = 0x0f0f,	/* eq, ne: Z */
	[2] = 0xcccc, [3] = 0x3333,	/* cs, cc: C */
	[4] = 0xff00, [5] = 0x00ff,	/* mi, pl: N */
	[6] = 0xaaaa, [7] = 0x5555,	/* vs, vc: V */
	[8] = 0x0c0c, [9] = 0xf3f3,	/* hi, ls: C and not Z */
	[10] = 0xaa55, [11] = 0x55aa,	/* ge, lt: N equals V */
	[12] = 0x0a05, [13] = 0xf5fa,	/* gt, le: that and not Z */
	[14] = 0xffff, [15] = 0xffff,
};

__step __used void emulate_branch(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long next = regs->ARM_pc;

	if (!is_executed(p->opcode, regs))
		return;
	if (p->opcode & LINK_BIT)
		regs->ARM_lr = next;
	/* 24 bits that count words, from two instructions ahead. */
	regs->ARM_pc = next + 4 + ((s32)(p->opcode << 8) >> 6);
}

__step __used void emulate_branch_register(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long to = operand(regs, FIELD_M(p->opcode));

	if (!is_executed(p->opcode, regs))
		return;
	if (p->opcode & LINK_REGISTER_BIT)
		regs->ARM_lr = regs->ARM_pc;
	branch_to(regs, to);
}

__step __used void emulate_mrs(struct kprobe *p, struct pt_regs *regs)
{
	if (is_executed(p->opcode, regs))
		regs->uregs[FIELD_D(p->opcode)] = regs->ARM_cpsr & PSR_SHOWN;
}

static __always_inline unsigned long rotate_right(unsigned long value, unsigned int by)
{
	return value >> by | value << (-by & 31);
}

/* The shifts of DecodeImmShift (A8.4.1): amount 0 stands for 32, or for a rotation through the carry. */
__step unsigned long shifted_operand(const struct pt_regs *regs, u32 word)
{
	unsigned long value = operand(regs, FIELD_M(word));
	unsigned int by = word >> 7 & 31;

	switch (word >> 5 & 3) {
	case 0:
		return value << by;
	case 1:
		return by ? value >> by : 0;
	case 2:
		return (long)value >> (by ? by : 31);
	}
	if (by)
		return rotate_right(value, by);
	return value >> 1 | (regs->ARM_cpsr & PSR_C_BIT ? 1UL << 31 : 0);
}

static __always_inline unsigned long second_operand(const struct pt_regs *regs, u32 word)
{
	if (word & IS_REGISTER)
		return rotate_right(word & 0xff, word >> 7 & 30);
	return shifted_operand(regs, word);
}

/* Data processing whose result is the program counter. Flags do not change, and comparisons have no result. */
__step __used void emulate_alu_pc(struct kprobe *p, struct pt_regs *regs)
{
	const u32 word = p->opcode;
	unsigned long first = operand(regs, FIELD_N(word)), second = second_operand(regs, word);
	unsigned long carry = !!(regs->ARM_cpsr & PSR_C_BIT), to = 0;

	if (!is_executed(word, regs))
		return;
	switch (word >> 21 & 15) {
	case 0: to = first & second; break;
	case 1: to = first ^ second; break;
	case 2: to = first - second; break;
	case 3: to = second - first; break;
	case 4: to = first + second; break;
	case 5: to = first + second + carry; break;
	case 6: to = first - second - !carry; break;
	case 7: to = second - first - !carry; break;
	case 12: to = first | second; break;
	case 13: to = second; break;
	case 14: to = first & ~second; break;
	case 15: to = ~second; break;
	}
	branch_to(regs, to);
}

__step __used void emulate_load_pc(struct kprobe *p, struct pt_regs *regs)
{
	const u32 word = p->opcode;
	unsigned long base = operand(regs, FIELD_N(word)), moved;
	unsigned long offset = word & IS_REGISTER ? shifted_operand(regs, word) : word & 0xfff;

	if (!is_executed(word, regs))
		return;
	moved = word & IS_UP ? base + offset : base - offset;
	branch_to(regs, *(const unsigned long *)(word & IS_BEFORE ? moved : base));
	if (writes_base(word))
		regs->uregs[FIELD_N(word)] = moved;
}
