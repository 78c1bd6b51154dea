/*
 * Jprobes on ppc64. The breakpoint's exception does not return to the probed function but into a function of the
 * user's, which finds the arguments in the same registers. It ends with a breakpoint of its own. Then all
 * registers are as they were, and the displaced instruction is next. Kernels did not look where that
 * breakpoint stood, nor did they keep what was on the stack.
 */
#include <linux/hit.h>

/* Two words a round: a word for each of the units that load and store. */
static __jprobe void copy_frame(struct pt_regs *to, const struct pt_regs *from)
{
	const unsigned long *word = (const unsigned long *)from, *end = (const unsigned long *)(from + 1);
	unsigned long *place = (unsigned long *)to;

	for (; word < end; word += 2, place += 2) {
		unsigned long first = word[0], second = word[1];

		place[0] = first;
		place[1] = second;
	}
}

/* The pre handler of every jprobe. Its answer keeps the displaced instruction from being executed yet. */
__jprobe int jprobe_divert(struct kprobe *p, struct pt_regs *regs)
{
	const struct function_descriptor *f = container_of(p, struct jprobe, kp)->entry;

	copy_frame(&this_hit()->jprobe.regs, regs);
	regs->nip = f->entry;
	regs->gpr[2] = f->toc;
	return 1;
}

/* The break handler of every jprobe. The first breakpoint has disabled preemption, and so has this one. */
__jprobe int jprobe_resume(struct kprobe *p __unused, struct pt_regs *regs)
{
	copy_frame(regs, &this_hit()->jprobe.regs);
	preempt_enable_no_resched();
	return 1;
}
