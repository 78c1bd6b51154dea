/*
 * Registers as the exception entry saves them. The order and the names are interface: probe
 * handlers read and write these fields.
 */
#ifndef _ASM_PTRACE_H
#define _ASM_PTRACE_H

/* Bits of the machine state register. */
#ifdef __ASSEMBLER__
#define MSR_BIT(n) (1 << n)
#else
#define MSR_BIT(n) (1UL << n)
#endif
#define MSR_EE MSR_BIT(15)	/* external and decrementer interrupts are taken */
#define MSR_PR MSR_BIT(14)	/* user mode */
#define MSR_ME MSR_BIT(12)
#define MSR_SE MSR_BIT(10)	/* a trace interrupt behind every instruction */
#define MSR_BE MSR_BIT(9)
#define MSR_IR MSR_BIT(5)
#define MSR_DR MSR_BIT(4)
#define MSR_RI MSR_BIT(1)	/* SRR0 and SRR1 hold nothing that is needed */
#define MSR_SF MSR_BIT(63)

/* Why there is a program interrupt: a bit in SRR1, and so in pt_regs.msr. */
#define SRR1_TRAP MSR_BIT(17)
#define SRR1_REASONS 0x783f0000	/* all bits of SRR1 that say why */

/* Offsets into struct pt_regs for assembly, asserted in traps.c. */
#define PT_GPR(n) (8 * (n))
#define PT_NIP 256
#define PT_MSR 264
#define PT_ORIG_GPR3 272
#define PT_CTR 280
#define PT_LINK 288
#define PT_XER 296
#define PT_CCR 304
#define PT_SOFTE 312
#define PT_TRAP 320
#define PT_DAR 328
#define PT_DSISR 336
#define PT_RESULT 344
#define PT_SIZE 352

/* Bit 0 of pt_regs.trap: r14 to r31 are in their registers and not in the frame. */
#define TRAP_NOT_ALL 1

/* The frame of an exception on the stack: what every function's frame begins with, the registers, and the
   bytes below the stack pointer that the interrupted function may be using. */
#define SP_REGS 112
#define RED_ZONE 288
#define EXCEPTION_FRAME (SP_REGS + PT_SIZE + RED_ZONE)

#ifndef __ASSEMBLER__

struct pt_regs {
	unsigned long gpr[32];
	unsigned long nip, msr;
	unsigned long orig_gpr3;	/* of a system call: the first argument */
	unsigned long ctr, link, xer, ccr;
	unsigned long softe;		/* not used here */
	unsigned long trap;		/* the vector, and TRAP_NOT_ALL */
	unsigned long dar, dsisr;	/* of a storage interrupt */
	unsigned long result;
};

/* Whether the exception struck in user mode. */
static inline int user_mode(const struct pt_regs *frame)
{
	return (frame->msr & MSR_PR) != 0;
}

/* reader(frame): one register as it was when the exception struck. */
#define READS_REGISTER(reader, member)						\
	static inline unsigned long reader(const struct pt_regs *frame)		\
	{									\
		return frame->member;						\
	}

READS_REGISTER(instruction_pointer, nip)
/* At the return of a function: its result. At its entry: its first argument. */
READS_REGISTER(regs_return_value, gpr[3])
READS_REGISTER(regs_first_argument, gpr[3])

/* writer(frame, value): what the register will hold when the exception is over. */
#define WRITES_REGISTER(writer, member)						\
	static inline void writer(struct pt_regs *frame, unsigned long value)	\
	{									\
		frame->member = value;						\
	}

WRITES_REGISTER(instruction_pointer_set, nip)
WRITES_REGISTER(regs_set_return_value, gpr[3])
WRITES_REGISTER(regs_set_first_argument, gpr[3])

#endif /* __ASSEMBLER__ */
#endif
