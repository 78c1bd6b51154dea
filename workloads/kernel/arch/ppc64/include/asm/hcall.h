/*
 * Calls of the hypervisor (Linux on Power Architecture Platform Reference, Hypervisor Call Functions): sc
 * with level 1, the function in r3, arguments behind it. The result in r3 is zero for success.
 */
#ifndef _ASM_HCALL_H
#define _ASM_HCALL_H

#include <linux/compiler.h>

/* The interrupt controller: end of an interrupt, an interrupt for another CPU, the next interrupt of this one. */
#define H_EOI 0x64
#define H_CPPR 0x68
#define H_IPI 0x6c
#define H_XIRR 0x74
/* Sets the data address breakpoint register. */
#define H_SET_DABR 0x28
/* Waits for an interrupt. */
#define H_CEDE 0xe0
/* Run-time services, by the real address of an argument block. */
#define H_RTAS 0xf000

struct hypervisor_answer {
	long status;
	unsigned long value;
};

static __always_inline struct hypervisor_answer hypervisor_call(unsigned long function, unsigned long a,
								unsigned long b)
{
	register unsigned long r3 asm("r3") = function;
	register unsigned long r4 asm("r4") = a;
	register unsigned long r5 asm("r5") = b;

	asm volatile("sc 1"
		     : "+r"(r3), "+r"(r4), "+r"(r5)
		     :: "r0", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "xer", "cr0", "cr1", "cr5",
			"cr6", "cr7", "memory");
	return (struct hypervisor_answer){ r3, r4 };
}

#endif
