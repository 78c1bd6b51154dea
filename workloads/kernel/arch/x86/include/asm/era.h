/*
 * What x86 kernels of an era do, see linux/era.h.
 *
 * 2005: The entry code is the one before the debug stack was shared with #BP.
 * 2005 and 2006: On i386 they are kernels for one processor, as one for the machine of the published
 *       figures can be.
 * 2006: Boosting and the direct trampoline are i386's alone. build.sh leaves either out for the variants
 *       stepping (NO_BOOST) and trapping (TRAP_RETURNS).
 * NMI: NMIs come, and what they execute takes probes: while an instruction is stepped, another probe may be hit
 *       (3.16).
 * 2020: FENTRY: functions begin with a nop of five bytes, which a call of the trampoline of probes at
 *       function entry may replace.
 */
#ifndef _ASM_ERA_H
#define _ASM_ERA_H

#if ERA == 2020
#define ERA_RETHOOK 1
#define ERA_COPY_TRAPS 1
#define ERA_OPTIMIZE 1
#define ERA_INT3_IST 0
#define ERA_RECHECK_FIRST 0
#define ERA_POST_LAST 1
#define ERA_CLEAR_DR6 1
#elif ERA == 2010
#define ERA_OPTIMIZE 1
#define ERA_INT3_IST 1		/* x86-64: #BP runs on the debug stack; the slot in the TSS moves meanwhile */
#define ERA_RECHECK_FIRST 1	/* a breakpoint that has vanished is noticed before the look-up */
#define ERA_POST_LAST 1		/* post handlers run after the instruction pointer was corrected */
#define ERA_CLEAR_DR6 1		/* the debug status is written back, branch tracing looked after */
#else
#define ERA_OPTIMIZE 0
#define ERA_INT3_IST (ERA == 2006)
#define ERA_RECHECK_FIRST 0
#define ERA_POST_LAST 0
#define ERA_CLEAR_DR6 0
#endif

#if ERA >= 2010
#define ERA_BOOST 1		/* the copy of an instruction may jump back instead of being stepped */
#define ERA_RETURN_TRAP 0
#elif ERA == 2006 && defined(__i386__)
#ifdef NO_BOOST
#define ERA_BOOST 0
#else
#define ERA_BOOST 1
#endif
#ifdef TRAP_RETURNS
#define ERA_RETURN_TRAP 1
#else
#define ERA_RETURN_TRAP 0
#endif
#else
#define ERA_BOOST 0
#define ERA_RETURN_TRAP 1
#endif

#ifdef NMI
#define ERA_HIT_IN_STEP 1
#else
#define ERA_HIT_IN_STEP 0
#endif

#if ERA < 2010 && defined(__i386__)
#define ERA_UNIPROCESSOR 1
#else
#define ERA_UNIPROCESSOR 0
#endif
#define ERA_FRAME_FS_GS !ERA_UNIPROCESSOR /* i386: the frame of an exception has fs and gs */
/* i386: so it has sp and ss where it struck in the kernel, and what lies below sp is free for pushes. */
#if defined(__i386__) && defined(ERA_COPY_TRAPS)
#define ERA_FRAME_STACK 1
#else
#define ERA_FRAME_STACK 0
#endif

#endif
