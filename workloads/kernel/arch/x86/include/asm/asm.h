/* Words of the width of an address, for assembly and for C that depends on it. */
#ifndef _ASM_ASM_H
#define _ASM_ASM_H

#ifdef __x86_64__
#define BITS_PER_LONG 64
#define ASM_WORD .quad
#define ASM_STACK_POINTER "rsp"
#define ASM_MOVS "movsq"	/* string move of words */
#else
#define BITS_PER_LONG 32
#define ASM_WORD .long
#define ASM_STACK_POINTER "esp"
#define ASM_MOVS "movsl"
#endif

#endif
