/*
 * What the kernels of some years do on the path of a probe hit. The sources are the same for all eras;
 * build.sh sets ERA, and code asks for the properties below and those of asm/era.h, never for the year.
 *
 * 2005: 2.6.12 and the candidates of 2.6.13, August 2005. One lock is held from the breakpoint to the end
 *       of the step, and all that is known of a hit exists once.
 * 2006: 2.6.17 to 2.6.21. What is known of a hit exists once a CPU, and return probes have one lock.
 * 2010: 2.6.33 and 2.6.34.
 * Later ones are the architecture's: to all else they are what 2010 is, but for what asm/era.h says.
 *
 * Spinlocks are those of 2010 in all of them.
 */
#ifndef _LINUX_ERA_H
#define _LINUX_ERA_H

#ifndef ERA
#define ERA 2010
#endif

/* ERA_GLOBAL_HIT	one lock for all hits, and one record of the hit that holds it
   ERA_CHAIN_CALLS	functions between an exception and the walk along its chain
   ERA_RETURN_LOCK	one lock for all return instances; with neither this nor the lock of all hits, each
			bucket and each probe has one
   ERA_USED_CHAIN	a return instance in use is also on a chain of its probe
   ERA_NESTED_RUNS	a probe hit inside another hit is stepped and counted; else it is disarmed
   ERA_FAULT_FIRST	the user's fault handler is asked at every stage of a hit; else not while stepping
   ERA_DISABLE		one probe of an address can be disabled, and return probes have entry handlers
   ERA_JPROBES		there are jprobes, until 4.18
   ERA_LOOKS_UP		modules may look names up, until 5.6
   ERA_FTRACE_FLAG	flags tell a probe that rests on the function tracer, from 3.7
   ERA_ENTRY_FLAG	flags tell a probe at a function's entry, from 5.18; whether one is disabled is a bool, from 5.16 */
#define ERA_JPROBES (ERA < 2018)
#define ERA_LOOKS_UP (ERA < 2020)
#define ERA_FTRACE_FLAG (ERA >= 2014)
#define ERA_ENTRY_FLAG (ERA >= 2020)
#if ERA >= 2010
#define ERA_GLOBAL_HIT 0
#define ERA_CHAIN_CALLS 3
#define ERA_RETURN_LOCK 0
#define ERA_USED_CHAIN 0
#define ERA_NESTED_RUNS 1
#define ERA_FAULT_FIRST 0
#define ERA_DISABLE 1
#elif ERA == 2006
#define ERA_GLOBAL_HIT 0
#define ERA_CHAIN_CALLS 1
#define ERA_RETURN_LOCK 1
#define ERA_USED_CHAIN 1
#define ERA_NESTED_RUNS 1
#define ERA_FAULT_FIRST 0
#define ERA_DISABLE 0
#elif ERA == 2005
#define ERA_GLOBAL_HIT 1
#define ERA_CHAIN_CALLS 0
#define ERA_RETURN_LOCK 0
#define ERA_USED_CHAIN 1
#define ERA_NESTED_RUNS 0
#define ERA_FAULT_FIRST 1
#define ERA_DISABLE 0
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

/*
 * What few architectures' eras have:
 *	ERA_RETHOOK	return instances are on a list of their task and in a pool without locks
 *	ERA_COPY_TRAPS	a copy of an instruction ends with a breakpoint: nothing is stepped by the processor
 */
#ifndef ERA_RETHOOK
#define ERA_RETHOOK 0
#endif
#ifndef ERA_COPY_TRAPS
#define ERA_COPY_TRAPS 0
#endif

#endif
