/*
 * Reading lists that are changed at the same time. Without preemption a reader is only a stretch
 * of code that does not call schedule(), so marking it costs nothing.
 */
#ifndef _LINUX_RCULIST_H
#define _LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/preempt.h>

#define rcu_read_lock() preempt_disable()
#define rcu_read_unlock() preempt_enable()
#define rcu_dereference(p) READ_VOLATILE(p)

#define list_for_each_entry_rcu(pos, head, member)				   \
	for (pos = list_entry(rcu_dereference((head)->next), __typeof__(*pos), member); \
	     &pos->member != (head);						   \
	     pos = list_entry(rcu_dereference(pos->member.next), __typeof__(*pos), member))

#define hlist_for_each_rcu(node, head) \
	for (node = rcu_dereference((head)->first); node; node = rcu_dereference(node->next))

#endif
