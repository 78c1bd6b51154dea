/* How user mode calls the kernel, seen from both sides. */
#ifndef _ASM_SYSCALL_H
#define _ASM_SYSCALL_H

#include <linux/types.h>
#include "processor.h"
#include "ptrace.h"
#include "switch_to.h"

/* The vector of system calls is in the image from the start: there is nothing to be let in by. */
static __always_inline void accept_syscalls(void)
{
}

static inline unsigned long syscall_argument(const struct pt_regs *regs, int n)
{
	return regs->gpr[3 + n];
}

/*
 * The arguments of the function in which a task begins. The first one points to a function, whose descriptor
 * is the kernel's: user mode gets one of its own on its stack. Its frames are below that.
 */
static inline void set_user_arguments(struct pt_regs *regs, unsigned long a, unsigned long b)
{
	unsigned long *descriptor = (unsigned long *)(regs->gpr[1] & ~15UL) - 4;

	descriptor[0] = code_of((void *)a);
	descriptor[1] = 0;
	descriptor[2] = 0;
	regs->gpr[1] = (unsigned long)descriptor - SP_REGS;
	regs->gpr[3] = (unsigned long)descriptor;
	regs->gpr[4] = b;
}

/* Data of user mode, which code there reaches without the table of contents: that is the kernel's. */
#define USER_DATA(var) (*({								\
	__typeof__(var) *at__;								\
											\
	asm("lis %0, %1@ha\n\taddi %0, %0, %1@l" : "=b"(at__) : "i"(&(var)));		\
	at__; }))

static __always_inline unsigned long user_syscall(unsigned long nr, unsigned long a, unsigned long b)
{
	register unsigned long r0 asm("r0") = nr;
	register unsigned long r3 asm("r3") = a;
	register unsigned long r4 asm("r4") = b;

	asm volatile("sc"
		     : "+r"(r0), "+r"(r3), "+r"(r4)
		     :: "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "xer", "cr0", "cr1", "cr5",
			"cr6", "cr7", "memory");
	return r3;
}

/* The registers with which a task begins in user mode; set_user_arguments adds to them. */
#define USER_REGS(entry, stack) {							\
	.nip = code_of((const void *)(entry)), .gpr[1] = (stack),			\
	.msr = MSR_SF | MSR_EE | MSR_PR | MSR_ME | MSR_IR | MSR_DR | MSR_RI,		\
}

static __always_inline unsigned long syscall_number(const struct pt_regs *regs)
{
	return regs->gpr[0];
}

static __always_inline void syscall_return(struct pt_regs *regs, unsigned long value)
{
	regs->gpr[3] = value;
}

static inline unsigned long user_stack_pointer(const struct pt_regs *regs)
{
	return regs->gpr[1];
}

/* Of an exception: whether it has an address, and that address. */
static inline int is_page_fault(unsigned int vector)
{
	return vector >= 0x300 && vector <= 0x480;
}

static inline unsigned long fault_address(const struct pt_regs *regs)
{
	return regs->dar;
}

#endif
