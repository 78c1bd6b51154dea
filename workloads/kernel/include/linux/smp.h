/* Having other CPUs do something. */
#ifndef _LINUX_SMP_H
#define _LINUX_SMP_H

/* Runs fn(arg) on every CPU that is online, this one too, and waits until all have. */
void on_each_cpu(void (*fn)(void *), void *arg);

#endif
