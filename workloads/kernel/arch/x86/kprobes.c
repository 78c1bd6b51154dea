/*
 * A probe hit on x86. It consists of one or two exceptions:
 *
 *   #BP   the probe is found, its handler called, and the copy of the displaced instruction prepared
 *   #DB   the copy has been executed with the trap flag; what depends on its place is put right
 *
 * A copy that comes back by itself needs no #DB: one with a jump behind it (boosting), or the one in the
 * detour of a probe whose jump is not written yet.
 */
#include <linux/hit_path.h>
#include <linux/notifier.h>
#include <linux/userprobes.h>
#include <asm/processor.h>
#include <asm/text.h>

#if !ERA_COPY_TRAPS
#define TRAP_FLAG ((unsigned long)X86_EFLAGS_TF)
#define INTERRUPT_FLAG ((unsigned long)X86_EFLAGS_IF)
#define MSR_DEBUGCTL 0x1d9

/* The first byte behind a REX prefix, which 32-bit mode does not have. */
static __always_inline const kprobe_opcode_t *skip_rex(const kprobe_opcode_t *insn)
{
	return insn + (BITS_PER_LONG == 64 && *insn >> 4 == 4);
}

/* popf, iret, cli, sti: what becomes of the interrupt flag is their own business. */
static __dispatch int sets_interrupt_flag(const kprobe_opcode_t *copy)
{
	kprobe_opcode_t op = *skip_rex(copy);

	return op == 0x9d || op == 0xcf || op == 0xfa || op == 0xfb;
}

/* From here on the CPU is in a hit of this probe. */
static __always_inline void open_hit(struct hit *h, struct kprobe *p, const struct pt_regs *regs)
{
	h->probe = p;
	h->flags_before = h->flags_after = regs->flags & (TRAP_FLAG | INTERRUPT_FLAG);
	if (sets_interrupt_flag(p->ainsn.insn))
		h->flags_after &= ~INTERRUPT_FLAG;
}

/* Where the displaced instruction can be executed without a step after it, or NULL. */
static __always_inline const kprobe_opcode_t *returning_copy(const struct kprobe *p)
{
#if ERA_OPTIMIZE
	if (p->flags & KPROBE_FLAG_OPTIMIZED)
		return container_of(p, struct jump_probe, kp)->detour +
		       (detour_template_end - detour_template);
#endif
	/* A post handler must be called, so that somebody has to come back. */
	if (ERA_BOOST && p->ainsn.boostable == 1 && !p->post_handler)
		return p->ainsn.insn;
	return NULL;
}

/* The exception returns to the copy, which is to raise #DB behind its one instruction. */
static __always_inline void step_copy(const struct kprobe *p, struct pt_regs *regs)
{
	/* With branch tracing the processor would trap at the next branch only. */
	if (ERA_CLEAR_DR6 && unlikely(current_thread_info()->flags & _TIF_DEBUGCTLMSR))
		wrmsrl(MSR_DEBUGCTL, 0);
	regs->flags = (regs->flags | TRAP_FLAG) & ~INTERRUPT_FLAG;
	/* A breakpoint of somebody else's is executed where it is. */
	regs->ip = (unsigned long)(p->opcode == BREAKPOINT_INSTRUCTION ? p->addr : p->ainsn.insn);
}

/* The handlers are done: the displaced instruction is next. */
static __dispatch void leave_handlers(struct hit_record *r, struct pt_regs *regs)
{
	const struct kprobe *p = r->now.probe;
	const kprobe_opcode_t *copy = returning_copy(p);

	if (copy) {
		regs->ip = (unsigned long)copy;
		close_hit(r);
		return;
	}
	r->now.stage = HIT_COPY;
	step_copy(p, regs);
}

#if ERA_NESTED_RUNS
/*
 * A probe is hit while another one is being handled. Its handlers would not be safe there: the hit is
 * counted as missed, and the instruction executed. While an instruction is stepped, the only
 * breakpoint that may come is that instruction. It is somebody else's then. With ERA_HIT_IN_STEP an NMI may hit
 * another probe there.
 */
