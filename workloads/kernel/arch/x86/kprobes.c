/*
 * Kprobes on x86: from the breakpoint exception to the handler, the single step of the copied
 * instruction, and the way back; boosting; return probes.
 */
#include <linux/era.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <asm/extable.h>
#include <asm/processor.h>
#include <asm/text.h>

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

#define FLAGS_TF_IF (X86_EFLAGS_TF | X86_EFLAGS_IF)

/* In 32-bit mode these bytes are instructions. */
static __always_inline int is_rex_prefix(kprobe_opcode_t byte)
{
	return BITS_PER_LONG == 64 && (byte & 0xf0) == 0x40;
}

/* What only an exception would have saved, in a frame that was made without one. */
static __always_inline void complete_regs(struct pt_regs *regs, unsigned long ip)
{
	regs->cs = __KERNEL_CS;
#if defined(__i386__) && ERA_FRAME_FS_GS
	regs->gs = 0;
#endif
	regs->ip = ip;
	regs->orig_ax = ~0UL;
}

/* cli, sti, iret and popf decide about interrupts themselves. */
static __dispatch int is_IF_modifier(const kprobe_opcode_t *insn)
{
	if (is_rex_prefix(*insn))
		insn++;
	switch (*insn) {
	case 0xfa:
	case 0xfb:
	case 0xcf:
	case 0x9d:
		return 1;
	}
	return 0;
}

static __always_inline void set_current_kprobe(struct kprobe *p, struct pt_regs *regs,
					       struct kprobe_ctlblk *kcb)
{
	unsigned long flags = regs->flags & FLAGS_TF_IF;

	percpu_write(current_kprobe, p);
	kcb->kprobe_old_flags = flags;
	kcb->kprobe_saved_flags = flags;
	if (is_IF_modifier(p->ainsn.insn))
		kcb->kprobe_saved_flags &= ~(unsigned long)X86_EFLAGS_IF;
}

static __always_inline void save_previous_kprobe(struct kprobe_ctlblk *kcb)
{
	kcb->prev_kprobe = (struct prev_kprobe){
		.kp = kprobe_running(),
		.status = kcb->kprobe_status,
		.old_flags = kcb->kprobe_old_flags,
		.saved_flags = kcb->kprobe_saved_flags,
	};
}

static __always_inline void restore_previous_kprobe(struct kprobe_ctlblk *kcb)
{
	percpu_write(current_kprobe, kcb->prev_kprobe.kp);
	kcb->kprobe_status = kcb->prev_kprobe.status;
	kcb->kprobe_old_flags = kcb->prev_kprobe.old_flags;
	kcb->kprobe_saved_flags = kcb->prev_kprobe.saved_flags;
}

/* Branch tracing would turn the single step into a step to the next branch. */
static __always_inline void clear_btf(void)
{
	if (ERA_CLEAR_DR6 && unlikely(current_thread_info()->flags & _TIF_DEBUGCTLMSR))
		wrmsrl(0x1d9, 0);
}

/* While the jump to the detour is pending, hits go there too, after the saving and restoring. */
static __always_inline int setup_detour_execution(struct kprobe *p, struct pt_regs *regs,
						  int reenter)
{
	struct optimized_kprobe *op;

	if (!ERA_OPTIMIZE || !(p->flags & KPROBE_FLAG_OPTIMIZED))
		return 0;
	op = container_of(p, struct optimized_kprobe, kp);
	regs->ip = (unsigned long)op->optinsn.insn +
		   (optprobe_template_end - optprobe_template_entry);
	if (!reenter)
		reset_current_kprobe();
	preempt_enable_no_resched();
	return 1;
}

static __dispatch void setup_singlestep(struct kprobe *p, struct pt_regs *regs,
					struct kprobe_ctlblk *kcb, int reenter)
{
	if (setup_detour_execution(p, regs, reenter))
		return;
	if (ERA_BOOST && p->ainsn.boostable == 1 && !p->post_handler) {
		/* The slot ends in a jump back: nothing is left to be done after it. */
		if (!reenter)
			reset_current_kprobe();
		regs->ip = (unsigned long)p->ainsn.insn;
		preempt_enable_no_resched();
		return;
	}
	if (reenter) {
		save_previous_kprobe(kcb);
		set_current_kprobe(p, regs, kcb);
		kcb->kprobe_status = KPROBE_REENTER;
	} else {
		kcb->kprobe_status = KPROBE_HIT_SS;
	}
	clear_btf();
	regs->flags |= X86_EFLAGS_TF;
	regs->flags &= ~(unsigned long)X86_EFLAGS_IF;
	/* A breakpoint that was there before the probe is executed where it is. */
	if (p->opcode == BREAKPOINT_INSTRUCTION)
		regs->ip = (unsigned long)p->addr;
	else
		regs->ip = (unsigned long)p->ainsn.insn;
}

