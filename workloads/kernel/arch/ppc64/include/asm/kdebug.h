/* Events of the chain of listeners: what is offered to kprobes. */
#ifndef _ASM_KDEBUG_H
#define _ASM_KDEBUG_H

enum die_val {
	DIE_OOPS = 1,
	DIE_IABR_MATCH,
	DIE_DABR_MATCH,
	DIE_BPT,		/* a trap instruction */
	DIE_SSTEP,		/* one instruction has been executed with MSR_SE */
	DIE_GPF,		/* a fault */
};

#endif
