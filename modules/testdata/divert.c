/* A handler that leads execution into a function of the module, which comes back in place of the probed one. */
#include "module.h"

unsigned long divert_base = 1000;

/* Its variable is found by the module's table of contents, where there is one. */
noinline unsigned long divert_to(unsigned long a, unsigned long b)
{
	return divert_base + a * 10 + b;
}

int divert_pre(struct kprobe *p __unused, struct pt_regs *regs)
{
#ifdef __powerpc64__
	const unsigned long *descriptor = (const unsigned long *)divert_to;

	instruction_pointer_set(regs, descriptor[0]);
	regs->gpr[2] = descriptor[1];
#else
	instruction_pointer_set(regs, (unsigned long)divert_to);
#endif
	return 1;
}
