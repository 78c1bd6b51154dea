/* Page tables of user tasks: two levels, small pages (DDI 0406C, B3.5). */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#include <linux/compiler.h>
#include <linux/types.h>

struct mm_struct;
struct vm_area_struct;
struct pt_regs;

#define PAGE_OFFSET 0xc0000000UL	/* where the kernel sees all memory */
#define USER_STACK_TOP 0xbe000000UL
#define USER_ROOT_SIZE 16384

#define FAULT_WRITE 0x800	/* bit of the fault status (B4.1.52) */

static inline int fault_writes(const struct pt_regs *regs __unused, long status)
{
	return (status & FAULT_WRITE) != 0;
}

/* An entry of user space appears, and goes; its translation is dropped on this CPU. */
void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable);
void drop_user_entry(struct vm_area_struct *vma, unsigned long address);
/* This CPU forgets where a page of any address space was. */
void drop_translation(unsigned long address);
/* The same for a page of any space. */
void drop_page_translation(struct vm_area_struct *vma, unsigned long address);
/* Another address space, NULL for the one that the kernel began with. */
void load_space(const struct mm_struct *mm);
/* Prepares a new space: the kernel is part of each. */
void init_space(struct mm_struct *mm);
/* On each CPU before the first user task: breakpoints of user mode come in. */
void accept_user_breakpoints(void);

#endif
