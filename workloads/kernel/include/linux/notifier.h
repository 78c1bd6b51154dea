/* Chains of callbacks; exceptions are offered to the chain die_chain before they are fatal. */
#ifndef _LINUX_NOTIFIER_H
#define _LINUX_NOTIFIER_H

#include <linux/era.h>
#include <linux/spinlock.h>
#include <asm/kdebug.h>

struct notifier_block {
	int (*notifier_call)(struct notifier_block *self, unsigned long event, void *data);
	struct notifier_block *next;
	int priority;
};

struct atomic_notifier_head {
	spinlock_t lock;
	struct notifier_block *head;
};

#define NOTIFY_DONE 0x0000
#define NOTIFY_OK 0x0001
#define NOTIFY_STOP_MASK 0x8000
#define NOTIFY_STOP (NOTIFY_OK | NOTIFY_STOP_MASK)

#if ERA_CHAIN_WRAPPED
int atomic_notifier_call_chain(struct atomic_notifier_head *nh, unsigned long event, void *data);
int __atomic_notifier_call_chain(struct atomic_notifier_head *nh, unsigned long event, void *data,
				 int nr_to_call, int *nr_calls);
#else
int notifier_call_chain(struct notifier_block **list, unsigned long event, void *data);
extern struct atomic_notifier_head die_chain;
#endif

struct pt_regs;

struct die_args {
	struct pt_regs *regs;
	const char *str;
	long err;
	int trapnr;
	int signr;
};

#if ERA_CHAIN_WRAPPED
int notify_die(enum die_val event, const char *str, struct pt_regs *regs, long err, int trap,
	       int sig);
#else
static __always_inline int notify_die(enum die_val event, const char *str, struct pt_regs *regs,
				      long err, int trap, int sig)
{
	struct die_args args = {
		.regs = regs, .str = str, .err = err, .trapnr = trap, .signr = sig,
	};

	return notifier_call_chain(&die_chain.head, event, &args);
}
#endif
int register_die_notifier(struct notifier_block *nb);

#endif
