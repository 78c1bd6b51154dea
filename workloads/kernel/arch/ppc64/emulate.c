/*
 * What an instruction does, done in C to the registers of a frame. Kernels ask for that in the place of a step, or
 * behind one for what depends on the place of the copy. The file is written from Book I of the PowerPC
 * architecture, version 2.02; RT, RA and BO are the manual's names of fields.
 *
 * Kernels of 2005 and 2010 emulate branches and mfmsr. Those of 2011 emulate most integer instructions, loads and
 * stores. Forms that set the overflow bit, traps and system calls are always stepped. So are larx and stcx: the way
 * out of an exception drops the reservation, whether they are stepped or emulated.
 */
#include "emulate.h"

#define LK 1			/* of branches: the link register is set */
#define AA 2			/* of branches: the address is absolute */

/* Extended opcodes of primary opcode 19 that are branches. */
#define TO_LINK 16
#define TO_COUNT 528

/* Bits of BO, from the left. */
#define BO_ANY_CONDITION 16
#define BO_TRUE 8
#define BO_KEEP_COUNT 4
#define BO_COUNT_ZERO 2

static __always_inline int is_branch_to_register(u32 word)
{
	return PRIMARY(word) == 19 && (EXTENDED(word) == TO_LINK || EXTENDED(word) == TO_COUNT);
}

/* Counts, where the branch does, and says whether it is taken (Book I, section 2.4.1). */
static __always_inline int branch_taken(struct pt_regs *regs, u32 word)
{
	const unsigned int bo = RT(word), bit = regs->ccr >> (31 - RA(word)) & 1;

	if (!(bo & BO_KEEP_COUNT) && !--regs->ctr != !!(bo & BO_COUNT_ZERO))
		return 0;
	return bo & BO_ANY_CONDITION || bit == !!(bo & BO_TRUE);
}

static __step int branch(struct pt_regs *regs, u32 word)
{
	const unsigned long here = regs->nip, next = here + 4;
	unsigned long from = word & AA ? 0 : here, to;
	int taken = 1;

	if (PRIMARY(word) == 18) {
		to = from + ((long)((s32)(word << 6) >> 6) & ~3L);
	} else if (PRIMARY(word) == 16) {
		to = from + (D(word) & ~3L);
		taken = branch_taken(regs, word);
	} else {
		to = (EXTENDED(word) == TO_LINK ? regs->link : regs->ctr) & ~3UL;
		taken = branch_taken(regs, word);
	}
	regs->nip = taken ? to : next;
	if (word & LK)
		regs->link = next;
	return 1;
}

/* 1: done, and regs->nip is where it leads. */
static __always_inline int emulate_branch(struct pt_regs *regs, u32 word)
{
	const unsigned int primary = PRIMARY(word);

	if (primary == 18 || primary == 16 || is_branch_to_register(word))
		return branch(regs, word);
	return 0;
}

#if ERA_EMULATE_MOST
/* Of primary opcode 31 both know some. */
static __always_inline int emulate_other(struct pt_regs *regs, u32 word)
{
	if (PRIMARY(word) <= 31 && emulate_integer(regs, word))
		return 1;
	return PRIMARY(word) >= 31 && emulate_memory(regs, word);
}
#else
static __always_inline int emulate_other(struct pt_regs *regs, u32 word)
{
	if (!is_mfmsr(word))
		return 0;
	move_from_msr(regs, word);
	return 1;
}
#endif

__step __used int emulate_displaced(struct pt_regs *regs, u32 word)
{
	if (emulate_branch(regs, word))
		return 1;
	if (!emulate_other(regs, word))
		return 0;
	regs->nip += 4;
	return 1;
}

#if !ERA_EMULATE
/*
 * The copy has been stepped and has led to regs->nip. What it did depends on its place if it is a branch: that is
 * done again as at the original's place. Before, what the step did to the count and to the link register is undone.
 */
__step void put_step_right(struct pt_regs *regs, unsigned long at, u32 word)
{
	if ((PRIMARY(word) == 16 || is_branch_to_register(word)) && !(RT(word) & BO_KEEP_COUNT))
		regs->ctr++;
	if (is_branch_to_register(word) && EXTENDED(word) == TO_LINK && word & LK)
		regs->link = regs->nip;
	regs->nip = at;
	if (!emulate_displaced(regs, word))
		regs->nip = at + 4;
}
#endif
