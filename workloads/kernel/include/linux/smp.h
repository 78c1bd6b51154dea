/* More than one CPU: starting them, interrupting them, and having all do something. */
#ifndef _LINUX_SMP_H
#define _LINUX_SMP_H

/* CPUs that run; they are those with the numbers below. */
extern unsigned int cpus_online;

/* What every CPU can be asked to do. */
typedef void cpu_work(void *arg);

/* Has every CPU that is online do some work, this one too, and waits until all have. The work is done
   with interrupts off; with several CPUs they must be on before. */
void on_each_cpu(cpu_work *work, void *arg);

/* The part of the processor. */
void smp_boot_cpu(unsigned long cpu);
void smp_send_kicks(void);
void smp_send_call_function(void);
/* What the interrupt of smp_send_call_function calls. */
void smp_answer_call(void);

#endif
