/*
 * Pieces of the hit path that are the same wherever a copy of the displaced instruction is stepped or called. They
 * are a header, which the architecture's kprobes.c builds into its own functions: a call more, or another place,
 * would be part of what is measured.
 */
#ifndef _LINUX_HIT_PATH_H
#define _LINUX_HIT_PATH_H

#include "hit.h"
#include <asm/extable.h>

/* The copy is done with, in a stage of the hit: the hit around this one goes on, or other code does. */
static __always_inline void leave_step(struct hit_record *r, unsigned long stage)
{
	if (ERA_NESTED_RUNS && stage == HIT_NESTED_COPY) {
		r->now = r->outer;
		preempt_enable_no_resched();
	} else {
		close_hit(r);
	}
}

/* What the architecture does to registers so that a stepped original seems to have faulted, not its copy. */
typedef void back_to_original(const struct kprobe *p, const struct hit *h, struct pt_regs *regs);

/*
 * A fault under a probe. Of a stepped copy it is made to look like the original's, and goes its usual way.
 * A handler's may be mended by the user's fault handler, or by the exception table.
 */
static __always_inline int fault_under_probe(struct pt_regs *regs, int trapnr, back_to_original *back)
{
	struct hit_record *r = this_hit();
	struct kprobe *p = r->now.probe;
	int stepped = r->now.stage & (HIT_COPY | HIT_NESTED_COPY);

	if (!stepped && ERA_NESTED_RUNS)
		count_missed(p);
	if ((!stepped || ERA_FAULT_FIRST) && p->fault_handler && p->fault_handler(p, regs, trapnr))
		return 1;
	if (!stepped)
		return fixup_exception(regs);
	back(p, &r->now, regs);
	leave_step(r, stepped);
	return 0;
}

#endif
