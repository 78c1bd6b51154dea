/*
 * Fields of instruction words, and what the parts of the emulator have in common. Every emulator is called with
 * regs->ARM_pc on the next instruction. The files are written from the ARM architecture reference manual (DDI 0406C),
 * chapters A5 and A8.
 */
#ifndef _ARM_EMULATE_H
#define _ARM_EMULATE_H

#include <linux/era.h>
#include <linux/hit.h>
#include <linux/kernel.h>

/* Where an instruction may name registers, from the left: base or first operand, destination, shift, last operand. */
#define FIELD_N(word) ((word) >> 16 & 15)
#define FIELD_D(word) ((word) >> 12 & 15)
#define FIELD_S(word) ((word) >> 8 & 15)
#define FIELD_M(word) ((word) & 15)
#define CONDITION(word) ((word) >> 28)

/* Of loads and stores. */
#define IS_BEFORE 0x01000000	/* P: the offset is added before the access */
#define IS_UP 0x00800000	/* U: it is added, and else subtracted */
#define IS_WRITE_BACK 0x00200000 /* W */
#define IS_LOAD 0x00100000	/* L */

#define REG_SP 13
#define REG_PC 15

/* Flags, saturation, and the greater-or-equal bits of parallel additions. */
#define PSR_RESULTS 0xf80f0000

/*
 * For each condition the set of flags that it holds for, a bit for each value of N, Z, C and V (A8.3). The last
 * one is no condition: such words are always executed.
 */
extern const u16 flags_that_hold[16];

static __always_inline int condition_holds(u32 word, unsigned long psr)
{
	return flags_that_hold[CONDITION(word)] >> (psr >> 28) & 1;
}

/* Where the breakpoint has no condition of its own, what the processor does not evaluate C does. */
static __always_inline int is_executed(u32 word, const struct pt_regs *regs)
{
	return ERA_KEEP_CONDITION || condition_holds(word, regs->ARM_cpsr);
}

/* As an operand the program counter is two instructions ahead. */
static __always_inline unsigned long operand(const struct pt_regs *regs, unsigned int n)
{
	return regs->uregs[n] + (n == REG_PC ? 4 : 0);
}

/* The lowest bit of an address that is branched to says that Thumb code stands there (A2.3.1, BXWritePC). */
static __always_inline void branch_to(struct pt_regs *regs, unsigned long to)
{
	if (unlikely(to & 1))
		regs->ARM_cpsr |= PSR_T_BIT;
	regs->ARM_pc = to & ~1UL;
}

/* Whether an access puts its address into the base register. */
static __always_inline int writes_base(u32 word)
{
	return !(word & IS_BEFORE) || word & IS_WRITE_BACK;
}

/* Bits 0 to 11 of data processing and of loads and stores: an operand that is shifted by a constant. */
unsigned long shifted_operand(const struct pt_regs *regs, u32 word);

#endif
