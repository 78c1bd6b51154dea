/*
 * What the kernels of a year do on the path of a probe hit. The sources are the same for all eras;
 * build.sh sets ERA, and code asks for the properties below, never for the year.
 *
 * 2005: 2.6.13 to 2.6.15. The state of a hit is per CPU, as from 2.6.15 on: before, one lock was
 *       held from the breakpoint to the end of the step. The entry code is the one before the debug
 *       stack was shared with #BP and moved down: a probe that is hit in a post handler, which runs
 *       on that stack, is not survived. Return probes have one lock for all that belongs to them.
 *       Spinlocks are those of 2010; without frame pointers, see build.sh. On i386 it is a kernel for
 *       one processor, as a kernel for the machine of its figures can be.
 * 2010: 2.6.33 and 2.6.34.
 */
#ifndef _LINUX_ERA_H
#define _LINUX_ERA_H

#ifndef ERA
#define ERA 2010
#endif

#if ERA == 2010
#define ERA_BOOST 1		/* the copy of an instruction may jump back instead of being stepped */
#define ERA_OPTIMIZE 1		/* a jump may take the breakpoint's place */
#define ERA_INT3_IST 1		/* x86-64: #BP runs on the debug stack; the slot in the TSS moves meanwhile */
#define ERA_RECHECK_FIRST 1	/* a breakpoint that has vanished is noticed before the look-up */
#define ERA_POST_LAST 1		/* post handlers run after the instruction pointer was corrected */
#define ERA_CLEAR_DR6 1		/* the debug status is written back, branch tracing looked after */
#define ERA_CHAIN_WRAPPED 1	/* notifier chains are called through two more functions */
#define ERA_RETURN_TRAP 0	/* return probes come back through a breakpoint */
#define ERA_RETURN_LOCK 0	/* one lock for all return instances */
#elif ERA == 2005
#define ERA_BOOST 0
#define ERA_OPTIMIZE 0
#define ERA_INT3_IST 0
#define ERA_RECHECK_FIRST 0
#define ERA_POST_LAST 0
#define ERA_CLEAR_DR6 0
#define ERA_CHAIN_WRAPPED 0
#define ERA_RETURN_TRAP 1
#define ERA_RETURN_LOCK 1
#else
#error "no such era"
#endif

#if ERA == 2005 && defined(__i386__)
#define ERA_UNIPROCESSOR 1	/* per-CPU data are plain variables, a lock holds nobody up */
#else
#define ERA_UNIPROCESSOR 0
#endif
#define ERA_FRAME_FS_GS !ERA_UNIPROCESSOR /* i386: the frame of an exception has fs and gs */

#endif
