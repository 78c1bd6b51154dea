/* What the parts of the self-test share: selftest.c has it, and probes.c of an architecture uses it. */
#include <linux/era.h>
#include <linux/hit.h>
#include <linux/sched.h>
#include <linux/workload.h>
#include "code.h"

/* Distance of slots in elements of text, and what BOOSTABLE is of a probe that may be boosted, before its first hit. */
#ifndef SLOT_STRIDE
#define SLOT_STRIDE MAX_INSN_SIZE
#endif
#ifndef MAY_BOOST
#define MAY_BOOST 0
#endif
#ifdef NO_KPROBES
#define HAS_KPROBES 0
#else
#define HAS_KPROBES 1
#endif

extern kprobe_opcode_t __slots_start[], __detours_start[];

void say(const char *what, unsigned long v);
void check(const char *what, unsigned long got, unsigned long want);
void *memcpy(void *to, const void *from, size_t n);
void *text_poke(void *addr, const void *src, unsigned long n);

void arm(struct kprobe *p, int slot);
/* The part of the architecture: writes what is executed instead of p->opcode to p->ainsn.insn. */
void prepare_slot(struct kprobe *p);
/* One probe in fn: results and hits over a few calls. */
void try_probe(const char *name, bench_fn fn, unsigned long at, kprobe_pre_handler_t pre,
	       kprobe_post_handler_t post, int boostable, int want_boostable);
/* A jprobe at the start of probed, which fn calls once, where kernels have jprobes. */
void try_jprobe(const char *name, bench_fn fn, bench_fn probed);

#if ERA_OPTIMIZE
/*
 * An optimized probe on bench_target. The architecture prepares the detour of op: it writes the template and as many
 * bytes of displaced code as moved says, and the jump there, whose size in bytes it returns.
 */
#define MAX_JUMP 8
unsigned long prepare_detour(struct jump_probe *op, u8 jump[MAX_JUMP]);
#endif

#ifdef FENTRY
/* Writes the call of the trampoline that takes the place of the nop at a function's entry. */
void make_entry_call(u8 call[ENTRY_NOP_SIZE], const u8 *entry);
#endif

/* The part of the architecture: probes on instructions of its functions. */
void try_instructions(void);

int handler_count(struct kprobe *p, struct pt_regs *regs);
void post_count(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
