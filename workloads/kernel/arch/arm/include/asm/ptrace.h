/*
 * Registers as the ways into an exception save them. The order and the names are interface: probe handlers read
 * and write these fields.
 */
#ifndef _ASM_PTRACE_H
#define _ASM_PTRACE_H

/* Bits of the program status register (ARM ARM, B1.3.3), and its modes. */
#define PSR_MODE_MASK 0x1f
#define USR_MODE 0x10
#define FIQ_MODE 0x11
#define IRQ_MODE 0x12
#define SVC_MODE 0x13
#define ABT_MODE 0x17
#define UND_MODE 0x1b
#define SYSTEM_MODE 0x1f
#define PSR_T_BIT 0x20
#define PSR_F_BIT 0x40		/* no fast interrupts */
#define PSR_I_BIT 0x80		/* no interrupts */
#define PSR_V_BIT 0x10000000
#define PSR_C_BIT 0x20000000
#define PSR_Z_BIT 0x40000000
#define PSR_N_BIT 0x80000000

/* Offsets into struct pt_regs for assembly, asserted in traps.c. */
#define PT_REG(n) (4 * (n))
#define PT_SP 52
#define PT_LR 56
#define PT_PC 60
#define PT_CPSR 64
#define PT_ORIG_R0 68
#define PT_SIZE 72

/* Bytes that are left free below the stack pointer of an undefined instruction: a store of several registers there,
   which moves the stack pointer down, is emulated while the frame is in use. */
#define STACK_HOLE 64

#ifndef __ASSEMBLER__

struct pt_regs {
	unsigned long uregs[18];
};

#define ARM_ORIG_r0 uregs[17]	/* of a system call: the first argument */
#define ARM_cpsr uregs[16]
#define ARM_pc uregs[15]
#define ARM_lr uregs[14]
#define ARM_sp uregs[13]
#define ARM_ip uregs[12]
#define ARM_fp uregs[11]
#define ARM_r10 uregs[10]
#define ARM_r9 uregs[9]
#define ARM_r8 uregs[8]
#define ARM_r7 uregs[7]
#define ARM_r6 uregs[6]
#define ARM_r5 uregs[5]
#define ARM_r4 uregs[4]
#define ARM_r3 uregs[3]
#define ARM_r2 uregs[2]
#define ARM_r1 uregs[1]
#define ARM_r0 uregs[0]

/* Whether the exception struck in user mode. */
static inline int user_mode(const struct pt_regs *frame)
{
	return (frame->ARM_cpsr & PSR_MODE_MASK) == USR_MODE;
}

/* reader(frame): one register as it was when the exception struck. */
#define READS_REGISTER(reader, member)						\
	static inline unsigned long reader(const struct pt_regs *frame)		\
	{									\
		return frame->member;						\
	}

READS_REGISTER(instruction_pointer, ARM_pc)
/* At the return of a function: its result. At its entry: its first argument. */
READS_REGISTER(regs_return_value, ARM_r0)
READS_REGISTER(regs_first_argument, ARM_r0)

/* writer(frame, value): what the register will hold when the exception is over. */
#define WRITES_REGISTER(writer, member)						\
	static inline void writer(struct pt_regs *frame, unsigned long value)	\
	{									\
		frame->member = value;						\
	}

WRITES_REGISTER(instruction_pointer_set, ARM_pc)
WRITES_REGISTER(regs_set_return_value, ARM_r0)
WRITES_REGISTER(regs_set_first_argument, ARM_r0)

#endif /* __ASSEMBLER__ */
#endif
