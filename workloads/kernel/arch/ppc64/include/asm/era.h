/*
 * What ppc64 kernels of an era do, see linux/era.h.
 *
 * 2005: every displaced instruction is stepped. What was stepped in another place is put right afterwards.
 * 2010: branches and moves from the machine state register are emulated instead, which saves their step.
 * 2011: 2.6.36 and later, which emulate most integer instructions, loads and stores.
 * 2017: 4.11, which replaces a breakpoint by a branch to a detour. The detour emulates, too.
 */
#ifndef _ASM_ERA_H
#define _ASM_ERA_H

#define ERA_OPTIMIZE (ERA == 2017)	/* a branch may replace the breakpoint */
#define ERA_RETURN_TRAP 1
#define ERA_UNIPROCESSOR 0
#define ERA_EMULATE (ERA != 2005)	/* an instruction is emulated where that is possible, and stepped where not */
#define ERA_EMULATE_MOST (ERA >= 2011)
#define ERA_STEP_QUIET (ERA != 2005)	/* from memory: no interrupts while an instruction is stepped */

#endif
