/* What the functions for modules ask of ppc64. */
#ifndef _ASM_MODULE_H
#define _ASM_MODULE_H

#define asmlinkage

/* Words from a frame to the return address in it: the link register's place (64-bit PowerPC ELF ABI, 3.2.3). */
#define FRAME_LINK 2

/* What inline functions of headers use. */
#define EXPORT_ARCH_SYMBOLS EXPORT_SYMBOL(lock_token);

/* Registers in which arguments come, and the stack pointer. */
#define FRAME_ARGUMENTS(f) \
	(f)->gpr[3], (f)->gpr[4], (f)->gpr[5], (f)->gpr[6], (f)->gpr[7], (f)->gpr[8], (f)->gpr[9], (f)->gpr[10]
#define FRAME_STACK_POINTER(f) ((f)->gpr[1])

#endif
