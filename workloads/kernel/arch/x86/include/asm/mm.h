/* Page tables of user tasks (SDM vol. 3, 4.3 and 4.5): two levels in 32-bit mode, four in 64-bit mode. */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#ifdef __x86_64__
#define PAGE_OFFSET 0xffff880000000000UL	/* where the kernel sees all memory */
#define USER_STACK_TOP 0x7ffffffff000UL
#define LEVEL_BITS 9
#define TOP_SHIFT 39
#else
#define PAGE_OFFSET 0xc0000000UL
#define USER_STACK_TOP 0xbffff000UL
#define LEVEL_BITS 10
#define TOP_SHIFT 22
#endif

#define USER_ROOT_SIZE 4096
#define FAULT_WRITE 2	/* bit of the error code of a page fault (SDM vol. 3, 4.7) */
#define FAULT_ABSENT(code) (!((code) & 1))

#endif
