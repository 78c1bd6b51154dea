/*
 * Address spaces of user tasks: a segment of 256 MiB with a number of its own, and entries in the hashed page table
 * that all spaces share (Book III, Storage Control).
 */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#define PAGE_OFFSET 0xc000000000000000UL	/* where the kernel sees all memory */
#define USER_STACK_TOP 0x1fff0000UL		/* in the segment of the program */
#define USER_ROOT_SIZE 0			/* no table belongs to one space */

#define FAULT_WRITE 0x2000000	/* bit of DSISR */
#define FAULT_ABSENT(dsisr) ((dsisr) & 0x40000000)

#endif
