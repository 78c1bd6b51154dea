/* What <stddef.h> has, for a compiler that is given no headers of its own. */
#ifndef _LINUX_STDDEF_H
#define _LINUX_STDDEF_H

#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

typedef __SIZE_TYPE__ size_t;

#endif