/* A hit while another probe's handlers run is stepped over without handlers and counted. */
static __dispatch int reenter_kprobe(struct kprobe *p, struct pt_regs *regs,
				     struct kprobe_ctlblk *kcb)
{
	switch (kcb->kprobe_status) {
	case KPROBE_HIT_SSDONE:
	case KPROBE_HIT_ACTIVE:
		kprobes_inc_nmissed_count(p);
		setup_singlestep(p, regs, kcb, 1);
		return 1;
	case KPROBE_HIT_SS:
		/* The stepped instruction is itself a breakpoint, and not ours. */
		if (p == kprobe_running()) {
			regs->flags &= ~(unsigned long)X86_EFLAGS_TF;
			regs->flags |= kcb->kprobe_saved_flags;
			return 0;
		}
		break;
	}
	printk(KERN_WARNING "Unrecoverable kprobe detected at %p.\n", p->addr);
	BUG();
}

/* Another CPU has removed the breakpoint since: run what is there now. */
static __always_inline int breakpoint_vanished(kprobe_opcode_t *addr, struct pt_regs *regs)
{
	if (READ_VOLATILE(*addr) == BREAKPOINT_INSTRUCTION)
		return 0;
	regs->ip = (unsigned long)addr;
	return 1;
}

/* #BP: nonzero when the exception was ours. Interrupts are off. */
static __dispatch int kprobe_handler(struct pt_regs *regs)
{
	kprobe_opcode_t *addr = (kprobe_opcode_t *)(regs->ip - 1);
	struct kprobe_ctlblk *kcb;
	struct kprobe *p;

	if (ERA_RECHECK_FIRST && breakpoint_vanished(addr, regs))
		return 1;
	preempt_disable();
	kcb = get_kprobe_ctlblk();
	p = get_kprobe(addr);
	if (p) {
		if (kprobe_running()) {
			if (reenter_kprobe(p, regs, kcb))
				return 1;
		} else {
			set_current_kprobe(p, regs, kcb);
			kcb->kprobe_status = KPROBE_HIT_ACTIVE;
			/* A handler that returns nonzero has set up regs itself. */
			if (!p->pre_handler || !p->pre_handler(p, regs))
				setup_singlestep(p, regs, kcb, 0);
			return 1;
		}
	} else if (kprobe_running()) {
		p = kprobe_running();
		if (p->break_handler && p->break_handler(p, regs)) {
			setup_singlestep(p, regs, kcb, 0);
			return 1;
		}
	} else if (!ERA_RECHECK_FIRST && breakpoint_vanished(addr, regs)) {
		return 1;
	}
	preempt_enable_no_resched();
	return 0;
}

/*
 * Writes the jump back to the probed code after the copied instruction, when it fits. A repeated
 * string instruction that is not done yet has not moved on: nothing is known to come after it.
 */
static __step void try_to_boost(struct kprobe *p, unsigned long copied_next,
				unsigned long orig_next)
{
	struct {
		kprobe_opcode_t opcode;
		s32 displacement;
	} __attribute__((packed)) *jump = (void *)copied_next;

	if (ERA_BOOST && kprobe_boost_allowed && copied_next > (unsigned long)p->ainsn.insn &&
	    copied_next - (unsigned long)p->ainsn.insn + RELATIVEJUMP_SIZE < MAX_INSN_SIZE) {
		jump->displacement = orig_next - (copied_next + RELATIVEJUMP_SIZE);
		jump->opcode = RELATIVEJUMP_OPCODE;
		p->ainsn.boostable = 1;
	} else {
		p->ainsn.boostable = -1;
	}
}

/* The copy has gone to the right place by itself and can do so without a step. */
static __always_inline void mark_boostable(struct kprobe *p)
{
	if (ERA_BOOST)
		p->ainsn.boostable = 1;
}

/*
 * The copy has run once, somewhere else than the original would have: corrects what depends on
 * the place, the instruction pointer above all.
 */
static __step void resume_execution(struct kprobe *p, struct pt_regs *regs,
				    struct kprobe_ctlblk *kcb)
{
	unsigned long *tos = kernel_stack_top(regs);
	unsigned long copy_ip = (unsigned long)p->ainsn.insn;
	unsigned long orig_ip = (unsigned long)p->addr;
	kprobe_opcode_t *insn = p->ainsn.insn;

