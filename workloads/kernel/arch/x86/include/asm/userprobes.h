/* What core/userprobes.c asks of x86. The processor steps, so that a hit has two exceptions. */
#ifndef _ASM_USERPROBES_H
#define _ASM_USERPROBES_H

#include <asm/kprobes.h>
#include <asm/ptrace.h>
#include <linux/hit.h>

#define USER_STEPS 1
#define USER_ADDRESS(function) ((unsigned long)(function))
#define STEP_FLAGS ((unsigned long)(X86_EFLAGS_TF | X86_EFLAGS_IF))
#define PUSHF_OPCODE 0x9c

static __always_inline kprobe_opcode_t *user_breakpoint_address(const struct pt_regs *regs)
{
	return (kprobe_opcode_t *)regs->ip - 1;
}

static __always_inline void go_to(struct pt_regs *regs, const void *at)
{
	regs->ip = (unsigned long)at;
}

static __always_inline int is_user_breakpoint(const kprobe_opcode_t *at)
{
	return READ_VOLATILE(*at) == BREAKPOINT_INSTRUCTION;
}

/* A store reaches every fetch without help. */
static __always_inline void store_user_opcode(kprobe_opcode_t *seen, kprobe_opcode_t opcode)
{
	WRITE_VOLATILE(*seen, opcode);
}

static __always_inline void begin_user_step(struct pt_regs *regs, struct hit *h)
{
	h->flags_before = regs->flags & STEP_FLAGS;
	regs->flags = (regs->flags | X86_EFLAGS_TF) & ~(unsigned long)X86_EFLAGS_IF;
}

/* Flags that were pushed are those of the step. */
static __always_inline void end_user_step(struct pt_regs *regs, const struct hit *h)
{
	if (h->probe->opcode == PUSHF_OPCODE && regs->ip != (unsigned long)h->probe->addr) {
		unsigned long *top = (unsigned long *)regs->sp;

		*top = (*top & ~STEP_FLAGS) | h->flags_before;
	}
	regs->flags = (regs->flags & ~STEP_FLAGS) | h->flags_before;
}

/* At the first instruction of a function its return address is on top of the stack. */
static __always_inline unsigned long *user_return_address(struct pt_regs *regs)
{
	return (unsigned long *)regs->sp;
}

#endif
