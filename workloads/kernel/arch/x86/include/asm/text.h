/* Changing code that other CPUs may be executing. */
#ifndef _ASM_TEXT_H
#define _ASM_TEXT_H

#include <linux/notifier.h>
#include <asm/kprobes.h>

/* Steps of a patch, as they are told to the simulator. */
enum patch_step {
	PATCH_BREAKPOINT,	/* a breakpoint over the first byte */
	PATCH_TAIL,		/* the bytes behind the first one */
	PATCH_FIRST,		/* the first byte, the last to be changed */
	PATCH_WHOLE,		/* all bytes while the machine stands still */
	PATCH_RESTORE,		/* the first byte back over a breakpoint */
	PATCH_SYNC,		/* a CPU has dropped what it had fetched */
};

/* Plain stores by this CPU. */
void *text_poke(void *addr, const void *src, unsigned long n);
void text_poke_patch(void *addr, const void *src, unsigned long n, unsigned long patch,
		     unsigned long step);
/* Changes n bytes behind a breakpoint; a CPU that hits it goes on at detour. Waits for all CPUs. */
void text_poke_bp(unsigned char *addr, const unsigned char *src, unsigned long n, void *detour,
		  unsigned long patch);
/* Has every CPU drop what it had fetched, after step 0, 1 or 2 of a patch behind breakpoints. */
void text_poke_sync(unsigned long patch, int step);

/* A patch site that is changed together with others. A page holds 256 of them. */
struct text_poke_loc {
	int addr;		/* bytes from _text */
	int detour;		/* the same; where a CPU that hits the breakpoint goes on */
	unsigned char len;	/* bytes of text */
#if ERA_COPY_TRAPS
	unsigned char call;	/* the detour is called: it returns behind the text */
#endif
	unsigned char text[RELATIVEJUMP_SIZE];
};

#if ERA_COPY_TRAPS
/* #BP: nonzero when it was a breakpoint of text_poke_bp_batch, and what is to stand there was emulated. */
int text_poke_hit(struct pt_regs *regs);
/* #BP: nonzero when it was a probe's. */
int breakpoint_hit(struct pt_regs *regs);
#endif

/* The same for n patch sites in the order of their addresses. */
void text_poke_bp_batch(const struct text_poke_loc *vec, unsigned long n, unsigned long patch);
/* On every CPU when it leaves a stop of the machine: none goes on with code it fetched before. */
void text_poke_leave_stop(void);
/* At boot: listens for breakpoints when the simulator has chosen a protocol with them. */
void text_poke_init(void);
/* The notifiers that handle the breakpoints of text_poke_bp, and of text_poke_bp_batch. */
extern struct notifier_block text_poke_nb, text_poke_batch_nb;

/* Number of the patch that the machine is stopped for, 0 for none; written by the simulator. */
extern int text_poke_stopped;

/* Written by the simulator before boot. */
extern struct notifier_block *volatile text_poke_listener; /* that of the protocol in use, NULL for none */
/* Parts that are left out, as a mistake for the search for races to find. Bit n: the sync after step n.
   POKE_END: the wait for CPUs that still search the batch. */
extern int text_poke_unsynced;
enum { POKE_END = 3 };

#endif
