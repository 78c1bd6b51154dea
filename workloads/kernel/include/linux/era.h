/*
 * What the kernels of a year do on the path of a probe hit. The sources are the same for all eras;
 * build.sh sets ERA, and code asks for the properties below and those of asm/era.h, never for the year.
 *
 * 2005: 2.6.13 to 2.6.15. The state of a hit is per CPU, as from 2.6.15 on: before, one lock was held
 *       from the breakpoint to the end of the step. Return probes have one lock for all that belongs to
 *       them. Spinlocks are those of 2010; the code has no frame pointers, see build.sh.
 * 2010: 2.6.33 and 2.6.34.
 */
#ifndef _LINUX_ERA_H
#define _LINUX_ERA_H

#ifndef ERA
#define ERA 2010
#endif

#if ERA == 2010
#define ERA_CHAIN_WRAPPED 1	/* notifier chains are called through two more functions */
#define ERA_RETURN_LOCK 0	/* one lock for all return instances */
#elif ERA == 2005
#define ERA_CHAIN_WRAPPED 0
#define ERA_RETURN_LOCK 1
#else
#error "no such era"
#endif

/*
 * The architecture has in addition, 0 or 1 for each of its eras:
 *	ERA_OPTIMIZE		a jump may replace the breakpoint
 *	ERA_RETURN_TRAP		return probes come back through a breakpoint
 *	ERA_UNIPROCESSOR	one processor: per-CPU data are plain variables, a lock does nothing
 * and what its own code alone asks for.
 */
#include <asm/era.h>

#endif
