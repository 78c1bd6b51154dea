/* What the self-test must know of ARM. */
#ifndef BARE_CODE_H
#define BARE_CODE_H

#include <asm/kprobes.h>

#define LEARNS 0		/* what is done instead of a displaced instruction is known from the start */
#define LEARNT 0
#define BOOSTABLE(p) ((p)->ainsn.stack_space)	/* what no hit changes */
#define JPROBE jprobe_arguments
#define SPEED_TABLE 0xc2000000UL
#define FAR(x) (&(x))

unsigned long jprobe_arguments(unsigned long a, unsigned long b);

static inline kprobe_opcode_t *code_at(const void *fn, unsigned long at)
{
	return (kprobe_opcode_t *)fn + at / sizeof(kprobe_opcode_t);
}

#endif
