/* What the functions for modules ask of x86. */
#ifndef _ASM_MODULE_H
#define _ASM_MODULE_H

/* Kernels of i386 pass arguments in registers, but not to these. */
#ifdef __i386__
#define asmlinkage __attribute__((regparm(0)))
#else
#define asmlinkage
#endif

/* Words from a frame to the return address in it; 0: frames are not linked. */
#if ERA >= 2010 && ERA < 2018
#define FRAME_LINK 1
#else
#define FRAME_LINK 0
#endif

/* What inline functions of headers use. */
#define EXPORT_ARCH_SYMBOLS

/* Registers in which arguments come, and the stack pointer. */
#ifdef __x86_64__
#define FRAME_ARGUMENTS(f) (f)->di, (f)->si, (f)->dx, (f)->cx, (f)->r8, (f)->r9
#else
#define FRAME_ARGUMENTS(f) (f)->ax, (f)->dx, (f)->cx
#endif
#define FRAME_STACK_POINTER(f) FRAME_STACK(f)

#endif
