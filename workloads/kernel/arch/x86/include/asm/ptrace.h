/*
 * Registers as the exception entry saves them. The order and the names are interface: probe
 * handlers read and write these fields.
 */
#ifndef _ASM_PTRACE_H
#define _ASM_PTRACE_H

#include <linux/era.h>

#define __KERNEL_CS 0x10
#define __KERNEL_DS 0x18
#define __TSS_SEL 0x40
#define __USER_DS 0x2b		/* what an i386 kernel has in ds and es, too */
#ifdef __x86_64__
#define __USER_CS 0x33
#else
#define __USER_CS 0x23
#define __KERNEL_PERCPU 0x48	/* what it has in fs: this CPU's per-CPU data */
#endif

#define X86_EFLAGS_FIXED 0x2	/* always set */
#define X86_EFLAGS_TF 0x100
#define X86_EFLAGS_IF 0x200
#define X86_EFLAGS_DF 0x400
#define X86_EFLAGS_IOPL 0x3000
#define X86_EFLAGS_RF 0x10000
#define X86_EFLAGS_VM 0x20000

/* Offsets into struct pt_regs for assembly, asserted in traps.c. */
#ifdef __x86_64__
#define PT_R15 0
#define PT_R14 8
#define PT_R13 16
#define PT_R12 24
#define PT_BP 32
#define PT_BX 40
#define PT_R11 48
#define PT_R10 56
#define PT_R9 64
#define PT_R8 72
#define PT_AX 80
#define PT_CX 88
#define PT_DX 96
#define PT_SI 104
#define PT_DI 112
#define PT_ORIG_AX 120
#define PT_IP 128
#define PT_CS 136
#define PT_FLAGS 144
#define PT_SP 152
#define PT_SS 160
#define PT_SIZE 168
#else
#define PT_BX 0
#define PT_CX 4
#define PT_DX 8
#define PT_SI 12
#define PT_DI 16
#define PT_BP 20
#define PT_AX 24
#define PT_DS 28
#define PT_ES 32
#if ERA_FRAME_FS_GS
#define PT_FS 36
#define PT_GS 40
#define PT_ORIG_AX 44
#else
#define PT_ORIG_AX 36
#endif
#define PT_IP (PT_ORIG_AX + 4)
#define PT_CS (PT_ORIG_AX + 8)
#define PT_FLAGS (PT_ORIG_AX + 12)
#define PT_SP (PT_ORIG_AX + 16)
#define PT_SS (PT_ORIG_AX + 20)
#define PT_SIZE (PT_ORIG_AX + 24)
#endif

#ifndef __ASSEMBLER__

/* Kernels before 2.6.25 had other names: a module may use both. */
#ifdef MODULE
#define REGISTER(name, before) union { unsigned long name, before; }
#else
#define REGISTER(name, before) unsigned long name
#endif

#ifdef __x86_64__
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	REGISTER(bp, rbp);
	REGISTER(bx, rbx);		/* up to here what a function preserves */
	unsigned long r11, r10, r9, r8;
	REGISTER(ax, rax);
	REGISTER(cx, rcx);
	REGISTER(dx, rdx);
	REGISTER(si, rsi);
	REGISTER(di, rdi);
	REGISTER(orig_ax, orig_rax);	/* the error code, or why there is none */
	REGISTER(ip, rip);		/* from here on by the processor */
	unsigned long cs;
	REGISTER(flags, eflags);
	REGISTER(sp, rsp);
	unsigned long ss;
};

/* What differs between the two: where the privilege level is, the stack, the first argument. */
#define FRAME_LEVEL(frame) ((frame)->cs & 3)
#define FRAME_STACK(frame) ((frame)->sp)
#define FRAME_ARGUMENT di
#else
struct pt_regs {
	REGISTER(bx, ebx);
	REGISTER(cx, ecx);
	REGISTER(dx, edx);
	REGISTER(si, esi);
	REGISTER(di, edi);
	REGISTER(bp, ebp);
	REGISTER(ax, eax);
	REGISTER(ds, xds);
	REGISTER(es, xes);
#if ERA_FRAME_FS_GS
	REGISTER(fs, xfs);
	REGISTER(gs, xgs);
#endif
	REGISTER(orig_ax, orig_eax);	/* the error code, or why there is none */
	REGISTER(ip, eip);		/* from here on by the processor */
	REGISTER(cs, xcs);
	REGISTER(flags, eflags);
	REGISTER(sp, esp);		/* by it only from user mode; else the stack is here */
	REGISTER(ss, xss);
};

/* In virtual 8086 mode the selectors are no selectors. Without ERA_FRAME_STACK a frame from the kernel ends
   below the stack. */
#define FRAME_LEVEL(frame) (((frame)->cs & 3) | ((frame)->flags & X86_EFLAGS_VM))
#if ERA_FRAME_STACK
#define FRAME_STACK(frame) ((frame)->sp)
#else
#define FRAME_STACK(frame) ((unsigned long)&(frame)->sp)
#endif
#define FRAME_ARGUMENT ax
#endif

/* Whether the exception struck in user mode. */
static inline int user_mode(const struct pt_regs *frame)
{
	return FRAME_LEVEL(frame) != 0;
}

/* The word the stack pointer designated when the exception struck. */
static inline unsigned long *kernel_stack_top(struct pt_regs *frame)
{
	return (unsigned long *)FRAME_STACK(frame);
}

/* reader(frame): one register as it was when the exception struck. */
#define READS_REGISTER(reader, member)						\
	static inline unsigned long reader(const struct pt_regs *frame)		\
	{									\
		return frame->member;						\
	}

READS_REGISTER(instruction_pointer, ip)
/* At the return of a function: its result. At its entry: its first argument. */
READS_REGISTER(regs_return_value, ax)
READS_REGISTER(regs_first_argument, FRAME_ARGUMENT)

/* writer(frame, value): what the register will hold when the exception is over. */
#define WRITES_REGISTER(writer, member)						\
	static inline void writer(struct pt_regs *frame, unsigned long value)	\
	{									\
		frame->member = value;						\
	}

WRITES_REGISTER(instruction_pointer_set, ip)
WRITES_REGISTER(regs_set_return_value, ax)
WRITES_REGISTER(regs_set_first_argument, FRAME_ARGUMENT)

#endif /* __ASSEMBLER__ */
#endif
