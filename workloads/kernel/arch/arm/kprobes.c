/*
 * A probe hit on ARM. No processor of this architecture steps, so a hit is one exception. The breakpoint is an
 * undefined instruction: the probe is found, its handler called, the displaced instruction emulated, and the post
 * handler called. Interrupts are off all the time, and so preemption needs no counter.
 */
#include <linux/hit.h>
#include <linux/userprobes.h>
#include <asm/extable.h>
#include <asm/irqflags.h>
#include <asm/traps.h>
#include "emulate.h"

/* From here on the CPU is in a hit of this probe. */
static __always_inline void open_hit(struct hit *h, struct kprobe *p, enum hit_stage stage)
{
	h->probe = p;
	h->stage = stage;
}

/* Leaves the frame as the displaced instruction does. */
static __always_inline void emulate_displaced(struct kprobe *p, struct pt_regs *regs)
{
	regs->ARM_pc += sizeof(kprobe_opcode_t);
	p->ainsn.insn_handler(p, regs);
}

/* The handlers before the instruction are done. */
static __dispatch void leave_handlers(struct hit_record *r, struct pt_regs *regs)
{
	struct kprobe *p = r->now.probe;

	r->now.stage = HIT_COPY;
	emulate_displaced(p, regs);
	if (p->post_handler) {
		r->now.stage = HIT_AFTER;
		p->post_handler(p, regs, 0);
	}
	r->now.probe = NULL;
}

/* A probe is hit by a handler. Its own handlers would not be safe here: the hit is counted as missed. */
static __dispatch void nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	/* What emulates takes no probes. */
	if (r->now.stage & (HIT_COPY | HIT_NESTED_COPY)) {
		klog("Unrecoverable kprobe detected at %p.\n", p->addr);
		BUG();
	}
	count_missed(p);
	r->outer = r->now;
	open_hit(&r->now, p, HIT_NESTED_COPY);
	emulate_displaced(p, regs);
	r->now = r->outer;
}

/* No breakpoint of a probe, during a hit: it may be the end of a jprobe's function. */
static __dispatch int jprobe_ends(struct hit_record *r, struct pt_regs *regs)
{
	struct kprobe *p = r->now.probe;

	if (!p->break_handler || !p->break_handler(p, regs))
		return 0;
	leave_handlers(r, regs);
	return 1;
}

/* No probe is known. Nonzero: it has been taken away meanwhile, and what is there now is next. */
static __always_inline int has_vanished(const kprobe_opcode_t *at)
{
	return (READ_VOLATILE(*at) | 0xf0000000) != (BREAKPOINT_INSTRUCTION | 0xf0000000);
}

__dispatch __used int probe_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = (kprobe_opcode_t *)regs->ARM_pc;
	struct hit_record *r = this_hit();
	struct kprobe *p = find_probe(at);

	if (unlikely(!p))
		return hit_under_way(r) && jprobe_ends(r, regs) ? 1 : has_vanished(at);
#if ERA_KEEP_CONDITION
	/* The processor would have executed nothing, but calls the word undefined all the same. */
	if (!condition_holds(p->opcode, regs->ARM_cpsr)) {
		regs->ARM_pc += sizeof(*at);
		return 1;
	}
#endif
	if (unlikely(hit_under_way(r))) {
		nested_hit(r, p, regs);
		return 1;
	}
	open_hit(&r->now, p, HIT_HANDLER);
	/* A handler that answers nonzero has decided itself where the code goes on. */
	if (!p->pre_handler || !p->pre_handler(p, regs))
		leave_handlers(r, regs);
	return 1;
}

/* Undefined instructions that are breakpoints. */
static __dispatch int breakpoint_trapped(struct pt_regs *regs, unsigned int word __unused)
{
	unsigned long flags = local_irq_save();
	int ours = probe_hit(regs);

	local_irq_restore(flags);
	return !ours;
}

static struct undef_hook breakpoint_hook = {
	.instr_mask = ERA_KEEP_CONDITION ? 0x0fffffff : 0xffffffff,
	.instr_val = ERA_KEEP_CONDITION ? BREAKPOINT_INSTRUCTION & 0x0fffffff : BREAKPOINT_INSTRUCTION,
	.cpsr_mask = PSR_MODE_MASK,
	.cpsr_val = SVC_MODE,
	.fn = breakpoint_trapped,
};

#ifdef USERPROBES
/* The page was taken away, which this CPU has not been told yet: it is interrupted, and then the access faults. */
static __dispatch int page_has_gone(unsigned long address)
{
	struct vm_area_struct *vma = current->mm ? area_of(current->mm, address) : NULL;

	return vma && vma->vm_inode && !*page_slot(vma, address);
}

