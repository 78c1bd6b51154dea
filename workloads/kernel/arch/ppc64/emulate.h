/*
 * Fields of instruction words, and the parts of the emulator. RT, RA and BO are the names of Book I.
 */
#ifndef _PPC64_EMULATE_H
#define _PPC64_EMULATE_H

#include <linux/era.h>
#include <linux/kernel.h>
#include <asm/hit.h>

#define PRIMARY(word) ((word) >> 26)
#define EXTENDED(word) ((word) >> 1 & 0x3ff)
#define RT(word) ((word) >> 21 & 31)
#define RA(word) ((word) >> 16 & 31)
#define RB(word) ((word) >> 11 & 31)
#define D(word) ((long)(s16)(word))
#define RC 1			/* the result is compared with zero; of branches: the link register is set */

/* What RA stands for in an address. */
static __always_inline unsigned long base(const struct pt_regs *regs, u32 word)
{
	return RA(word) ? regs->gpr[RA(word)] : 0;
}

/* What program and trace interrupts keep in SRR1 beside the machine state register (Book III, section 5.5). */
#define SRR1_REASON 0x783f0000UL

static __always_inline int is_mfmsr(u32 word)
{
	return PRIMARY(word) == 31 && EXTENDED(word) == 83;
}

/* The frame has the state of the probed code; the processor's own has changed since. */
static __always_inline void move_from_msr(struct pt_regs *regs, u32 word)
{
	regs->gpr[RT(word)] = regs->msr & ~SRR1_REASON;
}

/* Both leave regs->nip alone. 1: done. 0: nothing has changed. */
int emulate_integer(struct pt_regs *regs, u32 word);
int emulate_memory(struct pt_regs *regs, u32 word);

#endif
