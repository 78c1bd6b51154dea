/* How user mode calls the kernel, seen from both sides. */
#ifndef _ASM_SYSCALL_H
#define _ASM_SYSCALL_H

#include <asm/ptrace.h>

#ifdef __x86_64__
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

#endif
