#ifndef LINUX_RETHOOK_H
#define LINUX_RETHOOK_H

/* The pool of free return instances of later kernels. */
#include <linux/hit.h>
#include <asm/atomic.h>

#if ERA_RETHOOK
/*
 * A CPU that takes the first instance must know which one comes behind it, and that instance may leave
 * and come back in the meantime. So whoever looks at an instance counts as its reader. The pool counts as
 * one, and is noted in a bit of its own: an instance that comes home while it has readers is put
 * into the pool by the last of them.
 */
enum { IN_POOL = 1 << 30, COUNT_MASK = IN_POOL - 1 };

static __always_inline int exchange_link(struct hlist_node **at, struct hlist_node *old,
					 struct hlist_node *new)
{
	return __atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static __always_inline int add_readers(struct kretprobe_instance *ri, int n)
{
	return __atomic_fetch_add(&ri->readers, n, __ATOMIC_SEQ_CST);
}

static __always_inline struct kretprobe_instance *instance_at(struct hlist_node *member)
{
	return container_of(member, struct kretprobe_instance, hlist);
}

/* Puts an instance into the pool that nobody looks at. */
void into_pool(struct return_hook *hook, struct kretprobe_instance *ri);
#endif

#endif
