/* The data address breakpoint register of ppc64 (Power ISA, Book III), which is the hypervisor's to set. */
#ifndef _ASM_KWATCH_H
#define _ASM_KWATCH_H

#define DEBUG_REGISTERS 1

/* It watches a doubleword. */
#define DABR_BYTES 8
#define DABR_READS 1UL
#define DABR_WRITES 2UL
#define DABR_TRANSLATION 4UL	/* as MSR_DR */

/* Why there is a data storage interrupt. */
#define DSISR_DABRMATCH 0x00400000

#endif
