/* What the self-test must know of ppc64. */
#ifndef BARE_CODE_H
#define BARE_CODE_H

#include <asm/kprobes.h>
#include <asm/switch_to.h>

#define LEARNS ERA_EMULATE	/* the first hit decides how the next ones run */
#define LEARNT (ERA_EMULATE_MOST ? 1 : -1) /* what it finds of an ordinary instruction */
#define BOOSTABLE(p) ((p)->ainsn.boostable)
#define JPROBE jprobe_count	/* arguments on the stack are not kept */
#define SLOT_BYTES sizeof(kprobe_opcode_t)
#define SPEED_TABLE 0xc000000001000000UL
#define FAR(x) (&(x))

unsigned long jprobe_count(unsigned long a, unsigned long b);

static inline kprobe_opcode_t *code_at(const void *fn, unsigned long at)
{
	return (kprobe_opcode_t *)(code_of(fn) + at);
}

#endif
