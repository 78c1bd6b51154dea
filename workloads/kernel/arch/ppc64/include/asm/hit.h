/* What ppc64 adds to linux/hit.h. */
#ifndef _ASM_HIT_H
#define _ASM_HIT_H

#include <linux/compiler.h>
#include <asm/kprobes.h>
#include <asm/ptrace.h>

/* What a jprobe puts back when its function has ended. Arguments are in registers: no stack is kept. */
struct jprobe_frame {
	struct pt_regs regs;
};

/* What a pointer to a function leads to (ELF supplement 1.9, section 3.2.2); a third word is unused in C. */
struct function_descriptor {
	unsigned long entry, toc;
};

/*
 * Does what an instruction does to the registers, and to memory for a load or a store, and moves regs->nip to the
 * next instruction. 0: it cannot, and nothing has changed.
 */
int emulate_displaced(struct pt_regs *regs, u32 word);
/* The copy of an instruction at an address has been stepped in its slot: makes the frame what the original would have. */
void put_step_right(struct pt_regs *regs, unsigned long at, u32 word);

/*
 * The head of every detour. The simulator copies it to a buffer and fills in: the address of the jump_probe in the
 * five words at detour_template_value, a call of detour_called at detour_template_call, the displaced instruction
 * in the two words at detour_template_insn, and a call of emulate_displaced at detour_template_emulate. Behind its
 * end comes a branch to the next instruction.
 */
extern kprobe_opcode_t detour_template[], detour_template_value[], detour_template_call[];
extern kprobe_opcode_t detour_template_insn[], detour_template_emulate[], detour_template_end[];

/* Gives a frame that code has saved by itself what only an exception saves. */
static __always_inline void complete_frame(struct pt_regs *regs, unsigned long ip)
{
	regs->nip = ip;
	regs->trap = 0;
}

#endif
