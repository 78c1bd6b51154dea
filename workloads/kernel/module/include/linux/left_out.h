/* Functions that are left out: a module may include their headers, and the compiler stops where it calls one. */
#ifndef _MODULE_LINUX_LEFT_OUT_H
#define _MODULE_LINUX_LEFT_OUT_H

/* Work of a module outside of its handlers. */
#define NO_THREADS __attribute__((error(						\
	"modules have no threads and work queues of their own here: do the work in the handler, or in the exit function")))

#endif
