/* What the functions for modules ask of ARM. */
#ifndef _ASM_MODULE_H
#define _ASM_MODULE_H

#include <linux/types.h>

#define asmlinkage

/* Frames are not linked. Kernels unwind by tables, which the images do not have. */
#define FRAME_LINK 0

/* What compilers call to divide. */
u32 __aeabi_uidiv(u32 dividend, u32 divisor);
u64 __aeabi_uidivmod(u32 dividend, u32 divisor);
s32 __aeabi_idiv(s32 dividend, s32 divisor);
u64 __aeabi_idivmod(s32 dividend, s32 divisor);
#define EXPORT_DIVISION								\
	EXPORT_SYMBOL(__aeabi_uidiv);						\
	EXPORT_SYMBOL(__aeabi_uidivmod);					\
	EXPORT_SYMBOL(__aeabi_idiv);						\
	EXPORT_SYMBOL(__aeabi_idivmod);

/* And what inline functions of headers use. */
#if ERA_PERCPU_REGISTER
#define EXPORT_ARCH_SYMBOLS EXPORT_DIVISION
#else
#define EXPORT_ARCH_SYMBOLS EXPORT_DIVISION EXPORT_SYMBOL(cpu_bases);
#endif

/* Registers in which arguments come, and the stack pointer. */
#define FRAME_ARGUMENTS(f) (f)->ARM_r0, (f)->ARM_r1, (f)->ARM_r2, (f)->ARM_r3
#define FRAME_STACK_POINTER(f) ((f)->ARM_sp)

#endif
