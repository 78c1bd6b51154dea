/* Memory of user tasks. They share one, unless the kernel probes user space; a kernel thread has none. */
#ifndef _MODULE_LINUX_MM_TYPES_H
#define _MODULE_LINUX_MM_TYPES_H

#include <linux/mm.h>
#include <linux/types.h>

#ifndef USERPROBES
struct mm_struct {
	unsigned long pgd;	/* the first table, as the kernel sees it */
};
#endif

#endif
