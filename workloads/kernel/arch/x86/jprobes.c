/*
 * Jprobes on x86: the breakpoint leads to a function of the user's that sees the arguments as the
 * probed one would, in registers and on the stack. Its last act is a second breakpoint, after
 * which registers and stack are as they were and the probed instruction is stepped.
 */
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

_Static_assert(offsetof(struct kprobe_ctlblk, jprobe_saved_sp) == KCB_JPROBE_SAVED_SP,
	       "asm/kprobes.h");

/* In jprobe_return: behind its breakpoint. */
extern kprobe_opcode_t jprobe_return_end[];

/* How many bytes of the stack are kept: those of arguments, but none beyond the stack's end. */
static __always_inline unsigned long kept_bytes(unsigned long sp)
{
	unsigned long end = (unsigned long)current_thread_info() + THREAD_SIZE;

	return end - sp < MAX_STACK_SIZE ? end - sp : MAX_STACK_SIZE;
}

static __jprobe void copy_stack(void *to, const void *from, unsigned long n)
{
	unsigned long words = n / sizeof(long), rest = n % sizeof(long);

	asm volatile("rep " ASM_MOVS : "+D"(to), "+S"(from), "+c"(words) :: "memory");
	if (unlikely(rest))
		asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(rest) :: "memory");
}

/* Nothing is stepped yet: the exception returns into the user's function. */
__jprobe int setjmp_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	unsigned long *sp = kernel_stack_top(regs);

	kcb->jprobe_saved_regs = *regs;
	kcb->jprobe_saved_sp = sp;
	/* The function owns its arguments on the stack and may change them. */
	copy_stack(kcb->jprobes_stack, sp, kept_bytes((unsigned long)sp));
	regs->flags &= ~(unsigned long)X86_EFLAGS_IF;
	regs->ip = (unsigned long)jp->entry;
	return 1;
}

static __noreturn void wrong_stack(struct pt_regs *regs, struct kprobe_ctlblk *kcb)
{
	printk("current sp %p does not match saved sp %p\n", (void *)kernel_stack_top(regs),
	       (void *)kcb->jprobe_saved_sp);
	BUG();
}

/* A breakpoint without a probe while one is being handled: nonzero when it is jprobe_return's. */
__jprobe int longjmp_break_handler(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	kprobe_opcode_t *addr = (kprobe_opcode_t *)(regs->ip - 1);
	unsigned long *sp;

	if (addr <= (kprobe_opcode_t *)jprobe_return || addr >= jprobe_return_end)
		return 0;
	if (unlikely(kernel_stack_top(regs) != kcb->jprobe_saved_sp))
		wrong_stack(regs, kcb);
	*regs = kcb->jprobe_saved_regs;
	sp = kernel_stack_top(regs);
	copy_stack(sp, kcb->jprobes_stack, kept_bytes((unsigned long)sp));
	preempt_enable_no_resched();
	return 1;
}
