/* CPU structures and registers: descriptor tables, TSS, debug registers, MSRs, local APIC. */
#ifndef _ASM_PROCESSOR_H
#define _ASM_PROCESSOR_H

#include "asm.h"

#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_SYSCALL_MASK 0xc0000084
#define MSR_GS_BASE 0xc0000101

#define EXCEPTION_STKSZ 4096
#ifdef NMI
#define DEBUG_STKSZ (8 * EXCEPTION_STKSZ)
#else
#define DEBUG_STKSZ (2 * EXCEPTION_STKSZ)
#endif
#define IRQ_STKSZ 8192

/* Numbers in the gates; the slot in the TSS is one less. On i386 an exception does not change the stack. */
#ifdef __x86_64__
#define DOUBLEFAULT_STACK 2
#define NMI_STACK 3
#define DEBUG_STACK 4
#define TSS_IST 36	/* offset of tss.ist, asserted in setup.c */
#define TSS_SP2 20	/* offset of tss.sp[2], asserted in asm/syscall.h */
#else
#define DOUBLEFAULT_STACK 0
#define NMI_STACK 0
#define DEBUG_STACK 0
#endif

#define RESCHEDULE_VECTOR 0xfd
#define CALL_FUNCTION_VECTOR 0xfc
#define LOCAL_TIMER_VECTOR 0xef
#define SPURIOUS_VECTOR 0xff
#define SYSCALL_VECTOR 0x80	/* i386 */

#define DR_STEP 0x4000

#ifndef __ASSEMBLER__

#include <linux/types.h>
#include <linux/compiler.h>
#include "percpu.h"

/* What lgdt and lidt read. */
struct desc_ptr {
	u16 size;
	unsigned long address;
} __attribute__((packed));

/* Task state segment: the stacks that exceptions switch to. Gates: where an exception enters. */
#ifdef __x86_64__
struct tss {
	u32 reserved1;
	u64 sp[3];
	u64 reserved2;
	u64 ist[7];
	u64 reserved3;
	u16 reserved4;
	u16 io_bitmap_base;
} __attribute__((packed)) ____cacheline_aligned;

struct gate {
	u16 offset_low, segment, bits, offset_middle;
	u32 offset_high, reserved;
};
#else
struct tss {
	u32 back_link;
	u32 sp0, ss0;		/* of level 0 */
	u32 others[22];		/* levels 1 and 2, and the registers of hardware task switches */
	u16 trap, io_bitmap_base;
} ____cacheline_aligned;

struct gate {
	u16 offset_low, segment, bits, offset_middle;
};
#endif

DECLARE_PER_CPU(struct tss, init_tss);

/* reader(): a register that only "mov" in the kernel reaches. */
#define READS_SPECIAL(reader, name)						\
	static __always_inline unsigned long reader(void)			\
	{									\
		unsigned long value;						\
										\
		asm volatile("mov %%" name ", %0" : "=r"(value));		\
		return value;							\
	}

READS_SPECIAL(read_cr2, "cr2")	/* the address of the last page fault */
READS_SPECIAL(get_dr6, "dr6")	/* why the last debug exception was raised */

static __always_inline void set_dr6(unsigned long value)
{
	asm volatile("mov %0, %%dr6" : : "r"(value));
}

static __always_inline void wrmsrl(u32 msr, u64 v)
{
	asm volatile("wrmsr" :: "c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

/* Waits for everything before it and drops what was prefetched. */
static __always_inline void sync_core(void)
{
	u32 eax = 1;

	asm volatile("cpuid" : "+a"(eax) :: "bx", "cx", "dx", "memory");
}

#ifdef __x86_64__
#define APIC_BASE 0xffffffffff5fd000UL
#else
#define APIC_BASE 0xffffb000UL
#endif
#define APIC_TPR 0x80
#define APIC_EOI 0xb0
#define APIC_SVR 0xf0
#define APIC_ICR 0x300
#define APIC_ICR2 0x310
#define APIC_LVT_TIMER 0x320
#define APIC_TIMER_INITIAL 0x380
#define APIC_TIMER_DIVIDE 0x3e0
#define APIC_SVR_ENABLE 0x100
#define APIC_DIVIDE_BY_1 0xb
#define APIC_LVT_MASKED 0x10000
#define APIC_LVT_PERIODIC 0x20000
#define APIC_DM_INIT 0x500
#define APIC_DM_STARTUP 0x600
#define APIC_ICR_BUSY 0x1000
#define APIC_INT_ASSERT 0x4000
#define APIC_INT_LEVELTRIG 0x8000
#define APIC_DEST_OTHERS 0xc0000

static __always_inline void apic_write(u32 reg, u32 v)
{
	*(volatile u32 *)(APIC_BASE + reg) = v;
}

static __always_inline u32 apic_read(u32 reg)
{
	return *(volatile u32 *)(APIC_BASE + reg);
}

#endif /* __ASSEMBLER__ */
#endif
