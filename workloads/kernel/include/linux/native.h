/*
 * Native slots: entry points of the section .native (core/natives.S). A CPU that fetches from such a
 * slot leaves guest execution; the simulator's function of the same name runs with the arguments of the
 * calling convention and returns to the caller. What each has to do: see the comment beside it.
 */
#ifndef _LINUX_NATIVE_H
#define _LINUX_NATIVE_H

struct task_struct;

/* Called once, by the boot task of CPU 0 after initialization. Drives the whole run by invoking
   guest functions; the machine stops when it returns. */
void sim_main(void);
/* Called by the boot task of every further CPU after its initialization, then that CPU idles.
   Returns the bus clocks between two ticks that the CPU is to start, or 0. */
unsigned long sim_cpu_online(unsigned long cpu);
/* Begins (on=1) or ends (on=0) the region of interest, at no cost in simulated time. */
void sim_roi(long on);
/* Ends the run as failed with this message. Never returns. */
void sim_panic(const char *msg) __attribute__((noreturn));
/* Appends a formatted text to the guest's log and returns the number of characters; args are words,
   the format knows %d %u %x %lx %lu %ld %p %s %c. */
int sim_printk(const char *fmt, const unsigned long *args);
/* Frees memory that the simulator allocated for the guest (kretprobe instances). */
void kfree(const void *p);

/* Which task runs next on this CPU; interrupts are off, irqs_off says whether they were when
   schedule() was called. Returns prev to go on with it, never 0: with nothing to run it returns this
   CPU's idle task (per-CPU idle_task). */
struct task_struct *sched_pick(struct task_struct *prev, unsigned long irqs_off);
/* One timer interrupt has arrived, out of user mode or not; interrupts are off. Sets
   TIF_NEED_RESCHED in the thread_info.flags of the current task when another one is to run. */
void sched_tick(unsigned long user);
/* A CPU that is to be interrupted so that it reschedules, negative for no more; interrupts are off. */
long sched_kick(void);
/* Bus clocks until this CPU's timer is to interrupt, or 0; interrupts are off. */
unsigned long sched_timer_count(void);
/* Sleeps for some jiffies. */
void schedule_timeout(unsigned long jiffies);
/* A grace period waits for this CPU (per-CPU rcu_wanted), which is idle now. */
void rcu_quiescent(void);
/* A grace period waits for the task (its rcu_tasks_holdout), which would schedule if asked to. */
void rcu_tasks_quiescent(void);
/* Sleeps until this CPU's stopper task is to take part in stopping the machine. */
void stop_wait(void);
/* All stoppers are to enter a state of core/stop.c: tells timelines and traces, and does nothing else. */
void stop_state(unsigned long state);
/* Does the work for which the machine has been stopped. */
void stop_run(void);
/* Resumes the coroutine of native kernel thread id. 0: call again; 1: sleep (the thread calls
   schedule()); 2: the thread is finished. */
unsigned long native_thread(unsigned long id);
/* A step of a patch of text is done on this CPU (asm/text.h), at no cost in simulated time. */
void text_poke_note(unsigned long patch, unsigned long step, const void *addr);
/* The return address of functions that the simulator invokes. No code ever calls it. */
void native_return(void);

#endif
