/* Exception table: pairs of the address that may fault and where to go on. */
#ifndef _ASM_EXTABLE_H
#define _ASM_EXTABLE_H

#include <asm/asm.h>

/* For inline assembly: labels as strings. */
#define EXTABLE(from, to) \
	".pushsection __ex_table, \"a\"\n\t.balign 8\n\t.word " from ", " to "\n\t.popsection\n"

struct exception_table_entry {
	unsigned long insn, fixup;
};

struct pt_regs;
/* Moves regs->ARM_pc to the fixup of the faulting instruction; 0 when it has none. */
int fixup_exception(struct pt_regs *regs);

#endif
