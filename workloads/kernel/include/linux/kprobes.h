/*
 * Kprobes: the programming interface and the structures behind it.
 *
 * The names and layouts of struct kprobe, jprobe, kretprobe, kretprobe_instance, optimized_kprobe and
 * kprobe_ctlblk are those of Linux 2.6.33/34. Registration runs in the simulator (native slots);
 * what a hit executes is guest code in core/kprobes.c and in the kprobes.c of the architecture.
 */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H

#include <linux/era.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/rculist.h>
#include <asm/ptrace.h>
#include <asm/kprobes.h>

/* kprobe_ctlblk.kprobe_status */
enum kprobe_status {
	KPROBE_HIT_ACTIVE = 0x00000001,	/* a handler runs before the instruction */
	KPROBE_HIT_SS = 0x00000002,	/* the copied instruction is stepped */
	KPROBE_REENTER = 0x00000004,	/* it is stepped for a hit during another one */
	KPROBE_HIT_SSDONE = 0x00000008,	/* the post handler runs */
};

/* kprobe.flags */
enum kprobe_flags {
	KPROBE_FLAG_GONE = 1,		/* the probed text is gone */
	KPROBE_FLAG_DISABLED = 2,	/* temporarily disabled */
	KPROBE_FLAG_OPTIMIZED = 4,	/* jump optimized or queued for it (aggregates only) */
};

#define KPROBE_HASH_BITS 6
#define KPROBE_TABLE_SIZE (1 << KPROBE_HASH_BITS)

struct kprobe;
struct kretprobe;
struct kretprobe_instance;
struct task_struct;

typedef int (*kprobe_pre_handler_t)(struct kprobe *, struct pt_regs *);
typedef int (*kprobe_break_handler_t)(struct kprobe *, struct pt_regs *);
typedef void (*kprobe_post_handler_t)(struct kprobe *, struct pt_regs *, unsigned long flags);
typedef int (*kprobe_fault_handler_t)(struct kprobe *, struct pt_regs *, int trapnr);
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *, struct pt_regs *);

struct kprobe {
	struct hlist_node hlist;	/* in kprobe_table, for the probe the hit path finds */
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
	u32 flags;			/* KPROBE_FLAG_; a user may only pass DISABLED */
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
	spinlock_t lock;		/* guards free_instances */
};

struct kretprobe_instance {
	struct hlist_node hlist;	/* in free_instances or in kretprobe_inst_table */
	struct kretprobe *rp;		/* NULL once the probe is unregistered */
	kprobe_opcode_t *ret_addr;	/* the return address that was replaced */
	struct task_struct *task;
	char data[];
};

/* An aggregate whose instructions may be replaced by a jump to a detour buffer. */
struct optimized_kprobe {
	struct kprobe kp;
	struct list_head list;		/* queue of the optimizer */
	struct arch_optimized_insn optinsn;
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

/* State of the CPU while it handles a hit. */
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);
/* The child an aggregate is running, NULL outside its handlers. */
DECLARE_PER_CPU(struct kprobe *, kprobe_instance);

#define kprobe_running() percpu_read(current_kprobe)
#define reset_current_kprobe() percpu_write(current_kprobe, (struct kprobe *)NULL)
#define get_kprobe_ctlblk() this_cpu_ptr(kprobe_ctlblk)

static inline int kprobe_disabled(const struct kprobe *p)
{
	return p->flags & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE);
}

/*
 * Hash tables, written by the simulator on registration and read by the hit path. The bucket of
 * a probe is hash_ptr(addr, 6), that of a return instance hash_ptr(task, 6), see linux/hash.h.
 */
extern struct hlist_head kprobe_table[KPROBE_TABLE_SIZE];
extern struct hlist_head kretprobe_inst_table[KPROBE_TABLE_SIZE];

struct kretprobe_table_lock {
	spinlock_t lock;
} ____cacheline_aligned;
extern struct kretprobe_table_lock kretprobe_table_locks[KPROBE_TABLE_SIZE];

/* Settings that the simulator writes before or during a run. */
extern int kprobe_boost_allowed;	/* 0: the kernel is built without boosting */
extern int kprobes_all_disarmed;	/* 1: no breakpoint is armed */
extern int kprobes_allow_optimization;	/* 0: switched off by sysctl */

struct kprobe *get_kprobe(void *addr);
void kprobes_inc_nmissed_count(struct kprobe *p);

/* Handlers that the simulator stores into the probes it builds. */
int aggr_pre_handler(struct kprobe *p, struct pt_regs *regs);
void aggr_post_handler(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int aggr_fault_handler(struct kprobe *p, struct pt_regs *regs, int trapnr);
int aggr_break_handler(struct kprobe *p, struct pt_regs *regs);
int pre_handler_kretprobe(struct kprobe *p, struct pt_regs *regs);
int setjmp_pre_handler(struct kprobe *p, struct pt_regs *regs);
int longjmp_break_handler(struct kprobe *p, struct pt_regs *regs);

/* The end of every jprobe's entry function: goes back to the probed one. */
void jprobe_return(void) __attribute__((noreturn));

void opt_pre_handler(struct kprobe *p, struct pt_regs *regs);
void recycle_rp_inst(struct kretprobe_instance *ri, struct hlist_head *garbage);
#if ERA_UNIPROCESSOR
/* There is no other CPU: what is left of the lock is the interrupt flag, inline. */
static __always_inline unsigned long kretprobe_table_lock(unsigned long hash __unused)
{
	return local_irq_save();
}

static __always_inline void kretprobe_table_unlock(unsigned long hash __unused,
						   unsigned long flags)
{
	local_irq_restore(flags);
}
#else
unsigned long kretprobe_table_lock(unsigned long hash);
void kretprobe_table_unlock(unsigned long hash, unsigned long flags);
#endif

/* Per-ISA half. */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);
void kretprobe_trampoline(void);
void *trampoline_handler(struct pt_regs *regs);
void optimized_callback(struct optimized_kprobe *op, struct pt_regs *regs);

#endif
