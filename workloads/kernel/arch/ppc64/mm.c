/*
 * Address spaces on ppc64. The kernel writes the hashed page table itself, as one does that owns the machine. In a
 * partition the hypervisor would do it by a call. No hit of a probe writes an entry.
 */
#include <linux/guest.h>
#include <linux/mm.h>

#ifdef USERPROBES
#define SEGMENT_SHIFT 28
#define SEGMENT 0x10000000UL
#define SEGMENT_ENTRY 2		/* of the look-aside buffer: behind those of the kernel */
#define SLB_VALID (1UL << 27)
#define SLB_USER_KEY (1UL << 10)
#define SLB_NUMBER_SHIFT 12
#define FIRST_NUMBER 0x100UL	/* of a segment of user space */

#define TABLE_ORIGIN 0x3ffffffffffc0000UL
#define TABLE_SIZE 31
#define SMALLEST_TABLE 11	/* logarithm of its groups */
#define GROUP_ENTRIES 8

struct entry {
	unsigned long name, page;
};

#define ENTRY_VALID 1UL
#define ENTRY_SECOND_HASH 2UL
#define ENTRY_NAME_SHIFT 7
#define ENTRY_WRITABLE 2UL
#define ENTRY_READ_ONLY 3UL
#define ENTRY_NO_EXECUTE 4UL
#define ENTRY_COHERENT 0x10UL
#define ENTRY_CHANGED 0x80UL
#define ENTRY_REFERENCED 0x100UL

/* The segment of user space that the kernel began with, as slbmte takes it. */
static unsigned long first_segment __syscall_data = 0;

static __always_inline unsigned long number_of(const struct mm_struct *mm)
{
	return FIRST_NUMBER + mm->context;
}

__syscall void load_space(const struct mm_struct *mm)
{
	unsigned long segment = mm ? number_of(mm) << SLB_NUMBER_SHIFT | SLB_USER_KEY : first_segment;

	asm volatile("isync\n\tslbie %0\n\tslbmte %1, %2\n\tisync"
		     :: "r"(SEGMENT), "r"(segment), "r"(SEGMENT | SLB_VALID | SEGMENT_ENTRY) : "memory");
}

__syscall void drop_translation(unsigned long address __unused)
{
	asm volatile("isync" ::: "memory");
}

__syscall void init_space(struct mm_struct *mm __unused)
{
}

/* A group of entries. */
static __always_inline struct entry *group_of(unsigned long hash)
{
	unsigned long table;

	asm volatile("mfspr %0, 25" : "=r"(table));
	hash &= (1UL << (SMALLEST_TABLE + (table & TABLE_SIZE))) - 1;
	return (struct entry *)(PAGE_OFFSET + (table & TABLE_ORIGIN)) + hash * GROUP_ENTRIES;
}

static __always_inline struct entry *free_entry(unsigned long hash)
{
	struct entry *group = group_of(hash);

	for (int i = 0; i < GROUP_ENTRIES; i++)
		if (!(group[i].name & ENTRY_VALID))
			return &group[i];
	return NULL;
}

static __always_inline unsigned long *place_of(const struct vm_area_struct *vma, unsigned long address)
{
	return &vma->places[(address - vma->vm_start) >> PAGE_SHIFT];
}

/* The second half first: a walk takes an entry for valid by the first one. */
__syscall void set_user_entry(struct vm_area_struct *vma, unsigned long address, unsigned long page, int writable)
{
	unsigned long number = number_of(vma->vm_mm);
	unsigned long hash = number ^ (address & (SEGMENT - 1)) >> PAGE_SHIFT;
	unsigned long name = (number << 5 | (address >> 23 & 31)) << ENTRY_NAME_SHIFT | ENTRY_VALID;
	unsigned long bits = ENTRY_COHERENT | ENTRY_REFERENCED;
	struct entry *e = free_entry(hash);

	if (!e) {
		e = free_entry(~hash);
		name |= ENTRY_SECOND_HASH;
	}
	if (!e)
		panic_at("both groups of the page table are full: address", address);
	bits |= writable ? ENTRY_WRITABLE | ENTRY_CHANGED : ENTRY_READ_ONLY;
	if (!(vma->vm_flags & VM_EXEC))
		bits |= ENTRY_NO_EXECUTE;
	e->page = (page - PAGE_OFFSET) | bits;
	asm volatile("eieio" ::: "memory");
	WRITE_VOLATILE(e->name, name);
	asm volatile("ptesync" ::: "memory");
	*place_of(vma, address) = (unsigned long)e;
}

__syscall void drop_page_translation(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long virtual = number_of(vma->vm_mm) << SEGMENT_SHIFT | (address & (SEGMENT - 1) & PAGE_MASK);

	asm volatile("ptesync\n\ttlbie %0\n\teieio\n\ttlbsync\n\tptesync" :: "r"(virtual) : "memory");
}

__syscall void drop_user_entry(struct vm_area_struct *vma, unsigned long address)
{
	struct entry *e = (struct entry *)*place_of(vma, address);

	if (!e)
		return;
	*place_of(vma, address) = 0;
	WRITE_VOLATILE(e->name, 0);
	drop_page_translation(vma, address);
}

__syscall void accept_user_breakpoints(void)
{
	if (!first_segment)
		asm volatile("slbmfev %0, %1" : "=r"(first_segment) : "r"((unsigned long)SEGMENT_ENTRY));
}
#endif
