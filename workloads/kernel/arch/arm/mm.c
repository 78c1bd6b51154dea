/* Address spaces on ARM. Pages of user space carry the number of their space in the TLB. */
#include <linux/guest.h>
#include <linux/mm.h>
#include <asm/processor.h>

#ifdef USERPROBES
#define SECTION_SHIFT 20
#define SECTIONS 4096
#define KERNEL_FROM 0xbf0	/* sections: what is mapped for modules lies below the rest */
#define SECOND_ENTRIES 256

/* Bits of entries (B3.5.1). A page of user space may be read by all, and is shared, cached and not global. */
#define FIRST_TABLE 1
#define SECOND_PAGE 2
#define SECOND_CACHED (1 << 6 | 1 << 3 | 1 << 2)
#define SECOND_SHARED (1 << 10)
#define SECOND_LOCAL (1 << 11)
#define SECOND_USER (3 << 4)
#define SECOND_READ_ONLY (1 << 9)

/* What TTBR0 held when the first space was made. */
static unsigned long first_tables __syscall_data = 0;

static __always_inline unsigned long read_tables(void)
{
	unsigned long value;

	asm volatile("mrc p15, 0, %0, c2, c0, 0" : "=r"(value));
	return value;
}

static __always_inline void name_space(unsigned long number)
{
	asm volatile("mcr p15, 0, %0, c13, c0, 1\n\tisb" :: "r"(number) : "memory");
}

/* No walk may find the tables of one space under the number of another: in between there is number 0, under which
   nothing of user space is ever used (B3.10.4). */
__syscall void load_space(const struct mm_struct *mm)
{
	unsigned long tables = mm ? (mm->pgd - PAGE_OFFSET) | (first_tables & 0x7f) : first_tables;

	name_space(0);
	asm volatile("mcr p15, 0, %0, c2, c0, 0\n\tisb" :: "r"(tables) : "memory");
	if (mm)
		name_space(mm->context);
}

/* TLBIMVAA: of all spaces. */
__syscall void drop_translation(unsigned long address)
{
	asm volatile("dsb ish\n\tmcr p15, 0, %0, c8, c7, 3\n\tdsb ish\n\tisb" :: "r"(address & PAGE_MASK) : "memory");
}

__syscall void drop_page_translation(struct vm_area_struct *vma __unused, unsigned long address)
{
	drop_translation(address);
}

__syscall void init_space(struct mm_struct *mm)
{
	const unsigned long *kernel = (const unsigned long *)((first_tables & -(unsigned long)USER_ROOT_SIZE) + PAGE_OFFSET);
	unsigned long *table = (unsigned long *)mm->pgd;

	for (int i = KERNEL_FROM; i < SECTIONS; i++)
		table[i] = kernel[i];
}

static __syscall unsigned long *entry_of(struct mm_struct *mm, unsigned long address, int make)
{
	unsigned long *first = (unsigned long *)mm->pgd + (address >> SECTION_SHIFT), *second;

	if (!*first) {
		if (!make)
			return NULL;
		*first = (user_table(mm) - PAGE_OFFSET) | FIRST_TABLE;
	}
	second = (unsigned long *)((*first & -1024UL) + PAGE_OFFSET);
	return &second[(address >> PAGE_SHIFT) & (SECOND_ENTRIES - 1)];
}

__syscall void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable)
{
	unsigned long bits = SECOND_PAGE | SECOND_CACHED | SECOND_SHARED | SECOND_LOCAL | SECOND_USER;

	if (!writable)
		bits |= SECOND_READ_ONLY;
	if (!(vma->vm_flags & VM_EXEC))
		bits |= 1;
	*entry_of(vma->vm_mm, address, 1) = (page - PAGE_OFFSET) | bits;
	asm volatile("dsb ish\n\tisb" ::: "memory");
}

__syscall void drop_user_entry(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long *entry = entry_of(vma->vm_mm, address, 0);

	if (entry)
		*entry = 0;
	drop_translation(address);
}

__syscall void accept_user_breakpoints(void)
{
	first_tables = read_tables();
}
#endif