	if (is_rex_prefix(*insn))
		insn++;
	regs->flags &= ~(unsigned long)X86_EFLAGS_TF;
	switch (*insn) {
	case 0x9c: /* pushf: it pushed the trap flag, and no interrupt flag */
		*tos &= ~(unsigned long)FLAGS_TF_IF;
		*tos |= kcb->kprobe_old_flags;
		break;
	case 0xc2: /* ret, lret, iret, far jump: they went where the original goes */
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xea:
		mark_boostable(p);
		return;
	case 0xe8: /* call: it pushed an address behind the copy */
		*tos = orig_ip + (*tos - copy_ip);
		break;
#ifdef __i386__
	case 0x9a: /* far call: its offset is the word pushed last, and it went to the right place */
		*tos = orig_ip + (*tos - copy_ip);
		return;
#endif
	case 0xff:
		if ((insn[1] & 0x30) == 0x10) {
			/* Indirect call: as above, but it went to the right place. */
			*tos = orig_ip + (*tos - copy_ip);
			return;
		}
		if ((insn[1] & 0x30) == 0x20) {
			mark_boostable(p);
			return;
		}
		break;
	default:
		break;
	}
	if (ERA_BOOST && p->ainsn.boostable == 0)
		try_to_boost(p, regs->ip, orig_ip + (regs->ip - copy_ip));
	regs->ip += orig_ip - copy_ip;
}

static __always_inline void run_post_handler(struct kprobe *p, struct pt_regs *regs,
					     struct kprobe_ctlblk *kcb)
{
	if (kcb->kprobe_status != KPROBE_REENTER && p->post_handler) {
		kcb->kprobe_status = KPROBE_HIT_SSDONE;
		p->post_handler(p, regs, 0);
	}
}

/* #DB: nonzero when it was the step of a probe. Interrupts are off. */
static __step int post_kprobe_handler(struct pt_regs *regs)
{
	struct kprobe *cur = kprobe_running();
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	if (!cur)
		return 0;
	if (!ERA_POST_LAST)
		run_post_handler(cur, regs, kcb);
	resume_execution(cur, regs, kcb);
	regs->flags |= kcb->kprobe_saved_flags;
	if (ERA_POST_LAST)
		run_post_handler(cur, regs, kcb);
	if (kcb->kprobe_status == KPROBE_REENTER)
		restore_previous_kprobe(kcb);
	else
		reset_current_kprobe();
	preempt_enable_no_resched();
	/* Somebody else was stepping too: the exception is also theirs. */
	return !(regs->flags & X86_EFLAGS_TF);
}

/* A fault while a probe is being handled: nonzero when execution can go on at regs->ip. */
__dispatch int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *cur = kprobe_running();
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	switch (kcb->kprobe_status) {
	case KPROBE_HIT_SS:
	case KPROBE_REENTER:
		/* The stepped copy faulted: let the fault look like the original's. */
		regs->ip = (unsigned long)cur->addr;
		regs->flags &= ~(unsigned long)X86_EFLAGS_TF;
		regs->flags |= kcb->kprobe_old_flags;
		if (kcb->kprobe_status == KPROBE_REENTER)
			restore_previous_kprobe(kcb);
		else
			reset_current_kprobe();
		preempt_enable_no_resched();
		break;
	case KPROBE_HIT_ACTIVE:
	case KPROBE_HIT_SSDONE:
		kprobes_inc_nmissed_count(cur);
		if (cur->fault_handler && cur->fault_handler(cur, regs, trapnr))
			return 1;
		return fixup_exception(regs);
	}
	return 0;
}

/* First in the chain of exceptions. */
static __dispatch int kprobe_exceptions_notify(struct notifier_block *self __unused,
					       unsigned long event, void *data)
{
	struct die_args *args = data;
	int ret = NOTIFY_DONE;

	if (args->regs && user_mode(args->regs))
		return ret;
	switch (event) {
	case DIE_INT3:
		if (kprobe_handler(args->regs))
			ret = NOTIFY_STOP;
		break;
	case DIE_DEBUG:
		if (post_kprobe_handler(args->regs)) {
			if (ERA_CLEAR_DR6)
				*(unsigned long *)args->err &= ~(unsigned long)DR_STEP;
			ret = NOTIFY_STOP;
		}
		break;
	case DIE_GPF:
		if (kprobe_running() && kprobe_fault_handler(args->regs, args->trapnr))
			ret = NOTIFY_STOP;
		break;
	}
	return ret;
}

static struct notifier_block kprobe_exceptions_nb = {
	.notifier_call = kprobe_exceptions_notify,
	.priority = 0x7ffffff0,	/* before all others but text_poke_bp's */
};

void kprobes_init(void)
{
	text_poke_init();
	register_die_notifier(&kprobe_exceptions_nb);
}

/* The word on top of the stack is the return address: the trampoline takes its place. */
__kretprobe void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *tos = kernel_stack_top(regs);

	ri->ret_addr = (kprobe_opcode_t *)*tos;
	*tos = (unsigned long)kretprobe_trampoline;
}

