/*
 * Address spaces of user tasks, in kernels that probe user space. A task of such a kernel may have page tables of its
 * own. Which page belongs to an address is the simulator's decision (user_page); the way there and back and
 * the entries of page tables are guest code.
 */
#ifndef _LINUX_MM_H
#define _LINUX_MM_H

struct mm_struct;
struct vm_area_struct;
struct pt_regs;

#ifdef USERPROBES
#include "sched.h"
#include <asm/mm.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))

/* vm_area_struct.vm_flags */
enum vm_flags {
	VM_READ = 1,
	VM_WRITE = 2,
	VM_EXEC = 4,
};

/* A file. Its content is the simulator's. */
struct inode {
	unsigned long i_ino;
	unsigned long i_size;
};

/* A page of memory: of a file, which all tasks share, or of one task alone. */
struct page {
	struct inode *inode;	/* NULL for a page that belongs to no file */
	unsigned long index;	/* pages from the start of the file */
	unsigned long address;	/* where the kernel sees it */
	int private;		/* of one task alone, which may write it */
	int fresh;		/* has just been read or copied: the hook is to hear of it */
};

/* A range of addresses, from vm_start up to vm_end. */
struct vm_area_struct {
	struct mm_struct *vm_mm;
	unsigned long vm_start, vm_end;
	struct vm_area_struct *vm_next;
	unsigned long vm_flags;
	unsigned long vm_pgoff;		/* pages from the start of the file */
	struct inode *vm_inode;		/* NULL for memory without a file */
	struct page **pages;		/* what is mapped, one for each page of the range */
	unsigned long *places;		/* the same for an architecture that must know where an entry lies */
};

struct mm_struct {
	struct vm_area_struct *mmap;	/* in the order of their addresses */
	unsigned long pgd;		/* the first table, as the kernel sees it */
	unsigned long context;		/* the number by which processors tell address spaces apart */
	unsigned long faults;		/* pages that were brought in */
};

/* How a process begins. Written by the simulator. */
struct process_start {
	struct mm_struct *mm;
	unsigned long fn, arg;
	unsigned long stack;		/* the address behind it */
};

/* Hears of every page that was read from its file or from swap, or was copied, before user mode sees it. */
typedef void page_hook(struct page *page, struct vm_area_struct *vma, unsigned long address);
extern page_hook *user_page_hook;

struct vm_area_struct *find_vma(struct mm_struct *mm, unsigned long address);
/* The area of an address, or NULL. */
struct vm_area_struct *area_of(struct mm_struct *mm, unsigned long address);
/* Brings a page in for an access. 0: the access is not allowed. */
int bring_user_page(struct mm_struct *mm, unsigned long address, int access);
/* What a fault of user mode is before anybody else is asked. Nonzero: user mode goes on. */
int user_space_fault(struct pt_regs *regs, long error_code, unsigned int vector);

/* System call: CPUs forget where the pages of the task are. */
unsigned long sys_forget(unsigned long a, unsigned long b);

/* A page for an access, or NULL. The simulator reads it, takes it out of swap, or copies it. */
struct page *user_page(struct vm_area_struct *vma, unsigned long address, unsigned long write);
/* A page of zeros for page tables, as the kernel sees it. */
unsigned long user_table(struct mm_struct *mm);

static inline struct page **page_slot(const struct vm_area_struct *vma, unsigned long address)
{
	return &vma->pages[(address - vma->vm_start) >> PAGE_SHIFT];
}

/*
 * What an architecture does for it (mm.c). An entry of user space appears, and goes. Its translation is dropped on this
 * CPU, or on all where one instruction reaches all.
 */
void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable);
void drop_user_entry(struct vm_area_struct *vma, unsigned long address);
/* This CPU forgets where a page of the tables in use was, where drop_user_entry has not reached it. */
void drop_translation(unsigned long address);
/* The same for a page of any space. */
void drop_page_translation(struct vm_area_struct *vma, unsigned long address);
/* Another address space, NULL for the one that the kernel began with. */
void load_space(const struct mm_struct *mm);
/* Prepares a new space: the kernel is part of each. */
void init_space(struct mm_struct *mm);
/* On each CPU before the first user task: breakpoints of user mode come in. */
void accept_user_breakpoints(void);

/* What an access was: a write, and one that met no page. */
#define ACCESS_WRITE 1
#define ACCESS_ABSENT 2

static inline int fault_access(long error_code)
{
	return (error_code & FAULT_WRITE ? ACCESS_WRITE : 0) | (FAULT_ABSENT(error_code) ? ACCESS_ABSENT : 0);
}

static __always_inline int kernel_brings_page(unsigned long address, int access)
{
	return current->mm && bring_user_page(current->mm, address, access);
}

/* The kernel itself needs none: its tasks run with the tables that it began with. */
static __always_inline void change_space(const struct task_struct *prev, const struct task_struct *next)
{
	if (prev->mm != next->mm)
		load_space(next->mm);
}
#else
#define kernel_brings_page(address, access) 0
#define change_space(prev, next) ((void)0)
#endif

#endif
