/* What the core has the architecture do, and what both do around interrupts. */
#ifndef _LINUX_CPU_H
#define _LINUX_CPU_H

struct pt_regs;

/* Once, before anything of a CPU: where exceptions and interrupts go. */
void traps_init(void);
/* This CPU's tables and registers. base: what to add to the address of a per-CPU variable. */
void cpu_init(unsigned long cpu, unsigned long base);
/* This CPU's interrupt controller: it takes what other CPUs send, and its timer is silent. */
void interrupts_init(void);

/* Interrupts this CPU after count clocks of its timer, once or again and again. */
void timer_start(unsigned long count, unsigned long periodic);
void timer_stop(void);
/* Starts the timer for what the simulator says is due next, if anything is. */
void sched_timer_arm(void);

/* Around what an interrupt does. */
void irq_enter(void);
void irq_exit(void);
/* The timer has interrupted this CPU. */
void timer_interrupt(struct pt_regs *regs);
/* An interrupt that nothing is behind any more. */
void ignore_interrupt(struct pt_regs *regs);

#endif
