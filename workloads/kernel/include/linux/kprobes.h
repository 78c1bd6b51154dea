/*
 * The interface of Kprobes: what a module that uses probes is compiled against. Names, types and
 * layouts are those of Linux 2.6.33. Registration runs in the simulator (native slots); what a hit
 * executes is behind linux/hit.h.
 */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H

#include <linux/era.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <asm/kprobes.h>
#include <asm/percpu.h>
#include <asm/ptrace.h>

/* kprobe.flags; a user may only pass DISABLED. */
enum kprobe_flags {
	KPROBE_FLAG_GONE = 1,		/* the probed text is gone */
	KPROBE_FLAG_DISABLED = 2,	/* temporarily disabled */
	KPROBE_FLAG_OPTIMIZED = 4,	/* jump optimized or queued for it (aggregates only) */
#if ERA_FTRACE_FLAG
	KPROBE_FLAG_FTRACE = 8,		/* the function's first nop became a call */
#endif
#if ERA_ENTRY_FLAG
	KPROBE_FLAG_ON_FUNC_ENTRY = 16,	/* a symbol begins at the address */
#endif
};

struct kprobe;
struct uprobe;
struct kretprobe_instance;
struct task_struct;

typedef int (*kprobe_pre_handler_t)(struct kprobe *, struct pt_regs *);
typedef int (*kprobe_break_handler_t)(struct kprobe *, struct pt_regs *);
typedef void (*kprobe_post_handler_t)(struct kprobe *, struct pt_regs *, unsigned long flags);
typedef int (*kprobe_fault_handler_t)(struct kprobe *, struct pt_regs *, int trapnr);
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *, struct pt_regs *);

struct kprobe {
	struct hlist_node hlist;	/* in probe_table, for the probe that a hit finds */
	struct list_head list;		/* children of an aggregate; in a child, its neighbours */
	unsigned long nmissed;		/* hits while another probe was being handled */
	kprobe_opcode_t *addr;		/* probed address */
	const char *symbol_name;
	unsigned int offset;		/* added to the symbol's address */
	kprobe_pre_handler_t pre_handler;
	kprobe_post_handler_t post_handler;
	kprobe_fault_handler_t fault_handler;
	kprobe_break_handler_t break_handler;
	kprobe_opcode_t opcode;		/* byte the breakpoint replaced */
	struct arch_specific_insn ainsn;	/* the copy that is executed instead */
	u32 flags;			/* KPROBE_FLAG_ */
#ifdef USERPROBES
	struct uprobe *user;		/* of a probe of user space: where it is */
#endif
};

struct jprobe {
	struct kprobe kp;
	void *entry;			/* has the probed function's arguments, ends in jprobe_return() */
};

struct kretprobe {
	struct kprobe kp;
	kretprobe_handler_t handler;
	kretprobe_handler_t entry_handler;
	int maxactive;			/* instances to allocate; <= 0: the default */
	int nmissed;			/* hits with no instance free */
	size_t data_size;		/* user bytes at the end of every instance */
	struct hlist_head free_instances;
	spinlock_t lock;		/* guards free_instances, where there is no other lock */
#if ERA_USED_CHAIN
	struct hlist_head used_instances;
#endif
#if ERA_RETHOOK
	struct return_hook *hook;	/* has the instances in the place of free_instances */
#endif
};

#if ERA_RETHOOK
/* The instances of a return probe. It lives until the last of them has come home. */
struct return_hook {
	struct kretprobe *rp;		/* NULL once the probe is unregistered */
	struct hlist_node *pool;	/* the first free one */
	int instances;			/* free and in use */
};
#endif

struct kretprobe_instance {
	struct hlist_node hlist;	/* in instance_table; while it is free, in free_instances */
	struct kretprobe *rp;		/* NULL once the probe is unregistered */
	kprobe_opcode_t *ret_addr;	/* the return address that was replaced */
	struct task_struct *task;
#if ERA_USED_CHAIN
	struct hlist_node used;		/* in used_instances */
#endif
#if ERA_RETHOOK
	struct return_hook *hook;
	unsigned long frame;		/* where the return address was */
	int readers;			/* see core/rethook.c */
#endif
	char data[];
};

/* Registration: 0 or a negative error number. Runs in the simulator. */
int register_kprobe(struct kprobe *p);
void unregister_kprobe(struct kprobe *p);
int register_kprobes(struct kprobe **ps, int num);
void unregister_kprobes(struct kprobe **ps, int num);
int register_kretprobe(struct kretprobe *rp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);
int register_jprobe(struct jprobe *p);
void unregister_jprobe(struct jprobe *p);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
int enable_kprobe(struct kprobe *p);
int disable_kprobe(struct kprobe *p);
int enable_kretprobe(struct kretprobe *rp);
int disable_kretprobe(struct kretprobe *rp);

/* The end of every jprobe's entry function: goes back to the probed one. */
void jprobe_return(void) __attribute__((noreturn));

/* The probe that this CPU is handling, NULL when it handles none. */
struct kprobe *kprobe_running(void);
/* Offers a fault of a handler or of a stepped instruction to the probe that is being handled. Nonzero:
   go on at regs->ip. */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);
/* Where return probed functions return to. */
void kretprobe_trampoline(void);

#endif
