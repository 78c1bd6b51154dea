/* The interface of Kprobes, with the names that only its users need. */
#ifndef _MODULE_LINUX_KPROBES_H
#define _MODULE_LINUX_KPROBES_H

#include_next <linux/kprobes.h>
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/userprobes.h>

#define JPROBE_ENTRY(handler) ((kprobe_opcode_t *)(handler))

/* A function that takes no probe: a table of them is the section _kprobe_blacklist. Kernels before 3.16 do not
   read it. */
#define NOKPROBE_SYMBOL(function)						\
	static const unsigned long __used __section("_kprobe_blacklist")	\
	_kbl_addr_##function = (unsigned long)&function
#define nokprobe_inline __always_inline

static inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return ri->rp;
}

#if ERA_ENTRY_FLAG
static inline bool kprobe_disabled(struct kprobe *p)
#else
static inline int kprobe_disabled(struct kprobe *p)
#endif
{
	return p->flags & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE);
}

#endif
