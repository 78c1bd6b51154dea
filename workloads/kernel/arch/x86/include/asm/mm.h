/* Page tables of user tasks (SDM vol. 3, 4.3 and 4.5): two levels in 32-bit mode, four in 64-bit mode. */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#include <linux/compiler.h>
#include <linux/types.h>

struct mm_struct;
struct vm_area_struct;
struct pt_regs;

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

static inline int fault_writes(const struct pt_regs *regs __unused, long error_code)
{
	return (error_code & FAULT_WRITE) != 0;
}

/* An entry of user space appears, and goes; its translation is dropped on this CPU. */
void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable);
void drop_user_entry(struct vm_area_struct *vma, unsigned long address);
/* This CPU forgets where a page of the tables in use was. */
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
