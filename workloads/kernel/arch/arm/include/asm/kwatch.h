/* Debug registers of ARM: watchpoints for data, breakpoints for instructions (ARM ARM, part C). */
#ifndef _ASM_KWATCH_H
#define _ASM_KWATCH_H

/* Numbers of watchpoints are 0 to 3, those of breakpoints 4 to 7. Two breakpoints more are what steps. */
#define WATCHPOINTS 4
#define DEBUG_REGISTERS 8
#define STEP_BEHIND 4
#define STEP_TARGET 5

/* Bits of the control registers. */
#define CONTROL_ENABLE 1
#define CONTROL_PRIVILEGED 2
#define CONTROL_LOADS 8
#define CONTROL_STORES 16
#define CONTROL_BYTES 5		/* shift of the bytes that are selected */
#define ALL_BYTES 15
#define MONITOR_MODE (1 << 15)	/* in the status and control register */

/* The status of an abort that a debug register raised, and its mask. */
#define FSR_DEBUG 2
#define FSR_STATUS 0x40f

#endif
