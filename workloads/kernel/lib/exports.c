/* What modules may use of the rest of the kernel. */
#include "library.h"
#include <linux/kprobes.h>
#include <linux/kwatch.h>
#include <linux/smp.h>
#include <linux/workload.h>

EXPORT_SYMBOL(register_kprobe);
EXPORT_SYMBOL(unregister_kprobe);
EXPORT_SYMBOL(register_kprobes);
EXPORT_SYMBOL(unregister_kprobes);
EXPORT_SYMBOL(register_kretprobe);
EXPORT_SYMBOL(unregister_kretprobe);
EXPORT_SYMBOL(register_kretprobes);
EXPORT_SYMBOL(unregister_kretprobes);
#if ERA_JPROBES
EXPORT_SYMBOL(register_jprobe);
EXPORT_SYMBOL(unregister_jprobe);
EXPORT_SYMBOL(register_jprobes);
EXPORT_SYMBOL(unregister_jprobes);
EXPORT_SYMBOL(jprobe_return);
#endif
EXPORT_SYMBOL(enable_kprobe);
EXPORT_SYMBOL(disable_kprobe);
EXPORT_SYMBOL(enable_kretprobe);
EXPORT_SYMBOL(disable_kretprobe);
EXPORT_SYMBOL(register_kwatch);
EXPORT_SYMBOL(unregister_kwatch);
EXPORT_SYMBOL(dr_alloc);
EXPORT_SYMBOL(dr_free);
#ifdef USERPROBES
EXPORT_SYMBOL(register_kprobe_user);
EXPORT_SYMBOL(unregister_kprobe_user);
EXPORT_SYMBOL(insert_kprobe_user);
EXPORT_SYMBOL(insert_kprobe_userspace);
EXPORT_SYMBOL(remove_kprobe_user);
#endif
EXPORT_SYMBOL(register_die_notifier);
EXPORT_SYMBOL(cond_resched);
EXPORT_SYMBOL(cpus_online);
EXPORT_SYMBOL(current_task);
EXPORT_SYMBOL(cpu_number);
EXPORT_SYMBOL(kernel_stack);
EXPORT_SYMBOL(bench_target);
#if !ERA_UNIPROCESSOR
EXPORT_SYMBOL(lock_take);
EXPORT_SYMBOL(lock_take_quiet);
EXPORT_SYMBOL(lock_drop_quiet);
#endif
#ifdef PREEMPT
EXPORT_SYMBOL(preempt_schedule);
#endif
EXPORT_ARCH_SYMBOLS
