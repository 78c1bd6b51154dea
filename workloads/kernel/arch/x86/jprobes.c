/*
 * Jprobes on x86. The breakpoint's exception does not return to the probed function but into a function
 * of the user's, which finds the arguments where the probed one would. It ends with a breakpoint of its
 * own. Then registers and stack are as they were, and the displaced instruction is next.
 */
#include <linux/hit.h>

#if !ERA_COPY_TRAPS
_Static_assert(offsetof(struct hit_record, jprobe.sp) == HIT_JPROBE_SP, "asm/hit.h");

extern kprobe_opcode_t jprobe_return_end[];

/* Arguments on the stack are the callee's, which may change them: so many bytes of it are kept. */
static __always_inline unsigned long bytes_kept(const unsigned long *sp)
{
	unsigned long left = THREAD_SIZE - ((unsigned long)sp & (THREAD_SIZE - 1));

	return min(left, (unsigned long)JPROBE_STACK);
}

static __jprobe void copy_stack(void *to, const void *from, unsigned long bytes)
{
	unsigned long rest = bytes % sizeof(long), words = bytes / sizeof(long);

	asm volatile("rep " ASM_MOVS : "+D"(to), "+S"(from), "+c"(words) : : "memory");
	if (unlikely(rest))
		asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(rest) : : "memory");
}

/* The pre handler of every jprobe. Its answer keeps the displaced instruction from being executed yet. */
__jprobe int jprobe_divert(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe_frame *f = &this_hit()->jprobe;

	f->sp = kernel_stack_top(regs);
	f->regs = *regs;
	copy_stack(f->stack, f->sp, bytes_kept(f->sp));
	regs->ip = (unsigned long)container_of(p, struct jprobe, kp)->entry;
	regs->flags &= ~(unsigned long)X86_EFLAGS_IF;
	return 1;
}

static __noreturn void wrong_stack(const unsigned long *now, const unsigned long *then)
{
	klog("current sp %p does not match saved sp %p\n", (void *)now, (void *)then);
	BUG();
}

/* The break handler of every jprobe: nonzero when the breakpoint is the one of jprobe_return. */
__jprobe int jprobe_resume(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct jprobe_frame *f = &this_hit()->jprobe;
	unsigned long at = regs->ip - 1;

	if (at <= (unsigned long)jprobe_return || at >= (unsigned long)jprobe_return_end)
		return 0;
	if (unlikely(f->sp != kernel_stack_top(regs)))
		wrong_stack(kernel_stack_top(regs), f->sp);
	*regs = f->regs;
	copy_stack(f->sp, f->stack, bytes_kept(f->sp));
	/* The first breakpoint has disabled preemption, and so has this one. */
	preempt_enable_no_resched();
	return 1;
}
#endif
