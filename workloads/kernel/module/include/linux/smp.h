/* Which CPU this is, and how many there are. */
#ifndef _MODULE_LINUX_SMP_H
#define _MODULE_LINUX_SMP_H

#include_next <linux/smp.h>
#include <linux/sched.h>

#define num_online_cpus() READ_VOLATILE(cpus_online)

#endif
