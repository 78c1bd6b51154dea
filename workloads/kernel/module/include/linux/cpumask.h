/* Which CPUs there are: those that are online. */
#ifndef _MODULE_LINUX_CPUMASK_H
#define _MODULE_LINUX_CPUMASK_H

#include <linux/percpu.h>
#include <linux/smp.h>

#define nr_cpu_ids num_online_cpus()
#define num_possible_cpus() num_online_cpus()
#define num_present_cpus() num_online_cpus()
#define cpu_online(cpu) ((unsigned int)(cpu) < num_online_cpus())

#endif
