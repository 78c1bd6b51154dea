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

/* A register by its number in an encoding. */
static __step unsigned long *numbered(struct pt_regs *regs, unsigned int number)
{
	static const u8 place[] __late_data = {
		PT_AX, PT_CX, PT_DX, PT_BX, PT_SP, PT_BP, PT_SI, PT_DI,
#ifdef __x86_64__
		PT_R8, PT_R9, PT_R10, PT_R11, PT_R12, PT_R13, PT_R14, PT_R15,
#endif
	};

	return (unsigned long *)((char *)regs + place[number & (ARRAY_SIZE(place) - 1)]);
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

/* Does what an instruction does, and returns where the code goes on. behind is the address of what follows it. */
#define EMULATION(name) \
	__step __used unsigned long name(const struct arch_specific_insn *a __unused, \
					     struct pt_regs *regs __unused, unsigned long behind __unused)

EMULATION(emulate_jcc)
{
	return condition_holds(regs->flags, a->condition) ? behind + a->displacement : behind;
}

EMULATION(emulate_jmp)
{
	return behind + a->displacement;
}

EMULATION(emulate_call)
{
	push(regs, behind);
	return behind + a->displacement;
}

EMULATION(emulate_ret)
{
	unsigned long to = pop(regs);

	regs->sp += a->displacement;
	return to;
}

EMULATION(emulate_jmp_reg)
{
	return *numbered(regs, a->operand);
}

EMULATION(emulate_call_reg)
{
	unsigned long to = *numbered(regs, a->operand);

	push(regs, behind);
	return to;
}

/* What a write of half a register makes of the whole one, and what half of it holds. */
#ifdef __x86_64__
#define WITH_HALF(whole, value) ((u32)(value))
#define HALF(whole) ((u32)(whole))
#else
#define WITH_HALF(whole, value) (((whole) & ~0xffffUL) | (u16)(value))
#define HALF(whole) ((u16)(whole))
#endif

/* loopne, loope, loop and jcxz, by the two low bits of the opcode. */
EMULATION(emulate_loop)
{
	int narrow = a->operand, zero = !!(regs->flags & ZERO), taken;
	unsigned int kind = a->condition & 3;

	if (kind != 3)
		regs->cx = narrow ? WITH_HALF(regs->cx, regs->cx - 1) : regs->cx - 1;
	taken = narrow ? HALF(regs->cx) != 0 : regs->cx != 0;
	if (kind == 3)
		taken = !taken;
	else if (kind < 2)
		taken = taken && zero == (int)kind;
	return taken ? behind + a->displacement : behind;
}

EMULATION(emulate_cli)
{
	regs->flags &= ~(unsigned long)X86_EFLAGS_IF;
	return behind;
}

EMULATION(emulate_sti)
{
	regs->flags |= X86_EFLAGS_IF;
	return behind;
}

EMULATION(emulate_pushf)
{
	push(regs, regs->flags);
	return behind;
}

EMULATION(emulate_popf)
{
	regs->flags = pop(regs);
	return behind;
}
#endif
