/*
 * What instructions do whose copy would do something else: those that branch, and those that read or
 * write the interrupt flag, which a hit changes. The numbers of flags, conditions and registers are those
 * of the manual (SDM vol. 2, appendix B).
 */
#include <linux/hit.h>

#if ERA_COPY_TRAPS
enum { CARRY = 1, PARITY = 4, ZERO = 0x40, SIGN = 0x80, OVERFLOW = 0x800 };

static __always_inline void push(struct pt_regs *regs, unsigned long value)
{
	regs->sp -= sizeof(value);
	*kernel_stack_top(regs) = value;
}

static __always_inline unsigned long pop(struct pt_regs *regs)
{
	unsigned long value = *kernel_stack_top(regs);

	regs->sp += sizeof(value);
	return value;
}

static __always_inline unsigned long behind(const struct kprobe *p)
{
	return (unsigned long)p->addr + p->ainsn.size;
}

static __always_inline void branch(struct kprobe *p, struct pt_regs *regs, int taken)
{
	regs->ip = behind(p) + (taken ? p->ainsn.displacement : 0);
}

/* A register by its number in an encoding. */
static __step unsigned long *numbered(struct pt_regs *regs, unsigned int number)
{
	static const u8 place[] __late_data = {
		PT_AX, PT_CX, PT_DX, PT_BX, PT_SP, PT_BP, PT_SI, PT_DI,
		PT_R8, PT_R9, PT_R10, PT_R11, PT_R12, PT_R13, PT_R14, PT_R15,
	};

	return (unsigned long *)((char *)regs + place[number & 15]);
}

/* The upper three bits of a condition choose among flags, the lowest one turns the answer round. */
static __step int condition_holds(unsigned long flags, unsigned int condition)
{
	int holds, less = !(flags & SIGN) != !(flags & OVERFLOW);

	switch (condition >> 1 & 7) {
	case 0: holds = !!(flags & OVERFLOW); break;
	case 1: holds = !!(flags & CARRY); break;
	case 2: holds = !!(flags & ZERO); break;
	case 3: holds = !!(flags & (CARRY | ZERO)); break;
	case 4: holds = !!(flags & SIGN); break;
	case 5: holds = !!(flags & PARITY); break;
	case 6: holds = less; break;
	default: holds = less || (flags & ZERO); break;
	}
	return holds != (int)(condition & 1);
}

__step __used void emulate_jcc(struct kprobe *p, struct pt_regs *regs)
{
	branch(p, regs, condition_holds(regs->flags, p->ainsn.condition));
}

__step __used void emulate_jmp(struct kprobe *p, struct pt_regs *regs)
{
	branch(p, regs, 1);
}

__step __used void emulate_call(struct kprobe *p, struct pt_regs *regs)
{
	push(regs, behind(p));
	branch(p, regs, 1);
}

__step __used void emulate_ret(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = pop(regs);
	regs->sp += p->ainsn.displacement;
}

__step __used void emulate_jmp_reg(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = *numbered(regs, p->ainsn.operand);
}

__step __used void emulate_call_reg(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long to = *numbered(regs, p->ainsn.operand);

	push(regs, behind(p));
	regs->ip = to;
}

/* loopne, loope, loop and jcxz, by the two low bits of the opcode. */
__step __used void emulate_loop(struct kprobe *p, struct pt_regs *regs)
{
	int narrow = p->ainsn.operand, zero = !!(regs->flags & ZERO), taken;
	unsigned int kind = p->ainsn.condition & 3;

	if (kind != 3)
		regs->cx = narrow ? (u32)(regs->cx - 1) : regs->cx - 1;
	taken = narrow ? (u32)regs->cx != 0 : regs->cx != 0;
	if (kind == 3)
		taken = !taken;
	else if (kind < 2)
		taken = taken && zero == (int)kind;
	branch(p, regs, taken);
}

__step __used void emulate_cli(struct kprobe *p, struct pt_regs *regs)
{
	regs->flags &= ~(unsigned long)X86_EFLAGS_IF;
	regs->ip = behind(p);
}

__step __used void emulate_sti(struct kprobe *p, struct pt_regs *regs)
{
	regs->flags |= X86_EFLAGS_IF;
	regs->ip = behind(p);
}

__step __used void emulate_pushf(struct kprobe *p, struct pt_regs *regs)
{
	push(regs, regs->flags);
	regs->ip = behind(p);
}

__step __used void emulate_popf(struct kprobe *p, struct pt_regs *regs)
{
	regs->flags = pop(regs);
	regs->ip = behind(p);
}
#endif
