/* Exception table: pairs of the address that may fault and where to go on. */
#ifndef _ASM_EXTABLE_H
#define _ASM_EXTABLE_H

#include <asm/asm.h>

#ifdef __ASSEMBLER__
.macro EXTABLE from, to
	.pushsection __ex_table, "a"
	.balign 8
	ASM_WORD \from, \to
	.popsection
.endm
#else

#define EXTABLE_STRING(x) #x
#define EXTABLE_ENTRY(word, from, to) \
	".pushsection __ex_table, \"a\"\n\t" EXTABLE_STRING(word) " " from ", " to "\n\t.popsection\n"
/* For inline assembly: labels as strings. */
#define EXTABLE(from, to) EXTABLE_ENTRY(ASM_WORD, from, to)

struct exception_table_entry {
	unsigned long insn, fixup;
};

struct pt_regs;
/* Moves regs->ip to the fixup of the faulting instruction; 0 when it has none. */
int fixup_exception(struct pt_regs *regs);

#endif
#endif
