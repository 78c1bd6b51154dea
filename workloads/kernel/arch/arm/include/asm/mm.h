/* Page tables of user tasks: two levels, small pages (DDI 0406C, B3.5). */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#define PAGE_OFFSET 0xc0000000UL	/* where the kernel sees all memory */
#define USER_STACK_TOP 0xbe000000UL
#define USER_ROOT_SIZE 16384

#define FAULT_WRITE 0x800	/* bit of the fault status (B4.1.52) */
#define FAULT_ABSENT(status) (((status) & 0xd) == 5)	/* translation faults */

#endif
