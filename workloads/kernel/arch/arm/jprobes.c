/*
 * Jprobes on ARM. The breakpoint's exception does not return to the probed function but into a function of the
 * user's, which finds the arguments where the probed one would. It ends with a call: a hit without an exception.
 * Then registers and stack are as they were, and the displaced instruction is next.
 */
#include <linux/hit.h>

#define FRAME_WORDS (sizeof(struct pt_regs) / sizeof(long))

/* From the fifth on, arguments are on the stack. They are the callee's, which may change them. */
static __always_inline unsigned int words_kept(unsigned long sp)
{
	unsigned long left = THREAD_SIZE - (sp & (THREAD_SIZE - 1));

	return min(left, (unsigned long)JPROBE_STACK) / sizeof(long);
}

static __jprobe void copy_words(unsigned long *to, const unsigned long *from, unsigned int words)
{
	while (words--)
		*to++ = *from++;
}

/* The pre handler of every jprobe. Its answer keeps the displaced instruction from being executed yet. */
__jprobe int jprobe_divert(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe_frame *f = &this_hit()->jprobe;
	unsigned long sp = regs->ARM_sp;

	copy_words(f->regs.uregs, regs->uregs, FRAME_WORDS);
	copy_words(f->stack, (unsigned long *)sp, words_kept(sp));
	regs->ARM_cpsr |= PSR_I_BIT;
	preempt_disable();
	regs->ARM_pc = (unsigned long)container_of(p, struct jprobe, kp)->entry;
	return 1;
}

/* The break handler of every jprobe: nonzero when its function has ended. */
__jprobe int jprobe_resume(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct jprobe_frame *f = &this_hit()->jprobe;
	unsigned long sp = f->regs.ARM_sp;

	if (regs->ARM_pc != JPROBE_ENDS)
		return 0;
	copy_words(regs->uregs, f->regs.uregs, FRAME_WORDS);
	copy_words((unsigned long *)sp, f->stack, words_kept(sp));
	preempt_enable_no_resched();
	return 1;
}

/*
 * Where jprobe_return builds its frame: below what the probed function may be going to store under its stack
 * pointer. What the jprobe's function has on the stack there is not needed any more.
 */
__jprobe __used unsigned long jprobe_frame_place(void)
{
	return this_hit()->jprobe.regs.ARM_sp - STACK_HOLE - sizeof(struct pt_regs);
}
