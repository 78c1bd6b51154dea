/* Small pieces of memory. */
#ifndef _MODULE_LINUX_SLAB_H
#define _MODULE_LINUX_SLAB_H

#include <linux/gfp.h>
#include <linux/string.h>

/* NULL when there is no memory. A piece begins at a multiple of 16. */
void *kmalloc(size_t size, gfp_t flags);
void *kzalloc(size_t size, gfp_t flags);
void *kcalloc(size_t n, size_t size, gfp_t flags);
void *kmalloc_array(size_t n, size_t size, gfp_t flags);
char *kstrdup(const char *s, gfp_t flags);
/* Of NULL it does nothing. What was not allocated ends the run. */
void kfree(const void *p);

#endif
