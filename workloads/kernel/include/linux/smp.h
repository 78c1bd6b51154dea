/* More than one CPU: starting them, interrupting them, and having all do something. */
#ifndef _LINUX_SMP_H
#define _LINUX_SMP_H

/* CPUs that run; they are those with the numbers below. */
extern unsigned int cpus_online;

/* Runs fn(arg) on every CPU that is online, this one too, and waits until all have. fn runs with
   interrupts off; with several CPUs they must be on before. */
void on_each_cpu(void (*fn)(void *), void *arg);

/* The part of the processor. */
void smp_boot_cpu(unsigned long cpu);
void smp_send_kicks(void);
void smp_send_call_function(void);
/* What the interrupt of smp_send_call_function calls. */
void generic_smp_call_function_interrupt(void);

#endif
