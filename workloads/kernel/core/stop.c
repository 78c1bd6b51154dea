/*
 * Stopping the machine. Every CPU has a stopper task, more urgent than any other. While the machine is
 * to be stopped they all spin here and go through the same states; the last one to have entered a state
 * sets the next. Once all have interrupts off, one of them does the work.
 */
#include <linux/guest.h>
#include <asm/text.h>

enum stop_state {
	STOP_NONE,
	STOP_PREPARE,		/* all stoppers run, so that no other task does */
	STOP_DISABLE_IRQ,
	STOP_RUN,
	STOP_EXIT,
};

static struct {
	enum stop_state state;
	int unacked;		/* stoppers that have not entered the state */
	int stoppers;
	unsigned long active;	/* the CPU that does the work */
} stop;

static __stop void set_state(enum stop_state state)
{
	stop_state(state);
	WRITE_VOLATILE(stop.unacked, stop.stoppers);
	atomic_publish();	/* who sees the state counts down from here */
	WRITE_VOLATILE(stop.state, state);
}

/* Before the stoppers are woken. */
__stop __used void stop_begin(unsigned long active, unsigned long stoppers)
{
	stop.active = active;
	stop.stoppers = stoppers;
	set_state(STOP_PREPARE);
}

static __stop void acknowledge(enum stop_state state)
{
	if (atomic_dec_and_test(&stop.unacked) && state != STOP_EXIT)
		set_state(state + 1);
}

static __stop void enter_state(enum stop_state state, unsigned long cpu)
{
	if (state == STOP_DISABLE_IRQ)
		local_irq_disable();
	if (state == STOP_RUN && cpu == stop.active)
		stop_run();
	if (state == STOP_EXIT)
		text_poke_leave_stop();
	acknowledge(state);
}

static __stop void stop_cpu(unsigned long cpu)
{
	enum stop_state done = STOP_NONE;

	do {
		enum stop_state state;

		cpu_relax();
		state = READ_VOLATILE(stop.state);
		if (state != done) {
			done = state;
			atomic_observe();	/* what was stored before the state */
			enter_state(state, cpu);
		}
	} while (done != STOP_EXIT);
	local_irq_enable();
}

/* Body of the stopper tasks. */
__stop __used unsigned long stopper_thread(unsigned long cpu)
{
	for (;;) {
		stop_wait();
		stop_cpu(cpu);
	}
	return 0;
}
