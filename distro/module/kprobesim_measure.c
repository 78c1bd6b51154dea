/* SPDX-License-Identifier: GPL-2.0 */

/*
 * Times every kind of probe hit on the kernel that loads it, and prints one table to the kernel's log. The probed functions
 * are its own and have known instructions. Each loop is timed without and with probes, with interrupts disabled, on one
 * processor. Whoever reads the table subtracts.
 */
#include <linux/module.h>
#include <linux/version.h>

static unsigned int calls = 200;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "calls in a loop that is timed, 1 to 10000");

static unsigned int repeats = 31;
module_param(repeats, uint, 0444);
MODULE_PARM_DESC(repeats, "how often each loop is timed, 1 to 255");

static unsigned int patience = 10000;
module_param(patience, uint, 0444);
MODULE_PARM_DESC(patience, "milliseconds to wait for the kernel to replace breakpoints by jumps");

#define SINCE(a, b, c) (LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, c))

#include "kprobesim_measure/say.h"
#include "kprobesim_measure/clock.h"
#include "kprobesim_measure/sites.h"
#include "kprobesim_measure/system.h"
#include "kprobesim_measure/probes.h"
#include "kprobesim_measure/rows.h"

static int __init measure_init(void)
{
	if (calls < 1 || calls > 10000 || repeats < 1 || repeats > MOST_REPEATS) {
		pr_err(TAG " refused: calls are 1 to 10000, repeats 1 to %d\n", MOST_REPEATS);
		return -EINVAL;
	}
	stay_here();
	say_begin();
	say_system();
	say_clock();
	say_rows();
	say_clock();
	say_end();
	go_anywhere();
	return 0;
}

/* All probes are gone by now. */
static void __exit measure_exit(void)
{
}

module_init(measure_init);
module_exit(measure_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Times every kind of probe hit");
