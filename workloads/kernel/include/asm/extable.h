/* Exception table: pairs of the address that may fault and where to go on. */
#ifndef _ASM_EXTABLE_H
#define _ASM_EXTABLE_H

#ifdef __ASSEMBLER__
.macro EXTABLE from, to
	.pushsection __ex_table, "a"
	.balign 8
	.quad \from, \to
	.popsection
.endm
#else

struct exception_table_entry {
	unsigned long insn, fixup;
};

struct pt_regs;
/* Moves regs->ip to the fixup of the faulting instruction; 0 when it has none. */
int fixup_exception(struct pt_regs *regs);

#endif
#endif
