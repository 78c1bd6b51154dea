/*
 * What becomes of an exception. Undefined instructions are offered to hooks, of which kprobes has one. A fault may
 * be a probe's, or one that the exception table expects. Whatever nobody takes ends the run.
 */
#include <linux/guest.h>
#include <linux/kprobes.h>
#include <linux/tell.h>
#include <linux/user.h>
#include <linux/mm.h>
#include <linux/userprobes.h>
#include <asm/extable.h>
#include <asm/syscall.h>
#include <asm/traps.h>

_Static_assert(offsetof(struct pt_regs, ARM_sp) == PT_SP, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, ARM_lr) == PT_LR, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, ARM_pc) == PT_PC, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, ARM_cpsr) == PT_CPSR, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, ARM_ORIG_r0) == PT_ORIG_R0, "ptrace.h");
_Static_assert(sizeof(struct pt_regs) == PT_SIZE, "ptrace.h");

extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];

static DEFINE_PER_CPU(unsigned long, aborted_address);

static struct {
	spinlock_t lock;
	struct list_head hooks;
} undefined = { SPIN_LOCK_UNLOCKED, { &undefined.hooks, &undefined.hooks } };

void panic_at(const char *what, unsigned long value)
{
	static char text[128];

	put_hex(put_text(put_text(text, what), " "), value);
	sim_panic(text);
}

static __noreturn void die(const char *what, const struct pt_regs *frame, unsigned long vector)
{
	static char text[192];
	char *p = put_text(text, what);

	p = put_hex(put_text(p, ": vector "), vector);
	p = put_hex(put_text(p, ", pc "), frame->ARM_pc);
	p = put_hex(put_text(p, ", sp "), frame->ARM_sp);
	p = put_hex(put_text(p, ", cpsr "), frame->ARM_cpsr);
	if (is_page_fault(vector))
		put_hex(put_text(p, ", address "), fault_address(frame));
	sim_panic(text);
}

/* An exception struck in a mode that only the first instructions of exceptions run in. */
__used void panic_other_mode(unsigned long pc, unsigned long psr)
{
	static char text[128];

	put_hex(put_text(put_hex(put_text(text, "exception in a mode of exceptions: pc "), pc), ", cpsr "), psr);
	sim_panic(text);
}

__kprobes int fixup_exception(struct pt_regs *frame)
{
	const struct exception_table_entry *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++) {
		if (e->insn == frame->ARM_pc) {
			frame->ARM_pc = e->fixup;
			return 1;
		}
	}
	return 0;
}

unsigned long fault_address(const struct pt_regs *frame __unused)
{
	return percpu_read(aborted_address);
}

/* Nobody has taken the exception. The code says why it came, where the processor does. */
static __noreturn void nobodys(struct pt_regs *frame, long code, unsigned int vector)
{
	if (user_mode(frame))
		user_fault(frame, code, vector);
	die("unexpected exception", frame, vector);
}

/* Inside a hit no lock is taken by a call, which could be probed. */
static __always_inline unsigned long lock_hooks(void)
{
	unsigned long flags = local_irq_save();

	preempt_disable();
	arch_spin_lock(&undefined.lock);
	return flags;
}

static __always_inline void unlock_hooks(unsigned long flags)
{
	arch_spin_unlock(&undefined.lock);
	local_irq_restore(flags);
	preempt_enable_no_resched();
}

__kprobes_late void register_undef_hook(struct undef_hook *hook)
{
	unsigned long flags = lock_hooks();

	ring_append(&undefined.hooks, &hook->node);
	unlock_hooks(flags);
}

static __always_inline int hook_wants(const struct undef_hook *h, u32 word, u32 psr)
{
	return (word & h->instr_mask) == h->instr_val && (psr & h->cpsr_mask) == h->cpsr_val;
}

/* Nonzero: nobody has taken it. All hooks are looked at, and the last that wants the instruction is asked. */
static __dispatch int offer_to_hooks(struct pt_regs *frame, u32 word)
{
	unsigned long flags = lock_hooks();
	int (*taker)(struct pt_regs *, unsigned int) = NULL;
	struct list_head *at;

	walk_ring(at, &undefined.hooks) {
		const struct undef_hook *h = container_of(at, struct undef_hook, node);

		if (hook_wants(h, word, frame->ARM_cpsr))
			taker = h->fn;
	}
	unlock_hooks(flags);
	return taker ? taker(frame, word) : 1;
}

/* An undefined instruction may be a breakpoint. The address that comes with it is that of the next instruction.
   Interrupts are off. */
__dispatch __used void do_undefined(struct pt_regs *frame)
{
	u32 *at = (u32 *)(frame->ARM_pc - 4);

	frame->ARM_pc = (unsigned long)at;
	if (offer_to_hooks(frame, *at) == 0)
		return;
	nobodys(frame, *at, TRAP_UNDEFINED);
}

/* A fault of a handler, or of an instruction that is being emulated, is the probe's before anybody else's. */
static __always_inline int is_probes_fault(struct pt_regs *frame, unsigned int status)
{
	return kprobe_running() && kprobe_fault_handler(frame, status);
}

static __always_inline void page_fault(struct pt_regs *frame, unsigned long address, unsigned int status, unsigned int vector)
{
	percpu_write(aborted_address, address);
#ifdef USERPROBES
	if (user_mode(frame)) {
		user_fault(frame, status, vector);
		return;
	}
	if (user_copy_faulted(frame, address, status))
		return;
	if (is_probes_fault(frame, status) || fixup_exception(frame) || kernel_brings_page(address, fault_access(status)))
		return;
#endif
	if (!user_mode(frame) && (is_probes_fault(frame, status) || fixup_exception(frame)))
		return;
	nobodys(frame, status, vector);
}

/* The address and the status are in registers of the processor until the next abort (ARM ARM, B4.1.51, B4.1.52). */
__kprobes __used void do_data_abort(struct pt_regs *frame)
{
	unsigned long address, status;

	asm volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(address));
	asm volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
	page_fault(frame, address, status, TRAP_DATA_ABORT);
}

/* What was to be executed is the address. */
__kprobes __used void do_prefetch_abort(struct pt_regs *frame)
{
	unsigned long status;

	asm volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(status));
	page_fault(frame, frame->ARM_pc, status, TRAP_PREFETCH_ABORT);
}
