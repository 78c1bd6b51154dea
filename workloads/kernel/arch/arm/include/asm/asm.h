/* Words of the width of an address, for assembly and for C that depends on it. */
#ifndef _ASM_ASM_H
#define _ASM_ASM_H

#define BITS_PER_LONG 32
#define ASM_WORD .word

#endif
