/* An array of chains in which a member is found by a number. */
#ifndef _MODULE_LINUX_HASHTABLE_H
#define _MODULE_LINUX_HASHTABLE_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/log2.h>

/* An empty chain is zero. */
#define DECLARE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define DEFINE_HASHTABLE(name, bits) DECLARE_HASHTABLE(name, bits) = { { NULL } }
#define HASH_SIZE(table) (sizeof(table) / sizeof((table)[0]))
#define HASH_BITS(table) ilog2(HASH_SIZE(table))
#define hash_chain__(table, key) (&(table)[hash_min(key, HASH_BITS(table))])

#define hash_init(table) do {							\
	for (unsigned int i__ = 0; i__ < HASH_SIZE(table); i__++)		\
		INIT_HLIST_HEAD(&(table)[i__]);					\
	} while (0)
#define hash_add(table, link, key) hlist_add_head(link, hash_chain__(table, key))
#define hash_del(link) hlist_del(link)

/* The header came with loops whose variable is the entry alone, so it has them in every kernel. */
#define hash_walk__(at, chain, member)						\
	for (at = hlist_entry_safe((chain)->first, __typeof__(*at), member); at;	\
	     at = hlist_entry_safe(at->member.next, __typeof__(*at), member))
#define hash_for_each_possible(table, at, member, key) \
	hash_walk__(at, hash_chain__(table, key), member)
#define hash_for_each(table, i, at, member)					\
	for ((i) = 0; (unsigned int)(i) < HASH_SIZE(table); (i)++)		\
		hash_walk__(at, &(table)[i], member)
/* behind is a struct hlist_node *. */
#define hash_for_each_safe(table, i, behind, at, member)				\
	for ((i) = 0; (unsigned int)(i) < HASH_SIZE(table); (i)++)		\
		for (at = hlist_entry_safe((table)[i].first, __typeof__(*at), member);	\
		     at && ((behind = at->member.next), 1);			\
		     at = hlist_entry_safe(behind, __typeof__(*at), member))

#endif
