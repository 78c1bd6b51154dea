/*
 * Rings and chains. A ring is circular and doubly linked, its anchor a link like the others
 * (list_head). A chain is what hangs off one pointer (hlist_head): a member (hlist_node) knows the
 * pointer that leads to it and so leaves without knowing whose chain it is. The three types are those
 * of the interface of Linux; what is done with them here is only what the guest needs.
 *
 * Readers of both walk them while they change, so that each link is read once.
 */
#ifndef _LINUX_LIST_H
#define _LINUX_LIST_H

#include <linux/kernel.h>

#define RING(name) struct list_head name = { .next = &name, .prev = &name }

static inline int ring_is_empty(const struct list_head *ring)
{
	return ring->next == ring;
}

/* Makes a link the last one of a ring. */
static inline void ring_append(struct list_head *ring, struct list_head *link)
{
	*link = (struct list_head){ .next = ring, .prev = ring->prev };
	ring->prev->next = link;
	ring->prev = link;
}

/* Passes at every link of a ring but the anchor. */
#define walk_ring(at, ring) \
	for (at = READ_VOLATILE((ring)->next); at != (ring); at = READ_VOLATILE(at->next))

/* Passes at every member of a chain. */
#define walk_chain(at, chain) \
	for (at = READ_VOLATILE((chain)->first); at; at = READ_VOLATILE(at->next))

/* Puts a member in front of the others. */
static inline void chain_push(struct hlist_head *chain, struct hlist_node *member)
{
	struct hlist_node *second = chain->first;

	*member = (struct hlist_node){ .next = second, .pprev = &chain->first };
	if (second)
		second->pprev = &member->next;
	chain->first = member;
}

/* Takes a member out. Its own pointers stay as they are: a reader may stand on it. */
static inline void chain_leave(struct hlist_node *member)
{
	*member->pprev = member->next;
	if (member->next)
		member->next->pprev = member->pprev;
}

#endif
