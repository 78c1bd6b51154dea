/* What the functions for modules ask of ppc64. */
#ifndef _ASM_MODULE_H
#define _ASM_MODULE_H

#define asmlinkage

/* Words from a frame to the return address in it: the link register's place (64-bit PowerPC ELF ABI, 3.2.3). */
#define FRAME_LINK 2

/* What inline functions of headers use. */
#define EXPORT_ARCH_SYMBOLS EXPORT_SYMBOL(lock_token);

#endif
