/* How user mode calls the kernel, seen from both sides. */
#ifndef _ASM_SYSCALL_H
#define _ASM_SYSCALL_H

#include <linux/types.h>
#include "processor.h"
#include "ptrace.h"

void syscall_entry(void);

#ifdef __x86_64__
#define SYSRET_CS 0x23	/* sysret loads this plus 16, and plus 8 for the stack */

_Static_assert(offsetof(struct tss, sp[2]) == TSS_SP2, "processor.h");
_Static_assert((SYSRET_CS + 16 == __USER_CS) && (SYSRET_CS + 8 == __USER_DS), "ptrace.h");

/* This CPU enters the kernel at syscall_entry from now on. */
static __always_inline void accept_syscalls(void)
{
	wrmsrl(MSR_STAR, (u64)SYSRET_CS << 48 | (u64)__KERNEL_CS << 32);
	wrmsrl(MSR_LSTAR, (unsigned long)syscall_entry);
	wrmsrl(MSR_SYSCALL_MASK,
	       X86_EFLAGS_TF | X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_IOPL);
}

static inline unsigned long syscall_argument(const struct pt_regs *regs, int n)
{
	return n ? regs->si : regs->di;
}

/* The arguments of the function in which a task begins. */
static inline void set_user_arguments(struct pt_regs *regs, unsigned long a, unsigned long b)
{
	regs->di = a;
	regs->si = b;
}

static __always_inline unsigned long user_syscall(unsigned long nr, unsigned long a, unsigned long b)
{
	asm volatile("syscall" : "+a"(nr) : "D"(a), "S"(b) : "rcx", "r11", "memory");
	return nr;
}
#else
extern struct gate idt[256];

/* A trap gate, which leaves interrupts on, that user mode may go through. All CPUs have one table. */
static __always_inline void accept_syscalls(void)
{
	unsigned long at = (unsigned long)syscall_entry;

	idt[SYSCALL_VECTOR] = (struct gate){
		.offset_low = at, .segment = __KERNEL_CS, .bits = 0xef00, .offset_middle = at >> 16,
	};
}

static inline unsigned long syscall_argument(const struct pt_regs *regs, int n)
{
	return n ? regs->cx : regs->bx;
}

static inline void set_user_arguments(struct pt_regs *regs, unsigned long a, unsigned long b)
{
	regs->ax = a;
	regs->dx = b;
	regs->ds = __USER_DS;
	regs->es = __USER_DS;
}

static __always_inline unsigned long user_syscall(unsigned long nr, unsigned long a, unsigned long b)
{
	asm volatile("int $0x80" : "+a"(nr) : "b"(a), "c"(b) : "memory");
	return nr;
}
#endif

/* Data of user mode, for code there. */
#define USER_DATA(var) (var)

/* The registers with which a task begins in user mode; set_user_arguments adds to them. */
#define USER_REGS(entry, stack) {					\
	.ip = (entry), .cs = __USER_CS,					\
	.flags = X86_EFLAGS_IF | X86_EFLAGS_FIXED,			\
	.sp = (stack), .ss = __USER_DS,					\
}

static __always_inline unsigned long syscall_number(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

static __always_inline void syscall_return(struct pt_regs *regs, unsigned long value)
{
	regs->ax = value;
}

static inline unsigned long user_stack_pointer(const struct pt_regs *regs)
{
	return regs->sp;
}

/* Of an exception: whether it has an address, and that address. */
static inline int is_page_fault(unsigned int vector)
{
	return vector == 14;
}

static inline unsigned long fault_address(const struct pt_regs *regs __unused)
{
	return read_cr2();
}

#endif