static __dispatch int nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	const kprobe_opcode_t *copy;

	if (r->now.stage == HIT_COPY && p == r->now.probe) {
		regs->flags = (regs->flags & ~TRAP_FLAG) | r->now.flags_after;
		preempt_enable_no_resched();
		return 0;
	}
	if (unlikely(r->now.stage & ((ERA_HIT_IN_STEP ? 0 : HIT_COPY) | HIT_NESTED_COPY))) {
		klog("Unrecoverable kprobe detected at %p.\n", p->addr);
		BUG();
	}
	count_missed(p);
	copy = returning_copy(p);
	if (copy) {
		regs->ip = (unsigned long)copy;
		preempt_enable_no_resched();
		return 1;
	}
	r->outer = r->now;
	open_hit(&r->now, p, regs);
	r->now.stage = HIT_NESTED_COPY;
	step_copy(p, regs);
	return 1;
}
#else
/* The same in 2005: the nested probe is lost. Its breakpoint is taken away, and the code goes on there. */
static __dispatch int nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	preempt_enable_no_resched();
	if (r->now.stage == HIT_COPY && p->opcode == BREAKPOINT_INSTRUCTION) {
		regs->flags = (regs->flags & ~TRAP_FLAG) | r->now.flags_after;
		end_hits();
		return 0;
	}
	WRITE_VOLATILE(*p->addr, p->opcode);
	regs->ip = (unsigned long)p->addr;
	return 1;
}
#endif

/* Somebody has taken a breakpoint away: the code goes on with what is there now. */
static __always_inline int has_vanished(kprobe_opcode_t *at, struct pt_regs *regs)
{
	if (READ_VOLATILE(*at) == BREAKPOINT_INSTRUCTION)
		return 0;
	regs->ip = (unsigned long)at;
	return 1;
}

/* A breakpoint that no probe put there, during a hit: it may be the end of a jprobe's function. */
static __always_inline int jprobe_ends(struct hit_record *r, struct pt_regs *regs)
{
	struct kprobe *p = r->now.probe;

	if (!p->break_handler || !p->break_handler(p, regs))
		return 0;
	leave_handlers(r, regs);
	return 1;
}

/* #BP, interrupts off. Nonzero: the exception was a probe's. */
static __dispatch int breakpoint_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = (kprobe_opcode_t *)regs->ip - 1;
	struct hit_record *r;
	struct kprobe *p;
	int within;

	if (ERA_RECHECK_FIRST && has_vanished(at, regs))
		return 1;
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
	} else if (likely(p)) {
		open_hit(&r->now, p, regs);
		r->now.stage = HIT_HANDLER;
		/* A handler that answers nonzero has decided itself where the code goes on. */
		if (!p->pre_handler || !p->pre_handler(p, regs))
			leave_handlers(r, regs);
		return 1;
	} else {
#if ERA_GLOBAL_HIT
		end_hits();
#endif
		if (!ERA_RECHECK_FIRST && has_vanished(at, regs)) {
			preempt_enable_no_resched();
			return 1;
		}
	}
	preempt_enable_no_resched();
	return 0;
}

/* What executing a copy in another place than the original's has changed. */
enum copy_effect {
	FLAGS_PUSHED = 1,	/* they are on the stack as the step had set them */
	RETURN_PUSHED = 2,	/* the address behind the copy is on the stack */
	WENT_AWAY = 4,		/* the instruction pointer is where the original leads, too */
	COMES_BACK = 8,		/* so that the copy can do without the step from now on */
};

static __always_inline unsigned int effect_of(const kprobe_opcode_t *insn)
{
	switch (*insn) {
	case 0x9c: /* pushf */
		return FLAGS_PUSHED;
	case 0xe8: /* call */
		return RETURN_PUSHED;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf: case 0xea: /* ret, lret, iret, far jmp */
		return WENT_AWAY | COMES_BACK;
#ifdef __i386__
	case 0x9a: /* far call: the offset is the word that it pushes last */
		return RETURN_PUSHED | WENT_AWAY;
#endif
	case 0xff: /* what it does is in the middle of the next byte: 2, 3 call; 4, 5 jmp */
		switch (insn[1] >> 4 & 3) {
		case 1:
			return RETURN_PUSHED | WENT_AWAY;
		case 2:
			return WENT_AWAY | COMES_BACK;
		}
	}
	return 0;
}

#if ERA_BOOST
/*
 * Puts a jump back behind the copy, if the slot has room for it. A repeated instruction that is not done
 * has not moved on; what comes behind it is not known.
 */
static __step void boost(struct kprobe *p, unsigned long done)
{
	kprobe_opcode_t *jump = p->ainsn.insn + done;

	if (!switch_boost || (long)done <= 0 || done + RELATIVEJUMP_SIZE >= MAX_INSN_SIZE) {
		p->ainsn.boostable = -1;
		return;
	}
	*(s32 *)(jump + 1) = p->addr - (p->ainsn.insn + RELATIVEJUMP_SIZE);
	*jump = RELATIVEJUMP_OPCODE;
	p->ainsn.boostable = 1;
}
#endif

