/* Threads of a module: they are left out. */
#ifndef _MODULE_LINUX_KTHREAD_H
#define _MODULE_LINUX_KTHREAD_H

#include <linux/left_out.h>
#include <linux/sched.h>

struct task_struct *kthread_create(int (*f)(void *), void *data, const char *name, ...) NO_THREADS;
struct task_struct *kthread_run(int (*f)(void *), void *data, const char *name, ...) NO_THREADS;
void kthread_bind(struct task_struct *task, unsigned int cpu) NO_THREADS;
int kthread_stop(struct task_struct *task) NO_THREADS;
bool kthread_should_stop(void) NO_THREADS;
int wake_up_process(struct task_struct *task) NO_THREADS;

#endif
