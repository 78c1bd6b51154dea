/* What core/userprobes.c asks of ppc64. The processor steps, so that a hit has two exceptions. */
#ifndef _ASM_USERPROBES_H
#define _ASM_USERPROBES_H

#include <asm/kprobes.h>
#include <asm/ptrace.h>
#include <asm/switch_to.h>
#include <asm/text.h>
#include <linux/hit.h>

#define USER_STEPS 1
#define USER_ADDRESS(function) code_of((const void *)(function))

static __always_inline kprobe_opcode_t *user_breakpoint_address(const struct pt_regs *regs)
{
	return (kprobe_opcode_t *)regs->nip;
}

static __always_inline void go_to(struct pt_regs *regs, const void *at)
{
	regs->nip = (unsigned long)at;
}

static __always_inline int is_user_breakpoint(const kprobe_opcode_t *at)
{
	return READ_VOLATILE(*at) == BREAKPOINT_INSTRUCTION;
}

static __always_inline void store_user_opcode(kprobe_opcode_t *seen, kprobe_opcode_t opcode)
{
	WRITE_VOLATILE(*seen, opcode);
	flush_icache_range((unsigned long)seen, (unsigned long)seen + sizeof(*seen));
}

/* No interrupt comes in between: it could let another task run in the middle of the hit. */
static __always_inline void begin_user_step(struct pt_regs *regs, struct hit *h)
{
	h->flags_before = regs->msr & (MSR_SE | MSR_EE);
	regs->msr = (regs->msr | MSR_SE) & ~(unsigned long)MSR_EE;
}

static __always_inline void end_user_step(struct pt_regs *regs, const struct hit *h)
{
	regs->msr = (regs->msr & ~(unsigned long)(MSR_SE | MSR_EE)) | h->flags_before;
}

/* At the first instruction of a function its return address is in the link register. */
static __always_inline unsigned long *user_return_address(struct pt_regs *regs)
{
	return &regs->link;
}

#endif
