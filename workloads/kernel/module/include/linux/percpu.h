/*
 * Data of a CPU. Those of a module are an array with an element for each CPU, because the kernel's own place for
 * them has no room for more.
 */
#ifndef _MODULE_LINUX_PERCPU_H
#define _MODULE_LINUX_PERCPU_H

#include_next <linux/percpu.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#ifdef MODULE
#define NR_CPUS 256

#undef DEFINE_PER_CPU
#undef DECLARE_PER_CPU
#undef __get_cpu_var
#undef this_cpu_ptr
#define DEFINE_PER_CPU(type, name) __typeof__(type) name[NR_CPUS]
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name[NR_CPUS]
#define per_cpu(name, cpu) ((name)[cpu])
#define __get_cpu_var(name) per_cpu(name, smp_processor_id())
#define get_cpu_var(name) (*({ preempt_disable(); &__get_cpu_var(name); }))
#define put_cpu_var(name) preempt_enable()
#define this_cpu_read(name) __get_cpu_var(name)
#define this_cpu_write(name, value) (__get_cpu_var(name) = (value))
#define this_cpu_add(name, value) (__get_cpu_var(name) += (value))
#define this_cpu_inc(name) this_cpu_add(name, 1)
#define __this_cpu_read this_cpu_read
#define __this_cpu_write this_cpu_write
#define __this_cpu_inc this_cpu_inc
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)
#define for_each_online_cpu(cpu) for ((cpu) = 0; (unsigned int)(cpu) < cpus_online; (cpu)++)

extern unsigned int cpus_online;
#endif

#endif
