/*
 * Exceptions. #BP and #DB are offered to the notifier chain first, which is where kprobes lives;
 * faults go to kprobes, then to the exception table, then end the run.
 */
#include <linux/guest.h>
#include <linux/kprobes.h>
#include <linux/notifier.h>
#include <asm/extable.h>
#include <asm/processor.h>

#define SIGTRAP 5
#define SIGSEGV 11

_Static_assert(offsetof(struct pt_regs, orig_ax) == PT_ORIG_AX, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, flags) == PT_FLAGS, "ptrace.h");
_Static_assert(sizeof(struct pt_regs) == PT_SIZE, "ptrace.h");

extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];

/* One exception names itself with its vector; the text is built by hand, printk may not work. */
static char *put_text(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	*to = 0;
	return to;
}

static char *put_hex(char *to, unsigned long v)
{
	int shift = BITS_PER_LONG - 4;

	to = put_text(to, "0x");
	while (shift > 0 && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[v >> shift & 15];
	*to = 0;
	return to;
}

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
	if (vector == 14)
		put_hex(put_text(p, ", address "), read_cr2());
	sim_panic(text);
}

int fixup_exception(struct pt_regs *regs)
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

__dispatch __used void do_int3(struct pt_regs *regs, long error_code)
{
	if (notify_die(DIE_INT3, "int3", regs, error_code, 3, SIGTRAP) == NOTIFY_STOP)
		return;
	die(regs, error_code, 3);
}

#if ERA_CLEAR_DR6
__step __used void do_debug(struct pt_regs *regs, long error_code)
{
	struct task_struct *tsk = current;
	unsigned long dr6 = get_dr6();

	/* The processor only ever sets bits of the register. */
	set_dr6(0);
	/* It also has cleared its debug control, so the task's note of it is wrong now. */
	asm volatile("lock btr%z0 %1, %0"
		     : "+m"(task_thread_info(tsk)->flags) : "Ir"(TIF_DEBUGCTLMSR) : "cc");
	tsk->thread.debugreg6 = dr6;
	if (notify_die(DIE_DEBUG, "debug", regs, (long)&dr6, error_code, SIGTRAP) == NOTIFY_STOP)
		return;
	die(regs, dr6, 1);
}
#else
__step __used void do_debug(struct pt_regs *regs, long error_code)
{
	unsigned long dr6 = get_dr6();

	if (notify_die(DIE_DEBUG, "debug", regs, (long)dr6, error_code, SIGTRAP) == NOTIFY_STOP)
		return;
	die(regs, dr6, 1);
}
#endif

/* A fault in a probe's handler or in the instruction it steps is the probe's first. */
static int notify_page_fault(struct pt_regs *regs)
{
	return kprobe_running() && kprobe_fault_handler(regs, 14);
}

__used void do_page_fault(struct pt_regs *regs, long error_code)
{
	if (notify_page_fault(regs) || fixup_exception(regs))
		return;
	die(regs, error_code, 14);
}

/*
 * All other exceptions. Kprobes hears of them through the chain: in this age of #GP; #UD and the
 * rest take the same road here, so that a fault handler sees every fault of its probe.
 */
__used void do_trap(struct pt_regs *regs, long error_code, unsigned int vector)
{
	if (notify_die(DIE_GPF, "trap", regs, error_code, vector, SIGSEGV) == NOTIFY_STOP)
		return;
	if (fixup_exception(regs))
		return;
	die(regs, error_code, vector);
}