/* Makes the copy's effects those that the original would have had. */
static __step void put_right(struct kprobe *p, struct pt_regs *regs, unsigned long flags_before)
{
	unsigned long distance = (unsigned long)p->addr - (unsigned long)p->ainsn.insn;
	unsigned int effect = effect_of(skip_rex(p->ainsn.insn));
	unsigned long *top = kernel_stack_top(regs);

	regs->flags &= ~TRAP_FLAG;
	if (effect & FLAGS_PUSHED)
		*top = (*top & ~(TRAP_FLAG | INTERRUPT_FLAG)) | flags_before;
	if (effect & RETURN_PUSHED)
		*top += distance;
#if ERA_BOOST
	if (effect & COMES_BACK)
		p->ainsn.boostable = 1;
	if (!(effect & WENT_AWAY) && !p->ainsn.boostable)
		boost(p, regs->ip - (unsigned long)p->ainsn.insn);
#endif
	if (!(effect & WENT_AWAY))
		regs->ip += distance;
}

static __always_inline void call_post_handler(struct hit *h, struct pt_regs *regs)
{
	struct kprobe *p = h->probe;

	if (!p->post_handler || h->stage == HIT_NESTED_COPY)
		return;
	h->stage = HIT_AFTER;
	p->post_handler(p, regs, 0);
}

/* #DB, interrupts off. Nonzero: the exception was the step of a probe's copy, and nobody else's. */
static __step int copy_stepped(struct pt_regs *regs)
{
	struct hit_record *r = this_hit();

	if (!hit_under_way(r))
		return 0;
	if (!ERA_POST_LAST)
		call_post_handler(&r->now, regs);
	put_right(r->now.probe, regs, r->now.flags_before);
	regs->flags |= r->now.flags_after;
	if (ERA_POST_LAST)
		call_post_handler(&r->now, regs);
	leave_step(r, r->now.stage);
	return !(regs->flags & TRAP_FLAG);
}

/* The fault is the original's. */
static __always_inline void fault_at_original(const struct kprobe *p, const struct hit *h, struct pt_regs *regs)
{
	regs->ip = (unsigned long)p->addr;
	regs->flags = (regs->flags & ~TRAP_FLAG) | h->flags_before;
}

__dispatch int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	return fault_under_probe(regs, trapnr, fault_at_original);
}

#ifdef USERPROBES
static __dispatch int listen_to_user(unsigned long event, struct die_args *args)
{
	if (event == DIE_INT3)
		return user_breakpoint_hit(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
	if (event != DIE_DEBUG || !user_stepped(args->regs))
		return NOTIFY_DONE;
	if (ERA_CLEAR_DR6)
		*(unsigned long *)args->err &= ~(unsigned long)DR_STEP;
	return NOTIFY_STOP;
}
#else
#define listen_to_user(event, args) NOTIFY_DONE
#endif

/* The first listener of exceptions, but for one that patches text. */
static __dispatch int listen(struct notifier_block *self __unused, unsigned long event, void *data)
{
	struct die_args *args = data;
	int ours = 0;

	if (user_mode(args->regs))
		return listen_to_user(event, args);
	if (event == DIE_INT3) {
		ours = breakpoint_hit(args->regs);
	} else if (event == DIE_DEBUG) {
		ours = copy_stepped(args->regs);
		if (ERA_CLEAR_DR6 && ours)
			*(unsigned long *)args->err &= ~(unsigned long)DR_STEP;
	} else if (event == DIE_GPF) {
		ours = hit_under_way(this_hit()) && kprobe_fault_handler(args->regs, args->trapnr);
	}
	return ours ? NOTIFY_STOP : NOTIFY_DONE;
}

static struct notifier_block probe_listener = {
	.notifier_call = listen,
	.priority = 0x7ffffff0,
};

void kprobes_init(void)
{
	text_poke_init();
	register_die_notifier(&probe_listener);
}

/* At the first instruction of a function its return address is on top of the stack. */
__kretprobe void divert_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *top = kernel_stack_top(regs);

	ri->ret_addr = (kprobe_opcode_t *)*top;
	*top = (unsigned long)kretprobe_trampoline;
}
#endif

#if ERA_RETURN_TRAP
/* The trampoline is a nop with a probe. Its handler goes where the function was to return to. */
static __kretprobe int trampoline_hit(struct kprobe *p __unused, struct pt_regs *regs)
{
	regs->ip = function_returned(regs);
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
#endif

#if ERA_OPTIMIZE
/* A jump has led to a detour, which has saved the registers. Interrupts are as the code had them. */
__detour __used void detour_called(struct jump_probe *op, struct pt_regs *regs)
{
	struct hit_record *r;

	if (!probe_enabled(&op->kp))
		return;
	preempt_disable();
	r = this_hit();
	if (unlikely(r->now.probe)) {
		count_missed(&op->kp);
	} else {
		/* As if a breakpoint had led here. */
		complete_frame(regs, (unsigned long)op->kp.addr + 1);
		r->now.probe = &op->kp;
		r->now.stage = HIT_HANDLER;
		detour_handlers(&op->kp, regs);
		r->now.probe = NULL;
	}
	preempt_enable_no_resched();
}
#endif
