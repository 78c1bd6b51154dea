/*
 * What kernels of ARM do in an era, see linux/era.h. No processor of this architecture steps: a displaced
 * instruction is emulated.
 *
 * 2010: 2.6.33.
 * 2014: 3.18 with the patches of that November: a branch to a detour may replace a breakpoint. Both have the
 *       condition of the displaced instruction, whose failure is no hit. Loads and stores of several registers
 *       have copies where their registers allow it.
 */
#ifndef _ASM_ERA_H
#define _ASM_ERA_H

#define ERA_OPTIMIZE (ERA == 2014)
#define ERA_RETURN_TRAP 0
#define ERA_UNIPROCESSOR 0
#define ERA_KEEP_CONDITION (ERA == 2014)
#define ERA_BLOCK_COPIES (ERA == 2014)
#define ERA_PERCPU_REGISTER (ERA == 2014)	/* from memory: a register holds where a CPU's data are */

#endif