/* A breakpoint of user mode. What is emulated reaches user space by the addresses that user mode has. */
static __dispatch int user_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = (kprobe_opcode_t *)regs->ARM_pc, *seen;
	struct hit_record *r = this_hit();
	struct kprobe *p = find_user_probe((unsigned long)at, &seen);

	if (unlikely(!p))
		return has_vanished(at) || find_user_probe((unsigned long)at, &seen) ||
		       page_has_gone((unsigned long)at);
	/* Registered anew and not inserted yet: the breakpoint was another one's, and what is there now is next. */
	if (unlikely(!p->ainsn.insn_handler))
		return 1;
	open_hit(&r->now, p, HIT_HANDLER);
	if (!p->pre_handler || !p->pre_handler(p, regs))
		leave_handlers(r, regs);
	return 1;
}

static __dispatch int user_breakpoint_trapped(struct pt_regs *regs, unsigned int word __unused)
{
	unsigned long flags = local_irq_save();
	int ours = user_hit(regs);

	local_irq_restore(flags);
	return !ours;
}

static struct undef_hook user_breakpoint_hook = {
	.instr_mask = 0xffffffff,
	.instr_val = BREAKPOINT_INSTRUCTION,
	.cpsr_mask = PSR_MODE_MASK,
	.cpsr_val = USR_MODE,
	.fn = user_breakpoint_trapped,
};

/*
 * A fault of an instruction of user mode that is being emulated. The fault handler hears of it. A page that can be
 * brought in is, and the emulation goes on.
 */
__dispatch int user_copy_faulted(struct pt_regs *regs, unsigned long address, unsigned int status)
{
	struct hit_record *r = this_hit();
	struct kprobe *p = r->now.probe;

	if (!p || !p->user || !(r->now.stage & HIT_COPY))
		return 0;
	if (p->fault_handler && p->fault_handler(p, regs, status))
		return 1;
	return kernel_brings_page(address, fault_access(status));
}
#endif

void kprobes_init(void)
{
	register_undef_hook(&breakpoint_hook);
#ifdef USERPROBES
	register_undef_hook(&user_breakpoint_hook);
#endif
}

int arch_init_kprobes(void)
{
	return 0;
}

/*
 * A called copy has faulted. If the original has an entry in the exception table, its frame goes on there. The
 * copy's exception returns to its caller, which writes back the values from before.
 */
static __dispatch int copy_faulted(const struct kprobe *p, struct pt_regs *regs)
{
	/* See CALL_COPY. Copies of loads and stores of several registers have none of their own. */
	struct pt_regs *frame = (struct pt_regs *)regs->uregs[6];
	unsigned long next;

	if (regs->ARM_pc != (unsigned long)p->ainsn.insn || (p->opcode >> 25 & 7) == 4)
		return 0;
	next = frame->ARM_pc;
	frame->ARM_pc = (unsigned long)p->addr;
	if (!fixup_exception(frame)) {
		frame->ARM_pc = next;
		return 0;
	}
	regs->ARM_pc = regs->ARM_lr;
	return 1;
}

/* A fault under a probe: of a handler, which the user may mend, or of the displaced instruction. */
__dispatch int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct hit_record *r = this_hit();
	struct kprobe *p = r->now.probe;

	if (r->now.stage & (HIT_COPY | HIT_NESTED_COPY)) {
		if (copy_faulted(p, regs))
			return 1;
		/* It goes its usual way, as one of the original. */
		regs->ARM_pc = (unsigned long)p->addr;
		if (r->now.stage == HIT_NESTED_COPY)
			r->now = r->outer;
		else
			r->now.probe = NULL;
		return 0;
	}
	count_missed(p);
	if (p->fault_handler && p->fault_handler(p, regs, trapnr))
		return 1;
	return fixup_exception(regs);
}

/* At the first instruction of a function its return address is in the link register. */
__kretprobe void divert_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *back = &regs->ARM_lr;

	ri->ret_addr = (kprobe_opcode_t *)*back;
	*back = (unsigned long)kretprobe_trampoline;
}

#if ERA_OPTIMIZE
/* A branch has led to a detour, which has saved the registers. It has no copy of the instruction of its own. */
__detour __used void detour_called(struct jump_probe *op, struct pt_regs *regs)
{
	unsigned long flags = local_irq_save();
	struct hit_record *r = this_hit();

	regs->ARM_pc = (unsigned long)op->kp.addr;
	if (unlikely(r->now.probe)) {
		count_missed(&op->kp);
	} else {
		open_hit(&r->now, &op->kp, HIT_HANDLER);
		detour_handlers(&op->kp, regs);
		r->now.probe = NULL;
	}
	/* Nobody looks at where a handler wants to go. */
	regs->ARM_pc = (unsigned long)op->kp.addr;
	emulate_displaced(&op->kp, regs);
	local_irq_restore(flags);
}
#endif
