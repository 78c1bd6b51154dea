/*
 * Watchpoints on x86. A data access raises #DB behind its instruction, and an instruction raises it before. Kprobes
 * is asked first, because a step of its own is a #DB too. It does not look at why there is one: while a probe is
 * handled, an access to a watched word is taken for the step's end, as in the kernels that had watchpoints.
 */
#include <linux/guest.h>
#include <linux/kwatch.h>
#include <linux/notifier.h>
#include <asm/kwatch.h>
#include <asm/processor.h>

#define BEHIND_KPROBES 0x7ffffffe

static __kwatch int is_length(unsigned int n)
{
	return n == 1 || n == 2 || n == 4 || (BITS_PER_LONG == 64 && n == 8);
}

/* There are no ports to be watched, and only whole instructions. */
__kwatch struct register_range kwatch_registers(unsigned long addr, u8 length, u8 type)
{
	int data = (type == DR_RW_WRITE || type == DR_RW_READ) && is_length(length) && !(addr & (length - 1));
	int code = type == DR_RW_EXECUTE && length == 1;

	return (struct register_range){ 0, data || code ? DEBUG_REGISTERS : 0 };
}

static __kwatch void set_address(int nr, unsigned long addr)
{
	switch (nr) {
	case 0:
		asm volatile("mov %0, %%dr0" : : "r"(addr));
		break;
	case 1:
		asm volatile("mov %0, %%dr1" : : "r"(addr));
		break;
	case 2:
		asm volatile("mov %0, %%dr2" : : "r"(addr));
		break;
	default:
		asm volatile("mov %0, %%dr3" : : "r"(addr));
	}
}

/* Lengths of 1, 2 and 4 are encoded as one less, and that of 8 as 2. */
static __kwatch unsigned long control_bits(const struct kwatch *watch)
{
	return (watch->length == 8 ? 2 : watch->length - 1) << 2 | watch->type;
}

__kwatch void kwatch_set(int nr, const struct kwatch *watch)
{
	unsigned long control;

	asm volatile("mov %%dr7, %0" : "=r"(control));
	control &= ~(DR_GLOBAL_ENABLE(nr) | DR_CONTROL(nr, 15));
	asm volatile("mov %0, %%dr7" : : "r"(control));
	if (!watch)
		return;
	set_address(nr, watch->addr);
	control |= DR_GLOBAL_ENABLE(nr) | DR_GLOBAL_SLOWDOWN | DR_CONTROL(nr, control_bits(watch));
	asm volatile("mov %0, %%dr7" : : "r"(control));
}

/*
 * A handler may meet watched words itself. On x86-64 before 2006 the stack of #DB does not move for the handler, and
 * a second #DB would overwrite the frame of the first: nothing is watched meanwhile.
 */
#define NESTS (BITS_PER_LONG == 32 || ERA_INT3_IST)

static __kwatch unsigned long pause_watching(void)
{
	unsigned long control = 0;

	if (!NESTS) {
		asm volatile("mov %%dr7, %0" : "=r"(control));
		asm volatile("mov %0, %%dr7" : : "r"(0UL));
	}
	return control;
}

static __kwatch void resume_watching(unsigned long control)
{
	if (!NESTS)
		asm volatile("mov %0, %%dr7" : : "r"(control));
}

/* A bit for each register that raised the exception. A register that was given back meanwhile counts too. */
static __kwatch int watch_exception(struct notifier_block *self __unused, unsigned long event, void *data)
{
	struct die_args *args = data;
	unsigned long hits, control;

	if (event != DIE_DEBUG)
		return NOTIFY_DONE;
	hits = (ERA_CLEAR_DR6 ? *(unsigned long *)args->err : (unsigned long)args->err) & WATCH_REASONS;
	if (!hits)
		return NOTIFY_DONE;
	if (!ERA_CLEAR_DR6)
		set_dr6(0);
	control = pause_watching();
	for (int nr = 0; nr < DEBUG_REGISTERS; nr++) {
		if (!(hits & 1UL << nr))
			continue;
		kwatch_hit(nr, args->regs);
		/* The instruction is executed now, which must not raise the exception again. */
		if (kwatch_list[nr].type == DR_RW_EXECUTE)
			args->regs->flags |= X86_EFLAGS_RF;
	}
	resume_watching(control);
	return NOTIFY_STOP;
}

static __kwatch_data struct notifier_block kwatch_nb = { watch_exception, NULL, BEHIND_KPROBES };

__kwatch void kwatch_listen(void)
{
	register_die_notifier(&kwatch_nb);
}
