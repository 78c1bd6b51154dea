/*
 * What becomes of an exception. #BP and #DB belong to probes, which listen to the notifier chain. A fault
 * may be a probe's, or one that the exception table expects. Whatever nobody takes ends the run.
 */
#include <linux/guest.h>
#include <linux/notifier.h>
#include <linux/kprobes.h>
#include <linux/tell.h>
#include <linux/mm.h>
#include <asm/extable.h>
#include <asm/processor.h>
#include <asm/text.h>

/* What listeners are told of an exception besides its name: the processor's number and a signal's. */
#define VECTOR_DB 1
#define VECTOR_BP 3
#define VECTOR_PF 14
#define SIGTRAP 5
#define SIGSEGV 11

_Static_assert(offsetof(struct pt_regs, orig_ax) == PT_ORIG_AX, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, flags) == PT_FLAGS, "ptrace.h");
_Static_assert(sizeof(struct pt_regs) == PT_SIZE, "ptrace.h");

extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];

void panic_at(const char *what, unsigned long value)
{
	static char text[128];

	put_hex(put_text(put_text(text, what), " "), value);
	sim_panic(text);
}

static __noreturn void die(struct pt_regs *regs, long error_code, unsigned int vector)
{
	static char text[192];
	char *p = text;

	p = put_hex(put_text(p, "unexpected exception: vector "), vector);
	p = put_hex(put_text(p, ", error code "), error_code);
	p = put_hex(put_text(p, ", ip "), regs->ip);
	p = put_hex(put_text(p, ", sp "), (unsigned long)kernel_stack_top(regs));
	if (vector == VECTOR_PF)
		put_hex(put_text(p, ", address "), read_cr2());
	sim_panic(text);
}

__kprobes_late int fixup_exception(struct pt_regs *regs)
{
	const struct exception_table_entry *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++) {
		if (e->insn == regs->ip) {
			regs->ip = e->fixup;
			return 1;
		}
	}
	return 0;
}

/* Whether a listener has taken the exception: then what it interrupted goes on. */
static __always_inline int taken(enum die_val what, const char *name, struct pt_regs *frame, long code,
				 int number, int signal)
{
	return notify_die(what, name, frame, code, number, signal) == NOTIFY_STOP;
}

#if ERA_COPY_TRAPS
/*
 * #BP may strike anywhere, as an NMI does. The CPU notes that it is in one, and that it can be in the middle
 * of a reader of RCU. Before that a breakpoint of a patch is dealt with, which may stand in anything.
 */
static DEFINE_PER_CPU(int, nmi_depth);
static DEFINE_PER_CPU(unsigned long, rcu_nesting);
static DEFINE_PER_CPU(int, rcu_watching) = 1;

static __dispatch void nmi_enter(void)
{
	preempt_disable();
	BUG_ON(percpu_read(nmi_depth) == 15);
	percpu_add(nmi_depth, 1);
	percpu_add(rcu_nesting, READ_VOLATILE(*this_cpu_ptr(rcu_watching)) & 1 ? 2 : 1);
}

static __dispatch void nmi_exit(void)
{
	percpu_write(rcu_nesting, percpu_read(rcu_nesting) - 2);
	percpu_add(nmi_depth, -1);
	preempt_enable_no_resched();
}

__dispatch __used void do_int3(struct pt_regs *frame, long code)
{
	if (text_poke_hit(frame))
		return;
	nmi_enter();
	if (!(user_mode(frame) ? 0 : breakpoint_hit(frame)) &&
	    !taken(DIE_INT3, "int3", frame, code, VECTOR_BP, SIGTRAP))
		die(frame, code, VECTOR_BP);
	nmi_exit();
}
#else
__dispatch __used void do_int3(struct pt_regs *frame, long code)
{
	if (!taken(DIE_INT3, "int3", frame, code, VECTOR_BP, SIGTRAP))
		die(frame, code, VECTOR_BP);
}
#endif

/*
 * With ERA_CLEAR_DR6 the reason of a #DB is read once and the register set to zero, because the processor
 * only ever sets bits in it. The processor has stopped tracing branches, so the task's note of that goes,
 * by a locked instruction. The task keeps the reason for its debugger.
 */
static __always_inline void clear_debug_state(unsigned long reason)
{
	struct task_struct *task = current;

	set_dr6(0);
	atomic_clear_bit(TIF_DEBUGCTLMSR, &task_thread_info(task)->flags);
	task->thread.debugreg6 = reason;
}

/* Listeners get the reason itself, or with ERA_CLEAR_DR6 where it is, so that they can strike bits off. */
__step __used void do_debug(struct pt_regs *frame, long code)
{
	unsigned long reason = get_dr6();
	long told = reason;

	if (ERA_CLEAR_DR6) {
		clear_debug_state(reason);
		told = (long)&reason;
	}
	if (!taken(DIE_DEBUG, "debug", frame, told, code, SIGTRAP))
		die(frame, reason, VECTOR_DB);
}

/* A fault of a handler, or of the instruction that is being stepped, is the probe's before anybody else's. */
static __always_inline int is_probes_fault(struct pt_regs *frame)
{
#ifdef NO_KPROBES
	return frame == NULL;
#else
	return kprobe_running() && kprobe_fault_handler(frame, VECTOR_PF);
#endif
}

__kprobes_late __used void do_page_fault(struct pt_regs *frame, long code)
{
	if (!is_probes_fault(frame) && !fixup_exception(frame) && !kernel_brings_page(read_cr2(), fault_access(code)))
		die(frame, code, VECTOR_PF);
}

/*
 * All other exceptions. Kprobes hears of them through the chain: in this age of #GP; #UD and the rest take
 * the same road here, so that a fault handler sees every fault of its probe.
 */
__kprobes_late __used void do_trap(struct pt_regs *frame, long code, unsigned int vector)
{
	if (!taken(DIE_GPF, "trap", frame, code, vector, SIGSEGV) && !fixup_exception(frame))
		die(frame, code, vector);
}

#ifdef NMI
#define __nmi __section(".nmi.text") noinline

/* All that an NMI does. It takes probes. */
static __nmi unsigned long nmi_sample(unsigned long at, unsigned long cpu)
{
	unsigned long mixed = at ^ cpu << 3;

	return mixed * 5 + cpu;
}

static __nmi void nmi_work(unsigned long at, unsigned long cpu)
{
	/* Whatever a probe of it does, the result is that of the code. */
	BUG_ON(nmi_sample(at, cpu) - cpu != 5 * (at ^ 8 * cpu));
}

#if !ERA_COPY_TRAPS
static __always_inline void nmi_enter(void)
{
	current_thread_info()->preempt_count += HARDIRQ_OFFSET;
}

static __always_inline void nmi_exit(void)
{
	current_thread_info()->preempt_count -= HARDIRQ_OFFSET;
}
#endif

/* NMIs to serve: one that comes within another one is served behind it. */
static DEFINE_PER_CPU(unsigned long, nmis_due);

__kprobes_late __used void do_nmi(struct pt_regs *frame)
{
	percpu_add(nmis_due, 1);
	if (percpu_read(nmis_due) > 1)
		return;
	do {
		nmi_enter();
		nmi_work(instruction_pointer(frame), smp_processor_id());
		nmi_exit();
		percpu_add(nmis_due, -1);
	} while (percpu_read(nmis_due));
}
#endif
