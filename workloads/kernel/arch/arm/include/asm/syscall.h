/* How user mode calls the kernel, seen from both sides: svc, the number in r7, arguments from r0 on. */
#ifndef _ASM_SYSCALL_H
#define _ASM_SYSCALL_H

#include <linux/types.h>
#include "ptrace.h"
#include "switch_to.h"

/* The vector of system calls is in the image from the start: there is nothing to be let in by. */
static __always_inline void accept_syscalls(void)
{
}

static inline unsigned long syscall_argument(const struct pt_regs *regs, int n)
{
	return regs->uregs[n];
}

/* The arguments of the function in which a task begins. */
static inline void set_user_arguments(struct pt_regs *regs, unsigned long a, unsigned long b)
{
	regs->ARM_r0 = a;
	regs->ARM_r1 = b;
	regs->ARM_sp &= ~7UL;
}

#define USER_DATA(var) (var)

static __always_inline unsigned long user_syscall(unsigned long nr, unsigned long a, unsigned long b)
{
	register unsigned long r0 asm("r0") = a;
	register unsigned long r1 asm("r1") = b;
	register unsigned long r7 asm("r7") = nr;

	asm volatile("svc #0" : "+r"(r0) : "r"(r1), "r"(r7) : "memory");
	return r0;
}

/* The registers with which a task begins in user mode; set_user_arguments adds to them. */
#define USER_REGS(entry, stack) {							\
	.ARM_pc = (entry), .ARM_sp = (stack), .ARM_cpsr = USR_MODE,			\
}

static __always_inline unsigned long syscall_number(const struct pt_regs *regs)
{
	return regs->ARM_r7;
}

static __always_inline void syscall_return(struct pt_regs *regs, unsigned long value)
{
	regs->ARM_r0 = value;
}

static inline unsigned long user_stack_pointer(const struct pt_regs *regs)
{
	return regs->ARM_sp;
}

/* Numbers of exceptions: those of their vectors. */
#define TRAP_UNDEFINED 1
#define TRAP_PREFETCH_ABORT 3
#define TRAP_DATA_ABORT 4

/* Of an exception: whether it has an address, and that address. */
static inline int is_page_fault(unsigned int vector)
{
	return vector == TRAP_PREFETCH_ABORT || vector == TRAP_DATA_ABORT;
}

/* That of this CPU's last abort: interrupts have been off since, as all do that end in a report. */
unsigned long fault_address(const struct pt_regs *regs);

#endif
