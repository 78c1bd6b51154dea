/* Larger pieces of memory come from where small ones do. */
#ifndef _MODULE_LINUX_VMALLOC_H
#define _MODULE_LINUX_VMALLOC_H

#include <linux/slab.h>

#define vmalloc(size) kmalloc(size, GFP_KERNEL)
#define vzalloc(size) kzalloc(size, GFP_KERNEL)
#define vfree(p) kfree(p)

#endif
