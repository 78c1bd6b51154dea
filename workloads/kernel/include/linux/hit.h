/*
 * What a probe hit works with, besides the structures of the interface: the table of probes, the
 * record of a hit, the return instances, and the probe of an address that a jump leads away from.
 * The simulator finds structures and tables by their names.
 */
#ifndef _LINUX_HIT_H
#define _LINUX_HIT_H

#include "hash.h"
#include "kprobes.h"
#include "sched.h"
#include <asm/hit.h>

/* How far a hit has come. The numbers are those that kernels use. */
enum hit_stage {
	HIT_HANDLER = 1,	/* a handler runs before the instruction */
	HIT_COPY = 2,		/* the displaced instruction is stepped */
	HIT_NESTED_COPY = 4,	/* the same for a hit during another one */
	HIT_AFTER = 8,		/* the post handler runs */
};

/* One hit, from its breakpoint to the end of its step. */
struct hit {
	struct kprobe *probe;
	unsigned long stage;
	unsigned long flags_before;	/* of the probed code, what the architecture puts back */
	unsigned long flags_after;	/* the same, as far as the displaced instruction leaves them */
};

/* What is remembered between the exceptions of a hit. */
struct hit_record {
	struct hit now;			/* now.probe is NULL when no hit is under way */
	struct kprobe *child;		/* of an aggregate: whose handler runs, or has led to a jprobe */
	struct hit outer;		/* the hit that a nested one interrupted */
#if !ERA_COPY_TRAPS
	struct jprobe_frame jprobe;
#endif
};

#if ERA_GLOBAL_HIT
extern struct hit_record the_hit;
extern spinlock_t hit_lock;
extern unsigned int hit_cpu;		/* that has the lock, or NO_CPU */
#define NO_CPU (~0U)
#define this_hit() (&the_hit)
void begin_hits(void);
void end_hits(void);
#else
DECLARE_PER_CPU(struct hit_record, hit_record);
#define this_hit() this_cpu_ptr(hit_record)
#endif

static __always_inline int hit_under_way(const struct hit_record *r __unused)
{
#if ERA_GLOBAL_HIT
	return READ_VOLATILE(hit_cpu) == smp_processor_id();
#else
	return r->now.probe != NULL;
#endif
}

/* Another hit may come: this one needs nothing any more. */
static __always_inline void close_hit(struct hit_record *r __unused)
{
#if ERA_GLOBAL_HIT
	end_hits();
#else
	r->now.probe = NULL;
#endif
	if (!ERA_COPY_TRAPS)
		preempt_enable_no_resched();
}

/* The handler of a return. Probes that it hits are missed: its own one is the current one meanwhile. */
static __always_inline void handle_return(struct kretprobe *rp, struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct hit_record *r = this_hit();

	r->now.probe = &rp->kp;
	r->now.stage = HIT_HANDLER;
	rp->handler(ri, regs);
	r->now.probe = NULL;
}

static __always_inline int probe_enabled(const struct kprobe *p)
{
	return !ERA_DISABLE || likely(!(p->flags & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE)));
}

/*
 * Probes by address and return instances by task, in buckets by hash_ptr. The simulator writes the
 * first table; the second one is written by hits.
 */
#define HIT_HASH_BITS 6
#define HIT_BUCKETS (1 << HIT_HASH_BITS)
extern struct hlist_head probe_table[HIT_BUCKETS];
#if !ERA_RETHOOK
extern struct hlist_head instance_table[HIT_BUCKETS];
#endif

/* Switches, written by the simulator. */
extern int switch_boost;	/* 0: the kernel is built without boosting */
extern int switch_jumps;	/* 0: jumps are switched off */
extern int switch_disarmed;	/* 1: no breakpoint is armed */

/* The probe of an address, or NULL. */
struct kprobe *find_probe(const void *addr);
/* A hit whose handlers do not run. */
void count_missed(struct kprobe *p);

/* Handlers of the probes that the simulator makes: of an aggregate, of a return probe, of a jprobe. */
typedef int probe_handler(struct kprobe *, struct pt_regs *);
probe_handler group_before, group_break, return_probe_entered, jprobe_divert, jprobe_resume;
void group_after(struct kprobe *, struct pt_regs *, unsigned long);
int group_fault(struct kprobe *, struct pt_regs *, int);

/* What the return trampoline calls: where the function was to return to. */
#if ERA_RETHOOK
void function_returned(struct pt_regs *frame);
#else
unsigned long function_returned(struct pt_regs *frame);
#endif
#if ERA_GLOBAL_HIT
/* Keeps hits away while return instances are changed outside of one. */
unsigned long lock_instances(unsigned long bucket);
void unlock_instances(unsigned long bucket, unsigned long flags);
#endif

#if ERA_OPTIMIZE
/* The aggregate of an address that a jump leads away from, or may lead away from. */
struct jump_probe {
	struct kprobe kp;
	kprobe_opcode_t *detour;	/* template, displaced instructions, jump back */
	size_t moved;			/* bytes of displaced instructions; 0: no detour is ready */
	u8 tail[RELATIVEJUMP_SIZE - sizeof(kprobe_opcode_t)]; /* what the jump replaced behind the breakpoint */
};

/* What a detour calls. */
void detour_called(struct jump_probe *op, struct pt_regs *frame);
void detour_handlers(struct kprobe *p, struct pt_regs *frame);
#endif

/* The part of the architecture: exchanges the return address of a function at its entry. */
void divert_return(struct kretprobe_instance *ri, struct pt_regs *frame);

#endif
