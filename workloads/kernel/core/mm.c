/* Bringing pages of user tasks in, and the start of a task with an address space of its own. */
#include <linux/guest.h>
#include <linux/mm.h>
#include <linux/user.h>
#include <linux/userprobes.h>
#include <asm/syscall.h>

#ifdef USERPROBES
page_hook *user_page_hook __syscall_data = NULL;
/* Read by the simulator: the address behind the stack of every process, and bytes of a first table. */
unsigned long user_stack_top __syscall_data = USER_STACK_TOP;
unsigned long user_root_size __syscall_data = USER_ROOT_SIZE;

void start_user(struct pt_regs *regs) __noreturn;

__dispatch struct vm_area_struct *find_vma(struct mm_struct *mm, unsigned long address)
{
	struct vm_area_struct *vma = mm->mmap;

	while (vma && vma->vm_end <= address)
		vma = vma->vm_next;
	return vma;
}

__dispatch struct vm_area_struct *area_of(struct mm_struct *mm, unsigned long address)
{
	struct vm_area_struct *vma = find_vma(mm, address);

	return vma && vma->vm_start <= address ? vma : NULL;
}

static int may_write(const struct vm_area_struct *vma, const struct page *page)
{
	return (vma->vm_flags & VM_WRITE) && page->private;
}

static int is_in_place(const struct vm_area_struct *vma, const struct page *there, int write)
{
	return there && (!write || may_write(vma, there));
}

__syscall int bring_user_page(struct mm_struct *mm, unsigned long address, int access)
{
	struct vm_area_struct *vma = area_of(mm, address);
	struct page **slot, *page;
	int write = access & ACCESS_WRITE;

	if (!vma || (write && !(vma->vm_flags & VM_WRITE)))
		return 0;
	slot = page_slot(vma, address);
	/*
	 * Another task may have brought the page in since the access, or made it this space's own. A read that met the page
	 * is refused for another reason, and would be refused for ever.
	 */
	if (is_in_place(vma, *slot, write))
		return access != 0;
	address &= PAGE_MASK;
	page = user_page(vma, address, write);
	if (!page)
		return 0;
	/* Another task that brings the page in meanwhile finds it fresh, and does not go on before the hook is done either. */
	if (page->fresh) {
		if (user_page_hook)
			user_page_hook(page, vma, address);
		page->fresh = 0;
	}
	/* The hook may have had to look at the page: it is mapped only now. */
	if (*slot)
		drop_user_entry(vma, address);
	set_user_entry(vma, address, page->address, may_write(vma, page));
	*slot = page;
	mm->faults++;
	return 1;
}

/* Takes a page away from user mode. CPUs may still know where it was: see forget_user_entry. */
__syscall void unmap_user_page(struct vm_area_struct *vma, unsigned long address)
{
	struct page **slot = page_slot(vma, address);

	if (!*slot)
		return;
	drop_user_entry(vma, address);
	*slot = NULL;
}

/* For each CPU, behind unmap_user_page. */
__syscall void forget_user_entry(void *address)
{
	drop_translation((unsigned long)address);
}

__syscall unsigned long sys_forget(unsigned long a __unused, unsigned long b __unused)
{
	struct vm_area_struct *vma = current->mm ? current->mm->mmap : NULL;

	for (; vma; vma = vma->vm_next)
		for (unsigned long at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE)
			if (*page_slot(vma, at))
				drop_page_translation(vma, at);
	return 0;
}

__syscall int user_space_fault(struct pt_regs *regs, long error_code, unsigned int vector)
{
	unsigned long address = is_page_fault(vector) ? fault_address(regs) : 0;

	if (user_step_faulted(regs, vector))
		return 1;
	return is_page_fault(vector) && kernel_brings_page(address, fault_access(error_code));
}

/* Body of a task with an address space. The registers lie in this function's frame; it never returns. */
__syscall unsigned long process_thread(unsigned long at)
{
	const struct process_start *start = (const struct process_start *)at;
	struct pt_regs regs = USER_REGS((unsigned long)user_main, start->stack - sizeof(unsigned long));

	current->mm = start->mm;
	load_space(start->mm);
	set_user_arguments(&regs, start->fn, start->arg);
	current->flags &= ~PF_KTHREAD;
	start_user(&regs);
}
#endif
