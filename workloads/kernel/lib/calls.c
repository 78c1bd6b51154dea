/* Functions that say something about how they were called, for modules and for tests. */
#include "library.h"
#include <linux/kprobes.h>

/* Its arguments are on the stack wherever the architecture has a way to have them there. */
__used noinline asmlinkage unsigned long asm_difference(unsigned long a, unsigned long b)
{
	barrier();
	return a - b;
}

/* The other way round: what lies in registers is not what is passed. */
__used noinline unsigned long call_asm_difference(unsigned long a, unsigned long b)
{
	return -asm_difference(b, a);
}

#if ERA_JPROBES
/* What the two jprobes below have seen. */
unsigned long asm_seen[2] __used;

static noinline void see(unsigned long a, unsigned long b)
{
	asm_seen[0] = a;
	asm_seen[1] = b;
}

/* For asm_difference: declared as it is. */
__used noinline asmlinkage unsigned long jprobe_as_declared(unsigned long a, unsigned long b)
{
	see(a, b);
	jprobe_return();
}

/* The mistake: where arguments are in registers, it takes them from there. */
__used noinline unsigned long jprobe_in_registers(unsigned long a, unsigned long b)
{
	see(a, b);
	jprobe_return();
}
#endif

/* Kernels since 3.16 let a function say that it takes no probe. */
__used noinline unsigned long unprobed_sum(unsigned long a, unsigned long b)
{
	return a + b;
}
NOKPROBE_SYMBOL(unprobed_sum);

/* Where it returns to: with a return probe, the trampoline. */
__used noinline unsigned long return_address(unsigned long a __unused, unsigned long b __unused)
{
	dump_stack();
	return (unsigned long)__builtin_return_address(0);
}

__used noinline unsigned long call_return_address(unsigned long a, unsigned long b)
{
	unsigned long at = return_address(a, b);

	barrier();
	return at;
}

EXPORT_SYMBOL(asm_difference);
