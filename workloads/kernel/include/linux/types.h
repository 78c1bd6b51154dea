/* Basic types of the guest kernel. */
#ifndef _LINUX_TYPES_H
#define _LINUX_TYPES_H

#ifndef __ASSEMBLER__

#include "stdarg.h"
#include "stddef.h"

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef unsigned long ulong;
typedef long ssize_t;

/* Links of lists with one pointer at the head: pprev is where the pointer to this node is. */
struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

/* Links of rings: the head is a link like the others. */
struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#endif /* __ASSEMBLER__ */
#endif
