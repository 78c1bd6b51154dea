/* Events of the chain of listeners. Kprobes hears of its breakpoints by a hook of undefined instructions instead. */
#ifndef _ASM_KDEBUG_H
#define _ASM_KDEBUG_H

enum die_val {
	DIE_OOPS = 1,
};

#endif
