/*
 * What becomes of an exception. Program and trace interrupts belong to probes, which listen to the notifier
 * chain. A fault may be a probe's, or one that the exception table expects. Whatever nobody takes ends the
 * run.
 */
#include <linux/guest.h>
#include <linux/tell.h>
#include <linux/notifier.h>
#include <asm/syscall.h>
#include <linux/kprobes.h>
#include <asm/extable.h>
#include <linux/user.h>
#include <linux/mm.h>

/* What listeners are told of an exception besides its name: a number and a signal's. */
#define NUMBER_BREAKPOINT 5
#define NO_SEGMENT 0x40000000	/* the code of a segment interrupt: as if the page were missing */
#define SIGTRAP 5
#define SIGSEGV 11

_Static_assert(offsetof(struct pt_regs, gpr[31]) == PT_GPR(31), "ptrace.h");
_Static_assert(offsetof(struct pt_regs, orig_gpr3) == PT_ORIG_GPR3, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, trap) == PT_TRAP, "ptrace.h");
_Static_assert(offsetof(struct pt_regs, result) == PT_RESULT, "ptrace.h");
_Static_assert(sizeof(struct pt_regs) == PT_SIZE, "ptrace.h");

void do_trap(struct pt_regs *frame);

extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];

void panic_at(const char *what, unsigned long value)
{
	static char text[128];

	put_hex(put_text(put_text(text, what), " "), value);
	sim_panic(text);
}

static __noreturn void die(const char *what, const struct pt_regs *frame)
{
	static char text[192];
	char *p = put_text(text, what);

	p = put_hex(put_text(p, ": vector "), frame->trap & ~(unsigned long)TRAP_NOT_ALL);
	p = put_hex(put_text(p, ", nip "), frame->nip);
	p = put_hex(put_text(p, ", sp "), frame->gpr[1]);
	p = put_hex(put_text(p, ", msr "), frame->msr);
	put_hex(put_text(p, ", address "), frame->dar);
	sim_panic(text);
}

/* The exception came where SRR0 and SRR1 were in use: nobody knows where it is to return to. */
__used void unrecoverable(struct pt_regs *frame)
{
	die("exception in the middle of another one", frame);
}

__used void panic_bad_stack(unsigned long sp, unsigned long nip)
{
	static char text[128];

	put_hex(put_text(put_hex(put_text(text, "no kernel stack: sp "), sp), ", nip "), nip);
	sim_panic(text);
}

__kprobes int fixup_exception(struct pt_regs *frame)
{
	const struct exception_table_entry *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++) {
		if (e->insn == frame->nip) {
			frame->nip = e->fixup;
			return 1;
		}
	}
	return 0;
}

/* Nobody has taken the exception. The code says why it came, where the processor does. */
static __noreturn void nobodys(struct pt_regs *frame, long code)
{
	if (user_mode(frame))
		user_fault(frame, code, frame->trap);
	die("unexpected exception", frame);
}

/* All other exceptions. Kprobes hears of them through the chain, so that a fault handler sees every fault of
   its probe. */
__kprobes __used void do_trap(struct pt_regs *frame)
{
	if (user_mode(frame) || (notify_die(DIE_GPF, "trap", frame, 0, frame->trap, SIGSEGV) != NOTIFY_STOP &&
				!fixup_exception(frame)))
		nobodys(frame, frame->msr & SRR1_REASONS);
}

/* A trap instruction may be a breakpoint. Interrupts are as the code had them. */
__dispatch __used void do_program_check(struct pt_regs *frame)
{
	if (frame->msr & SRR1_TRAP) {
		if (notify_die(DIE_BPT, "breakpoint", frame, NUMBER_BREAKPOINT, NUMBER_BREAKPOINT, SIGTRAP) == NOTIFY_STOP)
			return;
		nobodys(frame, frame->msr & SRR1_REASONS);
	}
	do_trap(frame);
}

/* An instruction was executed with MSR_SE, which is not to go on. Interrupts are off. */
__step __used void do_single_step(struct pt_regs *frame)
{
	frame->msr &= ~MSR_SE;
	if (notify_die(DIE_SSTEP, "single_step", frame, NUMBER_BREAKPOINT, NUMBER_BREAKPOINT, SIGTRAP) != NOTIFY_STOP)
		nobodys(frame, frame->msr & SRR1_REASONS);
}

/* A fault of a handler, or of the instruction that is being stepped, is the probe's before anybody else's. */
static __always_inline int is_probes_fault(struct pt_regs *frame)
{
#ifdef NO_KPROBES
	return frame == NULL;
#else
	return kprobe_running() && kprobe_fault_handler(frame, frame->trap);
#endif
}

/* Storage and segment interrupts. What was to be executed is the address of a fetch. */
__kprobes __used void do_page_fault(struct pt_regs *frame)
{
	long code = frame->dsisr;

	if (frame->trap >= 0x400) {
		frame->dar = frame->nip;
		code = frame->msr & SRR1_REASONS;
	}
	if (frame->trap & 0x80)
		code = NO_SEGMENT;
#ifdef USERPROBES
	if (user_mode(frame)) {
		user_fault(frame, code, frame->trap);
		return;
	}
	if (is_probes_fault(frame) || fixup_exception(frame) || kernel_brings_page(frame->dar, fault_access(code)))
		return;
#endif
	if (!user_mode(frame) && (is_probes_fault(frame) || fixup_exception(frame)))
		return;
	nobodys(frame, code);
}