#if ERA_RETURN_LOCK
static __always_inline void kretprobe_hash_lock(struct task_struct *task, struct hlist_head **head,
						unsigned long *flags)
{
	*flags = kretprobe_table_lock(0);
	*head = &kretprobe_inst_table[hash_ptr(task, KPROBE_HASH_BITS)];
}

static __always_inline void kretprobe_hash_unlock(struct task_struct *task __unused,
						  unsigned long flags)
{
	kretprobe_table_unlock(0, flags);
}
#else
static __kretprobe void kretprobe_hash_lock(struct task_struct *task, struct hlist_head **head,
					    unsigned long *flags)
{
	unsigned long hash = hash_ptr(task, KPROBE_HASH_BITS);

	*head = &kretprobe_inst_table[hash];
	*flags = kretprobe_table_lock(hash);
}

static __kretprobe void kretprobe_hash_unlock(struct task_struct *task, unsigned long flags)
{
	kretprobe_table_unlock(hash_ptr(task, KPROBE_HASH_BITS), flags);
}
#endif

static __always_inline void run_return_handler(struct kretprobe_instance *ri,
					       struct pt_regs *regs)
{
	struct kretprobe *rp = ri->rp;

	if (!rp || !rp->handler)
		return;
	if (ERA_RETURN_TRAP) {
		/* The probe of the trampoline is being handled all the time. */
		rp->handler(ri, regs);
		return;
	}
	/* Probes hit inside are missed, as in any handler. */
	percpu_write(current_kprobe, &rp->kp);
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
	rp->handler(ri, regs);
	percpu_write(current_kprobe, (struct kprobe *)NULL);
}

/*
 * A return probed function has returned to the trampoline. Runs the handlers of this task's
 * instances, newest first, up to the one that holds a real return address, which is the result.
 */
__kretprobe __used void *trampoline_handler(struct pt_regs *regs)
{
	const unsigned long trampoline = (unsigned long)kretprobe_trampoline;
	struct hlist_head garbage, *head;
	unsigned long flags, ret_addr = 0;
	struct hlist_node *node, *next;

	INIT_HLIST_HEAD(&garbage);
	kretprobe_hash_lock(current, &head, &flags);
	if (!ERA_RETURN_TRAP)
		complete_regs(regs, trampoline);
	for (node = head->first; node; node = next) {
		struct kretprobe_instance *ri = hlist_entry(node, struct kretprobe_instance, hlist);

		next = node->next;
		if (ri->task != current)
			continue;
		run_return_handler(ri, regs);
		ret_addr = (unsigned long)ri->ret_addr;
		recycle_rp_inst(ri, &garbage);
		if (ret_addr != trampoline)
			break;
	}
	if (unlikely(!ret_addr || ret_addr == trampoline)) {
		printk("kretprobe BUG!: no return address on task %p\n", current);
		BUG();
	}
	kretprobe_hash_unlock(current, flags);
	for (node = garbage.first; node; node = next) {
		next = node->next;
		kfree(hlist_entry(node, struct kretprobe_instance, hlist));
	}
	return (void *)ret_addr;
}

#if ERA_RETURN_TRAP
/* The breakpoint at the trampoline: goes on where the probed function was to return to. */
static __kretprobe int trampoline_probe_handler(struct kprobe *p __unused, struct pt_regs *regs)
{
	regs->ip = (unsigned long)trampoline_handler(regs);
	reset_current_kprobe();
	preempt_enable_no_resched();
	return 1;
}

static struct kprobe trampoline_p = {
	.addr = (kprobe_opcode_t *)kretprobe_trampoline,
	.pre_handler = trampoline_probe_handler,
};

/* Once there is a task that can register. */
int arch_init_kprobes(void)
{
	return register_kprobe(&trampoline_p);
}
#endif

#if ERA_OPTIMIZE
/* Called from a detour buffer; regs lies on the stack, without what only an exception knows. */
__detour __used void optimized_callback(struct optimized_kprobe *op, struct pt_regs *regs)
{
	if (kprobe_disabled(&op->kp))
		return;
	preempt_disable();
	if (kprobe_running()) {
		kprobes_inc_nmissed_count(&op->kp);
	} else {
		struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

		complete_regs(regs, (unsigned long)op->kp.addr + 1);
		percpu_write(current_kprobe, &op->kp);
		kcb->kprobe_status = KPROBE_HIT_ACTIVE;
		opt_pre_handler(&op->kp, regs);
		percpu_write(current_kprobe, (struct kprobe *)NULL);
	}
	preempt_enable_no_resched();
}
#endif
