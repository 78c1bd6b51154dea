/*
 * Address spaces of user tasks: a segment of 256 MiB with a number of its own, and entries in the hashed page table
 * that all spaces share (Book III, Storage Control).
 */
#ifndef _ASM_MM_H
#define _ASM_MM_H

#include <linux/compiler.h>
#include <linux/types.h>

struct mm_struct;
struct vm_area_struct;
struct pt_regs;

#define PAGE_OFFSET 0xc000000000000000UL	/* where the kernel sees all memory */
#define USER_STACK_TOP 0x1fff0000UL		/* in the segment of the program */
#define USER_ROOT_SIZE 0			/* no table belongs to one space */

#define FAULT_WRITE 0x2000000	/* bit of DSISR */

static inline int fault_writes(const struct pt_regs *regs __unused, long reason)
{
	return (reason & FAULT_WRITE) != 0;
}

/* An entry of user space appears, and goes; its translation is dropped on all CPUs. */
void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable);
void drop_user_entry(struct vm_area_struct *vma, unsigned long address);
/* Nothing is left to be forgotten behind drop_user_entry. */
void drop_translation(unsigned long address);
/* The same for a page of any space. */
void drop_page_translation(struct vm_area_struct *vma, unsigned long address);
/* Another address space, NULL for the one that the kernel began with. */
void load_space(const struct mm_struct *mm);
/* Prepares a new space: the kernel's segments are there in each. */
void init_space(struct mm_struct *mm);
/* On each CPU before the first user task. */
void accept_user_breakpoints(void);

#endif
