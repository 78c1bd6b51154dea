/*
 * A probe hit on ppc64. It consists of one or two exceptions:
 *
 *   program   the trap word: the probe is found, its handler called, and the displaced instruction emulated, or its
 *             copy prepared
 *   trace     the copy has been executed with MSR_SE; what depends on its place is put right
 *
 * Pointers to functions lead to descriptors, also those to handlers. Interrupts are as the probed code had them in the
 * first exception, and off in the second one.
 */
#include <linux/hit_path.h>
#include <linux/notifier.h>
#include <linux/userprobes.h>
#include <asm/text.h>

/* From here on the CPU is in a hit of this probe. */
static __always_inline void open_hit(struct hit *h, struct kprobe *p, const struct pt_regs *regs,
				     enum hit_stage stage)
{
	h->probe = p;
	h->stage = stage;
	h->flags_before = regs->msr;
}

/* The code goes on in the state that it had before the breakpoint. */
static __always_inline void stop_stepping(const struct hit *h, struct pt_regs *regs)
{
	regs->msr = (regs->msr & ~MSR_SE) | h->flags_before;
}

/* tw, td, twi, tdi with any condition. */
static __always_inline int is_trap(kprobe_opcode_t word)
{
	const unsigned int primary = word >> 26, extended = word >> 1 & 0x3ff;

	return primary == 2 || primary == 3 || (primary == 31 && (extended == 4 || extended == 68));
}

/*
 * A trap is executed where it is, since who waits for it looks at its address. The breakpoint stands there: kernels
 * made every trap fire in this way. One with a condition, which may not hold, is stepped from its slot here.
 */
static __always_inline int steps_in_place(kprobe_opcode_t word)
{
	return is_trap(word) && (word >> 21 & 31) == 31;
}

/* The exception returns to the copy, which is to raise a trace exception behind its one instruction. */
static __always_inline void step_copy(const struct kprobe *p, struct pt_regs *regs)
{
	const unsigned long quiet = ERA_STEP_QUIET ? ~MSR_EE : ~0UL;

	regs->msr = (regs->msr & quiet) | MSR_SE;
	regs->nip = (unsigned long)(steps_in_place(*p->ainsn.insn) ? p->addr : p->ainsn.insn);
}

static __always_inline void call_post_handler(struct hit *h, struct pt_regs *regs)
{
	struct kprobe *p = h->probe;

	if (!p->post_handler)
		return;
	h->stage = HIT_AFTER;
	p->post_handler(p, regs, 0);
}

/* Does what the displaced instruction does, and remembers with its probe whether that works. */
static __always_inline int emulated(struct kprobe *p, struct pt_regs *regs)
{
	if (p->ainsn.boostable < 0)
		return 0;
	if (emulate_displaced(regs, *p->ainsn.insn)) {
		if (!p->ainsn.boostable)
			p->ainsn.boostable = 1;
		return 1;
	}
	/* What could be emulated once may not be this time: it is tried again. */
	if (!p->ainsn.boostable)
		p->ainsn.boostable = -1;
	return 0;
}

/* The handlers are done: the displaced instruction is next. Kernels had this inside of the hit's function. */
static __always_inline void leave_handlers(struct hit_record *r, struct pt_regs *regs)
{
	struct kprobe *p = r->now.probe;

	if (ERA_EMULATE && emulated(p, regs)) {
		call_post_handler(&r->now, regs);
		close_hit(r);
		return;
	}
	r->now.stage = HIT_COPY;
	step_copy(p, regs);
}

/*
 * A probe is hit while another one is being handled. While an instruction is stepped, the only breakpoint that may
 * come is that instruction. It is somebody else's then.
 */
static __always_inline int is_stepped_trap(const struct hit_record *r, const struct kprobe *p)
{
	return r->now.stage == HIT_COPY && p == r->now.probe && steps_in_place(*p->ainsn.insn);
}

#if ERA_NESTED_RUNS
/*
 * Handlers would not be safe here: the hit is counted as missed, and the instruction executed. Kernels before 4.7
 * always stepped it, from memory, and a branch went wrong.
 */
static __dispatch int nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	if (is_stepped_trap(r, p)) {
		stop_stepping(&r->now, regs);
		preempt_enable_no_resched();
		return 0;
	}
	count_missed(p);
	if (ERA_EMULATE && emulated(p, regs)) {
		preempt_enable_no_resched();
		return 1;
	}
	r->outer = r->now;
	open_hit(&r->now, p, regs, HIT_NESTED_COPY);
	step_copy(p, regs);
	return 1;
}
#else
/* In 2005 the nested probe is lost. Its breakpoint is taken away, and the code goes on there. */
static __dispatch int nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	preempt_enable_no_resched();
	if (is_stepped_trap(r, p)) {
		stop_stepping(&r->now, regs);
		end_hits();
		return 0;
	}
	text_poke(p->addr, &p->opcode, sizeof(p->opcode));
	return 1;
}
#endif

/* A breakpoint that no probe put there, during a hit: it is the end of a jprobe's function. */
static __always_inline int jprobe_ends(struct hit_record *r, struct pt_regs *regs)
{
	struct kprobe *p = r->now.probe;

	if (!p->break_handler || !p->break_handler(p, regs))
		return 0;
	leave_handlers(r, regs);
	return 1;
}

/*
 * No probe is known for the trap. Nonzero: its word was a breakpoint that is gone, and what is there now is next.
 * The task may have been preempted before the look-up for as long as a probe goes and comes back. Then it came
 * back behind the look-up, and its breakpoint is executed again; or it has gone once more behind that.
 */
