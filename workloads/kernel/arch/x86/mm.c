/* Address spaces on x86. Entries that are not global go when CR3 is loaded. */
#include <linux/guest.h>
#include <linux/mm.h>
#include <asm/processor.h>
#include <asm/ptrace.h>

#ifdef USERPROBES
#define TABLE_ENTRIES (1 << LEVEL_BITS)
#define ENTRY_PRESENT 1
#define ENTRY_WRITE 2
#define ENTRY_USER 4
#define ENTRY_ACCESSED 0x20
#define ENTRY_DIRTY 0x40
#define ENTRY_FRAME PAGE_MASK

#define USER_GATE 0x6000	/* level 3 may raise it */
#define BREAKPOINT_VECTOR 3

extern struct gate idt[256];

/* What CR3 held when the first space was made. */
static unsigned long first_tables __syscall_data = 0;

static __always_inline unsigned long read_tables(void)
{
	unsigned long value;

	asm volatile("mov %%cr3, %0" : "=r"(value));
	return value;
}

__syscall void load_space(const struct mm_struct *mm)
{
	asm volatile("mov %0, %%cr3" :: "r"(mm ? mm->pgd - PAGE_OFFSET : first_tables) : "memory");
}

__syscall void drop_translation(unsigned long address)
{
	asm volatile("invlpg (%0)" :: "r"(address) : "memory");
}

/* The upper half of the first table is the kernel's. */
__syscall void drop_page_translation(struct vm_area_struct *vma __unused, unsigned long address)
{
	drop_translation(address);
}

__syscall void init_space(struct mm_struct *mm)
{
	const unsigned long *kernel = (const unsigned long *)((read_tables() & ENTRY_FRAME) + PAGE_OFFSET);
	unsigned long *table = (unsigned long *)mm->pgd;

	for (int i = (PAGE_OFFSET >> TOP_SHIFT) & (TABLE_ENTRIES - 1); i < TABLE_ENTRIES; i++)
		table[i] = kernel[i];
}

/* The entry of the last level, or NULL where there is no table and none is to be made. */
static __syscall unsigned long *entry_of(struct mm_struct *mm, unsigned long address, int make)
{
	unsigned long *table = (unsigned long *)mm->pgd;

	for (int shift = TOP_SHIFT;; shift -= LEVEL_BITS) {
		unsigned long *entry = &table[(address >> shift) & (TABLE_ENTRIES - 1)];

		if (shift == PAGE_SHIFT)
			return entry;
		if (!(*entry & ENTRY_PRESENT)) {
			if (!make)
				return NULL;
			*entry = (user_table(mm) - PAGE_OFFSET) | ENTRY_PRESENT | ENTRY_WRITE | ENTRY_USER;
		}
		table = (unsigned long *)((*entry & ENTRY_FRAME) + PAGE_OFFSET);
	}
}

__syscall void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable)
{
	unsigned long bits = ENTRY_PRESENT | ENTRY_USER | ENTRY_ACCESSED;

	if (writable)
		bits |= ENTRY_WRITE | ENTRY_DIRTY;
	*entry_of(vma->vm_mm, address, 1) = (page - PAGE_OFFSET) | bits;
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
	if (!first_tables)
		first_tables = read_tables();
	idt[BREAKPOINT_VECTOR].bits |= USER_GATE;
}
#endif
