/*
 * Probes of user space, in the interface of 2003 and 2004. A probe belongs to a place of a file: inode and offset.
 * Registering says what is to happen there. Inserting puts a breakpoint into one page in memory.
 */
#ifndef _LINUX_USERPROBES_H
#define _LINUX_USERPROBES_H

#include "kprobes.h"

#ifdef USERPROBES
#include "mm.h"

struct uprobe {
	struct inode *inode;
	unsigned long offset;
	/* Of an insertion or a removal: */
	unsigned long addr;
	struct vm_area_struct *vma;
	struct page *page;
};

/* inode and offset. -EEXIST: they have a probe. */
int register_kprobe_user(struct kprobe *p);
/* After all insertions have been removed. */
void unregister_kprobe_user(struct kprobe *p);
/* All members of p->user; the page is present. -ENODATA: not registered. -EEXIST: a breakpoint is there. */
int insert_kprobe_user(struct kprobe *p);
int insert_kprobe_userspace(struct kprobe *p);	/* the other name of the same */
int remove_kprobe_user(struct kprobe *p);

/* A hit in user mode. Nonzero: it was a probe's. */
int user_breakpoint_hit(struct pt_regs *regs);
int user_stepped(struct pt_regs *regs);
/* The probe of an address of the running task, and where the kernel sees the instruction; or NULL. */
struct kprobe *find_user_probe(unsigned long address, kprobe_opcode_t **seen);
/* On the way to user mode with TIF_NEED_RESCHED. Nonzero: it is only to execute one instruction of a hit. */
int postpone_reschedule(void);
/* A fault of the kernel while it emulates an instruction of user mode. Nonzero: it goes on. */
int user_copy_faulted(struct pt_regs *regs, unsigned long address, unsigned int status);
/* A fault of user mode while an instruction is stepped. Nonzero: the fault handler has mended it. */
int user_step_faulted(struct pt_regs *regs, unsigned int vector);
/* Pre handlers of return probes of user functions, and of the trampoline in user space. */
int user_return_entered(struct kprobe *p, struct pt_regs *regs);
int user_trampoline_hit(struct kprobe *p, struct pt_regs *regs);
/* Where return probed functions return to, in user space. */
void user_trampoline(void);
#else
#define ENOSYS_OF_USER_PROBES 38

static inline int register_kprobe_user(struct kprobe *p __unused) { return -ENOSYS_OF_USER_PROBES; }
static inline void unregister_kprobe_user(struct kprobe *p __unused) {}
static inline int insert_kprobe_user(struct kprobe *p __unused) { return -ENOSYS_OF_USER_PROBES; }
static inline int insert_kprobe_userspace(struct kprobe *p __unused) { return -ENOSYS_OF_USER_PROBES; }
static inline int remove_kprobe_user(struct kprobe *p __unused) { return -ENOSYS_OF_USER_PROBES; }
#endif

#endif
