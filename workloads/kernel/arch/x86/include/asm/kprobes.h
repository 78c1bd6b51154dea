/* Kprobes: what is particular to x86. */
#ifndef _ASM_KPROBES_H
#define _ASM_KPROBES_H

#define BREAKPOINT_INSTRUCTION 0xcc
#define RELATIVEJUMP_OPCODE 0xe9
#define RELATIVEJUMP_SIZE 5
#define RELATIVE_ADDR_SIZE 4
#define MAX_INSN_SIZE 16
#define MAX_STACK_SIZE 64	/* bytes of the stack that a jprobe keeps */
#define KCB_JPROBE_SAVED_SP (3 * BITS_PER_LONG / 8) /* offset in struct kprobe_ctlblk, asserted in jprobes.c */

#include <asm/asm.h>

#ifndef __ASSEMBLER__

#include <linux/types.h>
#include <asm/ptrace.h>

typedef u8 kprobe_opcode_t;

struct kprobe;

/* The copied instruction, executed out of line. */
struct arch_specific_insn {
	kprobe_opcode_t *insn;	/* its slot of MAX_INSN_SIZE bytes */
	/*
	 * 0: can be boosted, the jump back is not written yet; 1: the slot ends in a jump back, no
	 * single step is needed; -1: must be single-stepped.
	 */
	int boostable;
};

struct arch_optimized_insn {
	kprobe_opcode_t copied_insn[RELATIVE_ADDR_SIZE]; /* what the jump replaced after byte 0 */
	kprobe_opcode_t *insn;	/* detour buffer: template, copied instructions, jump back */
	size_t size;		/* bytes of copied instructions; 0: not prepared */
};

struct prev_kprobe {
	struct kprobe *kp;
	unsigned long status;
	unsigned long old_flags;
	unsigned long saved_flags;
};

/* What one CPU remembers between the exceptions of a hit. */
struct kprobe_ctlblk {
	unsigned long kprobe_status;
	unsigned long kprobe_old_flags;
	unsigned long kprobe_saved_flags;
	unsigned long *jprobe_saved_sp;
	struct pt_regs jprobe_saved_regs;
	kprobe_opcode_t jprobes_stack[MAX_STACK_SIZE];
	struct prev_kprobe prev_kprobe;
};

/*
 * The detour template: copied to the head of a detour buffer, then the address of the
 * optimized_kprobe goes into the immediate, a word, at optprobe_template_val and the
 * displacement of the call at optprobe_template_call (five bytes, e8 rel32) is set to reach
 * optimized_callback. From optprobe_template_end on come the copied instructions and the jump
 * back. An offset in the buffer is symbol minus optprobe_template_entry.
 */
extern kprobe_opcode_t optprobe_template_entry[];
extern kprobe_opcode_t optprobe_template_val[];
extern kprobe_opcode_t optprobe_template_call[];
extern kprobe_opcode_t optprobe_template_end[];

#endif /* __ASSEMBLER__ */
#endif
