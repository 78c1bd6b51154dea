/* Entry points of the simulator's functions that only modules and what they call need; lib/simulator.h says what
   they do. */
#include <asm/native.h>

	.section .native, "ax"
	NATIVE sim_console
	NATIVE sim_clock
	NATIVE sim_jiffies
	NATIVE sim_alloc
	NATIVE sim_symbol
	NATIVE kallsyms_lookup_name
	NATIVE sim_timer
