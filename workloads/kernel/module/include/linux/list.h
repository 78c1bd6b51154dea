/* Rings and chains by the names of the interface; what is done is done by linux/list.h of the kernel. */
#ifndef _MODULE_LINUX_LIST_H
#define _MODULE_LINUX_LIST_H

#include_next <linux/list.h>
#include <linux/compiler.h>

#define LIST_POISON NULL

#define LIST_HEAD_INIT(name) { &(name), &(name) }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
#define HLIST_HEAD_INIT { NULL }
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(chain) ((chain)->first = NULL)

static inline void INIT_LIST_HEAD(struct list_head *ring)
{
	*ring = (struct list_head){ ring, ring };
}

/* At the end of a ring. Its beginning is the end of the ring as seen from the first link. */
static inline void list_add_tail(struct list_head *link, struct list_head *ring)
{
	ring_append(ring, link);
}

static inline void list_add(struct list_head *link, struct list_head *ring)
{
	ring_append(ring->next, link);
}

static inline int list_empty(const struct list_head *ring)
{
	return ring_is_empty(ring);
}

static inline void list_del_init(struct list_head *link)
{
	struct list_head *before = link->prev, *behind = link->next;

	before->next = behind;
	behind->prev = before;
	INIT_LIST_HEAD(link);
}

static inline void list_del(struct list_head *link)
{
	list_del_init(link);
	link->next = link->prev = LIST_POISON;
}

static inline void list_move(struct list_head *link, struct list_head *ring)
{
	list_del_init(link);
	list_add(link, ring);
}

static inline void list_move_tail(struct list_head *link, struct list_head *ring)
{
	list_del_init(link);
	list_add_tail(link, ring);
}

#define list_entry(link, type, member) container_of(link, type, member)
#define list_first_entry(ring, type, member) list_entry((ring)->next, type, member)
#define list_next_entry(at, member) list_entry((at)->member.next, __typeof__(*(at)), member)
#define list_for_each(at, ring) walk_ring(at, ring)
#define list_for_each_safe(at, behind, ring) \
	for (at = (ring)->next, behind = at->next; at != (ring); at = behind, behind = at->next)
#define list_for_each_entry(at, ring, member)					\
	for (at = list_first_entry(ring, __typeof__(*at), member);		\
	     &at->member != (ring); at = list_next_entry(at, member))
#define list_for_each_entry_safe(at, behind, ring, member)			\
	for (at = list_first_entry(ring, __typeof__(*at), member),		\
	     behind = list_next_entry(at, member);				\
	     &at->member != (ring); at = behind, behind = list_next_entry(at, member))

static inline void INIT_HLIST_NODE(struct hlist_node *member)
{
	*member = (struct hlist_node){ NULL, NULL };
}

static inline int hlist_empty(const struct hlist_head *chain)
{
	return !chain->first;
}

static inline int hlist_unhashed(const struct hlist_node *member)
{
	return !member->pprev;
}

static inline void hlist_add_head(struct hlist_node *member, struct hlist_head *chain)
{
	chain_push(chain, member);
}

static inline void hlist_del_init(struct hlist_node *member)
{
	if (hlist_unhashed(member))
		return;
	chain_leave(member);
	INIT_HLIST_NODE(member);
}

#define hlist_del(member) hlist_del_init(member)
#define hlist_entry(member, type, field) container_of(member, type, field)
#define hlist_entry_safe(member, type, field) ({				\
	struct hlist_node *node__ = (member);					\
	node__ ? hlist_entry(node__, type, field) : NULL; })
#define hlist_for_each(at, chain) walk_chain(at, chain)
#define hlist_for_each_safe(at, behind, chain) \
	for (at = (chain)->first; at && ((behind = at->next), 1); at = behind)

/* Since 3.9 the loop variable is the entry alone. */
#if ERA >= 2014
#define hlist_for_each_entry(at, chain, field)					\
	for (at = hlist_entry_safe((chain)->first, __typeof__(*at), field); at;	\
	     at = hlist_entry_safe(at->field.next, __typeof__(*at), field))
#else
#define hlist_for_each_entry(at, link, chain, field)				\
	for (link = (chain)->first;						\
	     link && ((at = hlist_entry(link, __typeof__(*at), field)), 1); link = link->next)
#endif

#endif
