/* What core/userprobes.c asks of ARM. Instructions are emulated, so that a hit has one exception. */
#ifndef _ASM_USERPROBES_H
#define _ASM_USERPROBES_H

#include <asm/ptrace.h>
#include <linux/compiler.h>

#define USER_STEPS 0
#define USER_ADDRESS(function) ((unsigned long)(function))

static __always_inline void go_to(struct pt_regs *regs, const void *at)
{
	regs->ARM_pc = (unsigned long)at;
}

/* At the first instruction of a function its return address is in the link register. */
static __always_inline unsigned long *user_return_address(struct pt_regs *regs)
{
	return &regs->ARM_lr;
}

#endif
