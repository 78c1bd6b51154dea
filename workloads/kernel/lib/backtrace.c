/*
 * The way by which execution came to a place. Where code keeps frame pointers, or a chain of frames, they are
 * followed: the word at a frame's address is the frame before. Where it does not, every word of the stack that could
 * be a return address is named, as kernels without frame pointers did. A function with a return probe returns to the trampoline, and that is what is shown.
 */
#include "library.h"
#include <linux/kallsyms.h>

#define FRAMES_MOST 32

/* One line for an address of code; what is none is passed over. */
static int show(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];

	if (!address || !sim_symbol(name, address, SYMBOL_CODE))
		return 0;
	printk(KERN_DEFAULT " [<%p>] %s\n", (void *)address, name);
	return 1;
}

#if FRAME_LINK
static int on_stack(unsigned long at, unsigned long bottom)
{
	return at >= bottom && at < bottom + THREAD_SIZE - sizeof(long) && at % sizeof(long) == 0;
}

/* An exception may have its own stack; the frames behind it are those of the task. */
static noinline void walk(unsigned long start)
{
	unsigned long *frame = (unsigned long *)start;
	unsigned long here = start & -(unsigned long)THREAD_SIZE, task = (unsigned long)current->stack;

	for (int i = 0; i < FRAMES_MOST; i++) {
		unsigned long next = (unsigned long)frame;

		if (!on_stack(next, here) && !on_stack(next, task))
			return;
		show(frame[FRAME_LINK]);
		frame = (unsigned long *)frame[0];
	}
}
#else
static noinline void walk(unsigned long start)
{
	unsigned long end = (start & -(unsigned long)THREAD_SIZE) + THREAD_SIZE;
	int shown = 0;

	for (unsigned long at = start; at < end && shown < FRAMES_MOST; at += sizeof(long))
		shown += show(*(unsigned long *)at);
}
#endif

noinline void dump_stack(void)
{
	printk(KERN_DEFAULT "Pid: %d, comm: %s\n", current->pid, current->comm);
	printk(KERN_DEFAULT "Call Trace:\n");
	walk((unsigned long)__builtin_frame_address(0));
}

EXPORT_SYMBOL(dump_stack);
