/* What the functions for modules ask of ARM. */
#ifndef _ASM_MODULE_H
#define _ASM_MODULE_H

#define asmlinkage

/* Frames are not linked. Kernels unwind by tables, which the images do not have. */
#define FRAME_LINK 0

/* What inline functions of headers use. */
#if ERA_PERCPU_REGISTER
#define EXPORT_ARCH_SYMBOLS
#else
#define EXPORT_ARCH_SYMBOLS EXPORT_SYMBOL(cpu_bases);
#endif

#endif
