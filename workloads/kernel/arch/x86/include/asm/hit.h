/* What x86 adds to linux/hit.h. */
#ifndef _ASM_HIT_H
#define _ASM_HIT_H

#include <asm/asm.h>

#define JPROBE_STACK 64		/* bytes of the stack that a jprobe keeps */
#define HIT_JPROBE_SP (9 * BITS_PER_LONG / 8) /* of struct hit_record, asserted in jprobes.c */

#ifndef __ASSEMBLER__

#include <asm/kprobes.h>
#include <asm/ptrace.h>

/* What a jprobe puts back when its function has ended: stack pointer, registers, top of the stack. */
struct jprobe_frame {
	unsigned long *sp;
	struct pt_regs regs;
	u8 stack[JPROBE_STACK];
};

/*
 * The head of every detour. The simulator copies it to a buffer, puts the address of the jump_probe, a
 * word, where detour_template_value is and a call of detour_called, five bytes, where
 * detour_template_call is. Behind its end come the displaced instructions and the jump back.
 */
extern kprobe_opcode_t detour_template[], detour_template_value[], detour_template_call[];
extern kprobe_opcode_t detour_template_end[];

/* Gives a frame that code has saved by itself what only an exception saves. */
static __always_inline void complete_frame(struct pt_regs *regs, unsigned long ip)
{
	regs->ip = ip;
	regs->cs = __KERNEL_CS;
	regs->orig_ax = ~0UL;
#if defined(__i386__) && ERA_FRAME_FS_GS
	regs->gs = 0;
#endif
}

#if ERA_RETHOOK
/* The frame of the return trampoline: above it lies the word from which it returns. */
static __always_inline void return_frame(struct pt_regs *regs, unsigned long back)
{
	complete_frame(regs, back);
	regs->sp += 2 * sizeof(long);
	*(unsigned long *)(regs + 1) = back;
}

/* The flags are popped last, right below that word. */
static __always_inline void end_return_frame(struct pt_regs *regs)
{
	regs->ss = regs->flags;
}
#endif

#endif
#endif
