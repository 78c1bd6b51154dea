/*
 * Exceptions are offered to a chain of listeners before they are fatal. struct notifier_block, struct
 * die_args, the results and register_die_notifier are interface: modules listen, too.
 */
#ifndef _LINUX_NOTIFIER_H
#define _LINUX_NOTIFIER_H

#include <linux/era.h>
#include <linux/kernel.h>
#include <asm/kdebug.h>
#include <asm/ptrace.h>

struct notifier_block {
	int (*notifier_call)(struct notifier_block *self, unsigned long event, void *data);
	struct notifier_block *next;
	int priority;		/* higher ones come first */
};

enum {
	NOTIFY_DONE = 0,	/* none of mine */
	NOTIFY_OK = 1,
	NOTIFY_STOP_MASK = 0x8000, /* nobody behind me is to hear of it */
	NOTIFY_STOP = NOTIFY_OK | NOTIFY_STOP_MASK,
};

struct die_args {
	struct pt_regs *regs;
	const char *str;
	long err;
	int trapnr;
	int signr;
};

int register_die_notifier(struct notifier_block *nb);

/* Offers an exception to the listeners; the result is that of the last one that was asked. */
#if ERA_CHAIN_CALLS == 3
int notify_die(enum die_val event, const char *str, struct pt_regs *regs, long err, int trap,
	       int sig);
#else
int offer_exception(unsigned long event, struct die_args *args);

static __always_inline int notify_die(enum die_val event, const char *str, struct pt_regs *regs,
				      long err, int trap, int sig)
{
	struct die_args args = { regs, str, err, trap, sig };

	return offer_exception(event, &args);
}
#endif

#endif
