/* SPDX-License-Identifier: GPL-2.0 */

/*
 * Facts about the interface of Kprobes. Each line has a stable name and a value that depends on no address and no
 * moment, so that kernels can be compared line by line. Where a kernel lacks what a fact is about, its value is "absent".
 */
#include <linux/module.h>
#include <linux/kprobes.h>

#include "facts/facts.h"
#include "facts/places.h"
#include "facts/instructions.h"
#include "facts/flags.h"
#include "facts/switches.h"
#include "facts/handlers.h"
#include "facts/groups.h"
#include "facts/arrays.h"
#include "facts/returns.h"
#include "facts/nesting.h"
#include "facts/jprobes.h"
#include "facts/life.h"
#include "facts/jumps.h"

static int __init facts_init(void)
{
	places();
	instructions();
	flags();
	switches();
	handlers();
	groups();
	arrays();
	returns();
	nesting();
	jprobes();
	uses();
	text_of_init();
	jumps();
	stays();
	return 0;
}

static void __exit facts_exit(void)
{
	end_of_life();
	pr_info("facts done\n");
}

module_init(facts_init);
module_exit(facts_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Facts about the interface of Kprobes");
