/*
 * Instructions that are executed by a copy. The copy stands in a slot with a return behind it, and is called. It
 * names other registers than the original: those that a C function can fill and read. The numbers of the original
 * stay in the probe's opcode. So the processor itself does what an instruction means, and C moves values.
 *
 * Where kernels keep the condition in the breakpoint the copy is always executed. Else the copy has the condition:
 * all that is written back was filled in before, so that an instruction that is not executed changes nothing.
 */
#include "emulate.h"

/* The registers of a copy, by the fields of the original. A field that names none is filled in like the others. */
struct operands {
	unsigned long d, n, m, s;
};

static __always_inline struct operands operands_of(const struct pt_regs *regs, u32 word)
{
	return (struct operands){
		.d = operand(regs, FIELD_D(word)), .n = operand(regs, FIELD_N(word)),
		.m = operand(regs, FIELD_M(word)), .s = operand(regs, FIELD_S(word)),
	};
}

/*
 * Calls the copy with the status register as the original would find it. A fault of the copy finds the frame in r6,
 * see kprobe_fault_handler. The compiler must not put anything between these instructions, since it could change flags.
 */
#define CALL_COPY(before, after, status, outputs...)						\
	asm volatile(before "blx %[copy]" after : outputs, [psr] "+r"(status)			\
		     : [copy] "r"(p->ainsn.insn), "r"(frame) : "lr", "cc", "memory")
#define FLAGS_IN "msr cpsr_fs, %[psr]\n\t"
#define FLAGS_OUT "\n\tmrs %[psr], cpsr"

/* Loads and stores change no flags, and read them only for the condition. */
#if ERA_KEEP_CONDITION
#define TRANSFER_FLAGS ""
#else
#define TRANSFER_FLAGS FLAGS_IN
#endif

static __always_inline unsigned long call_copy(const struct kprobe *p, struct pt_regs *regs, struct operands *o,
					       int computes)
{
	unsigned long status = regs->ARM_cpsr;
	register unsigned long d asm("r0") = o->d;
	register unsigned long n asm("r1") = o->n;
	register unsigned long m asm("r2") = o->m;
	register unsigned long s asm("r3") = o->s;
	register struct pt_regs *frame asm("r6") = regs;

	if (computes)
		CALL_COPY(FLAGS_IN, FLAGS_OUT, status, "+r"(d), "+r"(n), "+r"(m), "+r"(s));
	else
		CALL_COPY(TRANSFER_FLAGS, "", status, "+r"(d), "+r"(n), "+r"(m), "+r"(s));
	*o = (struct operands){ d, n, m, s };
	return status;
}

/* Calls a copy that computes: flags go in, and flags come out. */
static __always_inline struct operands compute(const struct kprobe *p, struct pt_regs *regs)
{
	struct operands o = operands_of(regs, p->opcode);
	unsigned long status = call_copy(p, regs, &o, 1);

	regs->ARM_cpsr = (regs->ARM_cpsr & ~PSR_RESULTS) | (status & PSR_RESULTS);
	return o;
}

__step __used void emulate_to_d(struct kprobe *p, struct pt_regs *regs)
{
	regs->uregs[FIELD_D(p->opcode)] = compute(p, regs).d;
}

__step __used void emulate_to_n(struct kprobe *p, struct pt_regs *regs)
{
	regs->uregs[FIELD_N(p->opcode)] = compute(p, regs).n;
}

/* Products of 64 bits. */
__step __used void emulate_to_d_n(struct kprobe *p, struct pt_regs *regs)
{
	struct operands o = compute(p, regs);

	regs->uregs[FIELD_D(p->opcode)] = o.d;
	regs->uregs[FIELD_N(p->opcode)] = o.n;
}

__step __used void emulate_flags(struct kprobe *p, struct pt_regs *regs)
{
	compute(p, regs);
}

static __always_inline struct operands transfer(const struct kprobe *p, struct pt_regs *regs)
{
	struct operands o = operands_of(regs, p->opcode);

	call_copy(p, regs, &o, 0);
	return o;
}

static __always_inline void write_base(const struct kprobe *p, struct pt_regs *regs, unsigned long address)
{
	if (writes_base(p->opcode))
		regs->uregs[FIELD_N(p->opcode)] = address;
}

__step __used void emulate_load(struct kprobe *p, struct pt_regs *regs)
{
	struct operands o = transfer(p, regs);

	write_base(p, regs, o.n);
	regs->uregs[FIELD_D(p->opcode)] = o.d;
}

__step __used void emulate_store(struct kprobe *p, struct pt_regs *regs)
{
	write_base(p, regs, transfer(p, regs).n);
}

/* Two registers of an even number and the next one: r4 and r5 in the copy. The result is the base. */
static __always_inline unsigned long transfer_pair(const struct kprobe *p, struct pt_regs *regs, unsigned long pair[2])
{
	unsigned long status = regs->ARM_cpsr;
	register unsigned long n asm("r1") = operand(regs, FIELD_N(p->opcode));
	register unsigned long m asm("r2") = operand(regs, FIELD_M(p->opcode));
	register unsigned long low asm("r4") = pair[0];
	register unsigned long high asm("r5") = pair[1];
	register struct pt_regs *frame asm("r6") = regs;

	CALL_COPY(TRANSFER_FLAGS, "", status, "+r"(n), "+r"(m), "+r"(low), "+r"(high));
	pair[0] = low;
	pair[1] = high;
	return n;
}

__step __used void emulate_load_pair(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long *d = &regs->uregs[FIELD_D(p->opcode)], pair[2] = { d[0], d[1] };
	unsigned long address = transfer_pair(p, regs, pair);

	write_base(p, regs, address);
	d[0] = pair[0];
	d[1] = pair[1];
}

__step __used void emulate_store_pair(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long *d = &regs->uregs[FIELD_D(p->opcode)], pair[2] = { d[0], d[1] };

	write_base(p, regs, transfer_pair(p, regs, pair));
}

/* Hints. */
__step __used void emulate_nothing(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
}
