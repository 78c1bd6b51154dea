/*
 * What x86 kernels of an era do, see linux/era.h.
 *
 * 2005: The entry code is the one before the debug stack was shared with #BP and moved down: a probe that
 *       is hit in a post handler, which runs on that stack, is not survived. On i386 it is a kernel for
 *       one processor, as a kernel for the machine of its figures can be.
 */
#ifndef _ASM_ERA_H
#define _ASM_ERA_H

#if ERA == 2010
#define ERA_BOOST 1		/* the copy of an instruction may jump back instead of being stepped */
#define ERA_OPTIMIZE 1
#define ERA_RETURN_TRAP 0
#define ERA_INT3_IST 1		/* x86-64: #BP runs on the debug stack; the slot in the TSS moves meanwhile */
#define ERA_RECHECK_FIRST 1	/* a breakpoint that has vanished is noticed before the look-up */
#define ERA_POST_LAST 1		/* post handlers run after the instruction pointer was corrected */
#define ERA_CLEAR_DR6 1		/* the debug status is written back, branch tracing looked after */
#else
#define ERA_BOOST 0
#define ERA_OPTIMIZE 0
#define ERA_RETURN_TRAP 1
#define ERA_INT3_IST 0
#define ERA_RECHECK_FIRST 0
#define ERA_POST_LAST 0
#define ERA_CLEAR_DR6 0
#endif

#if ERA == 2005 && defined(__i386__)
#define ERA_UNIPROCESSOR 1
#else
#define ERA_UNIPROCESSOR 0
#endif
#define ERA_FRAME_FS_GS !ERA_UNIPROCESSOR /* i386: the frame of an exception has fs and gs */

#endif