static __always_inline int has_vanished(kprobe_opcode_t *at)
{
#ifdef PREEMPT
	return !is_trap(READ_VOLATILE(*at)) || find_probe(at) || !is_trap(READ_VOLATILE(*at));
#else
	return !is_trap(READ_VOLATILE(*at));
#endif
}

/* The trap word was executed. Nonzero: it was a probe's. */
static __dispatch int breakpoint_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = (kprobe_opcode_t *)regs->nip;
	struct hit_record *r;
	struct kprobe *p;
	int ours, within;

	preempt_disable();
	r = this_hit();
	within = hit_under_way(r);
#if ERA_GLOBAL_HIT
	if (!within)
		begin_hits();
#endif
	p = find_probe(at);
	if (unlikely(within)) {
		if (p)
			return nested_hit(r, p, regs);
		if (jprobe_ends(r, regs))
			return 1;
		ours = has_vanished(at);
	} else if (likely(p)) {
		open_hit(&r->now, p, regs, HIT_HANDLER);
		/* A handler that answers nonzero has decided itself where the code goes on. */
		if (!p->pre_handler || !p->pre_handler(p, regs))
			leave_handlers(r, regs);
		return 1;
	} else {
#if ERA_GLOBAL_HIT
		end_hits();
#endif
		ours = has_vanished(at);
	}
	preempt_enable_no_resched();
	return ours;
}

/* Where the code goes on behind the step. Where branches are emulated, none is stepped. */
static __always_inline void leave_copy(const struct kprobe *p, struct pt_regs *regs)
{
#if ERA_EMULATE
	regs->nip = (unsigned long)p->addr + sizeof(kprobe_opcode_t);
#else
	put_step_right(regs, (unsigned long)p->addr, *p->ainsn.insn);
#endif
}

/* The trace exception, interrupts off. Nonzero: it was the step of a probe's copy, and nobody else's. */
static __step int copy_stepped(struct pt_regs *regs)
{
	struct hit_record *r = this_hit();

	if (!hit_under_way(r))
		return 0;
	if (r->now.stage != HIT_NESTED_COPY)
		call_post_handler(&r->now, regs);
	leave_copy(r->now.probe, regs);
	regs->msr |= r->now.flags_before;
	leave_step(r, r->now.stage);
	return !(regs->msr & MSR_SE);
}

/* The fault is the original's. */
static __always_inline void fault_at_original(const struct kprobe *p, const struct hit *h, struct pt_regs *regs)
{
	regs->nip = (unsigned long)p->addr;
	stop_stepping(h, regs);
}

__dispatch int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	return fault_under_probe(regs, trapnr, fault_at_original);
}

#ifdef USERPROBES
static __dispatch int listen_to_user(unsigned long event, struct die_args *args)
{
	if (event == DIE_BPT)
		return user_breakpoint_hit(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
	return event == DIE_SSTEP && user_stepped(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
}
#else
#define listen_to_user(event, args) NOTIFY_DONE
#endif

/* The first listener of exceptions. */
static __dispatch int listen(struct notifier_block *self __unused, unsigned long event, void *data)
{
	struct die_args *args = data;
	int ours = 0;

	if (user_mode(args->regs))
		return listen_to_user(event, args);
	if (event == DIE_BPT)
		ours = breakpoint_hit(args->regs);
	else if (event == DIE_SSTEP)
		ours = copy_stepped(args->regs);
	else if (event == DIE_GPF)
		ours = hit_under_way(this_hit()) && kprobe_fault_handler(args->regs, args->trapnr);
	return ours ? NOTIFY_STOP : NOTIFY_DONE;
}

static struct notifier_block probe_listener = {
	.notifier_call = listen,
	.priority = 0x7ffffff0,
};

void kprobes_init(void)
{
	register_die_notifier(&probe_listener);
}

/* At the first instruction of a function its return address is in the link register. */
__kretprobe void divert_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *back = &regs->link;

	ri->ret_addr = (kprobe_opcode_t *)*back;
	*back = (unsigned long)kretprobe_trampoline;
}

/*
 * The trampoline is a nop with a probe. Its handler goes where the function was to return to. Where a detour may have
 * led here, nobody looks at where its handler wants to go: there the nop is executed, and a return behind it.
 */
static __kretprobe int trampoline_hit(struct kprobe *p __unused, struct pt_regs *regs)
{
	unsigned long back = function_returned(regs);

	if (ERA_OPTIMIZE) {
		regs->link = back;
		return 0;
	}
	regs->nip = back;
	close_hit(this_hit());
	return 1;
}

static struct kprobe trampoline_probe = {
	.addr = (kprobe_opcode_t *)kretprobe_trampoline,
	.pre_handler = trampoline_hit,
};

/* Once there is a task that can register. */
int arch_init_kprobes(void)
{
	return register_kprobe(&trampoline_probe);
}

#if ERA_OPTIMIZE
/* A branch has led to a detour, which has saved the registers. Its hits keep interrupts off. */
__detour __used void detour_called(struct jump_probe *op, struct pt_regs *regs)
{
	struct hit_record *r;
	unsigned long flags;

	/* A hit that calls no handler needs the address as well: the emulator makes the link of a call from it. */
	regs->nip = (unsigned long)op->kp.addr;
	if (!probe_enabled(&op->kp))
		return;
	flags = local_irq_save();
	r = this_hit();
	if (unlikely(r->now.probe)) {
		count_missed(&op->kp);
	} else {
		regs->trap = 0;
		r->now.probe = &op->kp;
		r->now.stage = HIT_HANDLER;
		detour_handlers(&op->kp, regs);
		r->now.probe = NULL;
	}
	local_irq_restore(flags);
}
#endif
