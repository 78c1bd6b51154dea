/* What the parts of the self-test share: selftest.c has it, and probes.c of an architecture uses it. */
#include <linux/era.h>
#include <linux/hit.h>
#include <linux/sched.h>
#include <linux/workload.h>
#include "code.h"

extern kprobe_opcode_t __slots_start[], __detours_start[];

void say(const char *what, unsigned long v);
void check(const char *what, unsigned long got, unsigned long want);
void *text_poke(void *addr, const void *src, unsigned long n);

void arm(struct kprobe *p, int slot);
/* One probe in fn: results and hits over a few calls. */
void try_probe(const char *name, bench_fn fn, unsigned long at, kprobe_pre_handler_t pre,
	       kprobe_post_handler_t post, int boostable, int want_boostable);
/* A jprobe at the start of probed, which fn calls once. */
void try_jprobe(const char *name, bench_fn fn, bench_fn probed);

/* The part of the architecture: probes on instructions of its functions, and an optimized one. */
void try_instructions(void);
void try_optimized(void);

int handler_count(struct kprobe *p, struct pt_regs *regs);
void post_count(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
