/* What the self-test must know of x86. */
#ifndef BARE_CODE_H
#define BARE_CODE_H

#include <asm/kprobes.h>

#define LEARNS (ERA_BOOST && !ERA_COPY_TRAPS)	/* the first hit decides how the next ones run */
#define LEARNT 1		/* what it finds of an ordinary instruction */
#if ERA_COPY_TRAPS
#define MAY_BOOST 1		/* the copy with a jump is there from the beginning */
#define SLOT_STRIDE (2 * MAX_INSN_SIZE)
#endif
#define BOOSTABLE(p) ((p)->ainsn.boostable)
#define JPROBE jprobe_arguments
/* Bytes that a slot gets, as there is no decoder here: those behind the first instruction are not executed
   when it is stepped, and a boost writes its jump over them. */
#define SLOT_BYTES (MAX_INSN_SIZE - RELATIVEJUMP_SIZE)
#ifdef __x86_64__
#define SPEED_TABLE 0xffff880001000000UL
#else
#define SPEED_TABLE 0xc1000000UL
#endif

/* The address of a symbol of user mode: too far away for the relative operands of the kernel's code model. */
#define FAR(x) ({ __typeof__(&(x)) p__; asm("mov %1, %0" : "=r"(p__) : "i"(&(x))); p__; })

unsigned long jprobe_arguments(unsigned long a, unsigned long b);

static inline kprobe_opcode_t *code_at(const void *fn, unsigned long at)
{
	return (kprobe_opcode_t *)fn + at;
}

#endif
