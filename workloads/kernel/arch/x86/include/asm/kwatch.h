/* Debug registers of x86 (SDM vol. 3, 17.2). */
#ifndef _ASM_KWATCH_H
#define _ASM_KWATCH_H

#define DEBUG_REGISTERS 4

/* DR7: two enable bits for each register, and four for its type and length. */
#define DR_GLOBAL_ENABLE(nr) (2UL << (2 * (nr)))
#define DR_CONTROL(nr, bits) ((unsigned long)(bits) << (16 + 4 * (nr)))
#define DR_GLOBAL_SLOWDOWN 0x200	/* GE, which newer processors ignore */
#define WATCH_REASONS 15UL		/* in DR6, a bit for each register */

#endif
