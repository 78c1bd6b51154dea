/*
 * The first program of user mode that takes orders. It calls a marker, at which somebody who watches the processor may
 * put orders into memory. It carries them out, leaves an answer to each, and calls the marker again. Without orders it
 * switches the machine off, as it does where nobody watches.
 *
 * With ATTACH it also makes system calls as it is told, by which something is attached to the kernel, and with WORK besides it
 * runs commands. The program without that stays as it is: where its code and data lie is part of what is measured.
 */

#include "calls.h"

#define O_RDONLY 0
#define O_WRONLY 1
#define O_APPEND 02000

#define ENOSPC 28
#define EINVAL 22

#define PR_SET_NAME 15

enum { ORDERS = 4 << 20, ANSWERS = 256 << 10, PAGE = 4096, EVENTS = 4 };

/* Kinds of orders. What follows an order is below, in the functions that carry it out. */
enum { NOTHING, WRITE_FILE, SHOW_FILE, INSERT_MODULE, OPEN_EVENT, READ_EVENTS, SLEEP, RUN, PIN, KEEP_BUSY, SYSTEM_CALL, COMMAND };

/* An order or an answer: size bytes follow, and the next one begins at a multiple of 8. */
struct order {
	unsigned int kind, size;
	char data[];
};

struct answer {
	int result; /* or a negative error number */
	unsigned int size;
	char data[];
};

/* Who gives the orders finds these by their names. */
char orders[ORDERS] __attribute__((aligned(PAGE)));
char answers[ANSWERS] __attribute__((aligned(PAGE)));
volatile long watched_word;

#ifdef ATTACH
/* How many listen to static_probe. Kernels want it in the file of the program, so it is not zeroed memory. */
volatile unsigned short listeners __attribute__((section(".probes"))) = 0;
#endif

/* A marker is an instruction that nothing else executes. It costs what an empty call costs. */
#ifdef __arm__
#define RETURN "bx lr"
#else
#define RETURN "ret"
#endif
#define MARKER(name) \
	void name(void); \
	__asm__(".globl " #name "\n\t.type " #name ", %function\n" #name ":\n\t" RETURN "\n\t.size " #name ", .-" #name)

__asm__(".text\n\t.balign 64");
MARKER(mark_orders);
MARKER(mark_warm);
MARKER(mark_begin);
MARKER(mark_end);

/* A function for probes of user mode. Kernels emulate its first instruction, and step the second one. */
long user_function(long n);
#ifdef __x86_64__
__asm__(".balign 16\n\t.globl user_function\n\t.type user_function, @function\nuser_function:\n\t"
	"push %rbp\n\tmov %rsp, %rbp\n\tlea 1(%rdi), %rax\n\tpop %rbp\n\tret\n\t.size user_function, .-user_function");
#elif defined __arm__
__asm__(".balign 16\n\t.globl user_function\n\t.type user_function, %function\nuser_function:\n\t"
	"push {r11, lr}\n\tadd r11, sp, #4\n\tadd r0, r0, #1\n\tpop {r11, pc}\n\t.size user_function, .-user_function");
#else
__asm__(".balign 16\n\t.globl user_function\n\t.type user_function, @function\nuser_function:\n\t"
	"push %ebp\n\tmov %esp, %ebp\n\tmov 8(%ebp), %eax\n\tinc %eax\n\tpop %ebp\n\tret\n\t"
	".size user_function, .-user_function");
#endif

#ifdef __x86_64__
/*
 * Nops that kernels replace by a call where a probe of user mode stands: one of 5 bytes, and one of 10. They and their loops lie behind
 * everything else, in a section that is not used otherwise, so that the rest stays where it was.
 */
#define LATE __attribute__((section(".exception_ranges,\"ax\"#")))
#define LATE_FUNCTION(name, code) \
	__asm__(".section .exception_ranges,\"ax\"\n\t.balign 16\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n\t" code \
		"\n\tret\n\t.size " #name ", .-" #name "\n\t.text")
#define NOP5 ".byte 0x0f, 0x1f, 0x44, 0, 0"
#define NOP10 ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"

long user_nop5(long n);
LATE_FUNCTION(user_nop5, NOP5 "\n\tlea 1(%rdi), %rax");
static LATE void loop_nop5(unsigned int n)
{
	while (n--)
		user_nop5(n);
}

long user_nop10(long n);
LATE_FUNCTION(user_nop10, NOP10 "\n\tlea 1(%rdi), %rax");
static LATE void loop_nop10(unsigned int n)
{
	while (n--)
		user_nop10(n);
}

#ifdef ATTACH
void static_nop10(void);
LATE_FUNCTION(static_nop10, NOP10);
static LATE void loop_listened_nop10(unsigned int n)
{
	while (n--)
		if (listeners)
			static_nop10();
}
#endif
#endif

static int file; /* for the loops that read */
static int events[EVENTS];
static unsigned int event_count;

static void loop_getppid(unsigned int n)
{
	while (n--)
		call(GETPPID, 0, 0, 0);
}

static void loop_open(unsigned int n)
{
	while (n--)
		call(CLOSE, call(OPEN, (long)"/init", O_RDONLY, 0), 0, 0);
}

static void loop_read(unsigned int n)
{
	char byte;

	while (n--)
		call5(PREAD, file, (long)&byte, 1, 0, 0);
}

static void loop_function(unsigned int n)
{
	while (n--)
		user_function(n);
}

static void loop_store(unsigned int n)
{
	while (n--)
		watched_word = n;
}

static void loop_empty(unsigned int n)
{
	while (n--)
		__asm__ volatile("");
}

#ifdef ATTACH
/* A static probe as tracers of programs know it: a nop, on the way only where somebody listens. */
__attribute__((naked, noinline)) void static_probe(void)
{
	__asm__("nop\n\t" RETURN);
}

static void loop_rename(unsigned int n)
{
	while (n--)
		call(PRCTL, PR_SET_NAME, (long)"measure", 0);
}

static void loop_listened(unsigned int n)
{
	while (n--)
		if (listeners)
			static_probe();
}
#endif

static void (*const loops[])(unsigned int n) = {
	loop_getppid, loop_open, loop_read, loop_function, loop_store, loop_empty,
#ifdef ATTACH
	loop_rename, loop_listened,
#elif defined __x86_64__
	loop_empty, loop_empty, /* of nobody */
#endif
#ifdef __x86_64__
	loop_nop5, loop_nop10,
#ifdef ATTACH
	loop_listened_nop10,
#endif
#endif
};

/* The number of a loop, and how often it runs before the region of interest and in it. */
struct run {
	unsigned int loop, warm, calls;
};

static long run(const struct run *how)
{
	void (*loop)(unsigned int n);

	if (how->loop >= sizeof(loops) / sizeof(loops[0]))
		return -EINVAL;
	loop = loops[how->loop];
	mark_warm();
	loop(how->warm);
	mark_begin();
	loop(how->calls);
	mark_end();
	return 0;
}

/* A path and a text, each with a zero behind it. */
static long write_file(const char *path)
{
	const char *text = path + length(path) + 1;
	long fd = call(OPEN, (long)path, O_WRONLY | O_APPEND, 0), result;

	if (fd < 0)
		return fd;
	result = call(WRITE, fd, (long)text, length(text));
	call(CLOSE, fd, 0, 0);
	return result < 0 ? result : 0;
}

/* A path. What the file has is the answer. */
static long show_file(const char *path, struct answer *to, unsigned int room)
{
	long fd = call(OPEN, (long)path, O_RDONLY, 0), more;

	if (fd < 0)
		return fd;
	while ((more = call(READ, fd, (long)(to->data + to->size), room - to->size)) > 0)
		to->size += more;
	call(CLOSE, fd, 0, 0);
	return to->size == room ? -ENOSPC : more;
}

/* Parameters of a module with a zero behind them, and its file from the next multiple of 8 on. */
static long insert_module(char *parameters, unsigned int size)
{
	unsigned int skip = (length(parameters) + 8) & ~7UL;

	return call(INIT_MODULE, (long)(parameters + skip), size - skip, (long)parameters);
}

/* Attributes as of perf_event_open(2), for this program on every processor. */
static long open_event(const char *attributes)
{
	long fd = call5(PERF_EVENT_OPEN, (long)attributes, 0, -1, -1, 0);

	if (fd < 0)
		return fd;
	if (event_count == EVENTS)
		return -ENOSPC;
	events[event_count++] = fd;
	return 0;
}

/* The counts of these events are the answer. */
static long read_events(struct answer *to)
{
	for (unsigned int i = 0; i < event_count; i++, to->size += 8)
		if (call(READ, events[i], (long)(to->data + to->size), 8) != 8)
			return -EINVAL;
	return 0;
}

/* Milliseconds. */
static long sleep(const unsigned int *milliseconds)
{
	struct {
		long seconds, nanoseconds;
	} wait = { *milliseconds / 1000, *milliseconds % 1000 * 1000000L };

	return call(NANOSLEEP, (long)&wait, 0, 0);
}

/* The number of a processor, on which the program then stays. */
static long pin(unsigned int cpu)
{
	unsigned long set = 1UL << cpu;

	return call(SCHED_SETAFFINITY, 0, sizeof(set), (long)&set);
}

/* The number of a loop, and of a processor that runs it for ever from now on, in a process of its own. */
struct busy {
	unsigned int loop, cpu;
};

static long keep_busy(const struct busy *how)
{
	struct busy copy = *how; /* the process shares the orders, which change */
	long child;

	if (copy.loop >= sizeof(loops) / sizeof(loops[0]))
		return -EINVAL;
	child = call(FORK, 0, 0, 0);
	if (child)
		return child < 0 ? child : 0;
	pin(copy.cpu);
	for (;;)
		loops[copy.loop](1);
}

#ifdef ATTACH
/* A system call: its number and six arguments. What it returns is the answer, also an error. */
static long system_call(const long *order, struct answer *to)
{
	*(long *)to->data = call6(order[0], order[1], order[2], order[3], order[4], order[5], order[6]);
	to->size = sizeof(long);
	return 0;
}
#endif

#ifdef WORK
#include "command.h"
#endif

static long carry_out(struct order *o, struct answer *to, unsigned int room)
{
	switch (o->kind) {
	case WRITE_FILE:
		return write_file(o->data);
	case SHOW_FILE:
		return show_file(o->data, to, room);
	case INSERT_MODULE:
		return insert_module(o->data, o->size);
	case OPEN_EVENT:
		return open_event(o->data);
	case READ_EVENTS:
		return read_events(to);
	case SLEEP:
		return sleep((const unsigned int *)o->data);
	case RUN:
		return run((const struct run *)o->data);
	case PIN:
		return pin(*(const unsigned int *)o->data);
	case KEEP_BUSY:
		return keep_busy((const struct busy *)o->data);
#ifdef ATTACH
	case SYSTEM_CALL:
		return system_call((const long *)o->data, to);
#endif
#ifdef WORK
	case COMMAND:
		return run_command((struct command *)o->data, to);
#endif
	}
	return -EINVAL;
}

/* Carries the orders out up to the first that fails. */
static void obey(void)
{
	char *from = orders, *to = answers;

	for (;;) {
		struct order *o = (struct order *)from;
		struct answer *a = (struct answer *)to;

		if (o->kind == NOTHING)
			return;
		a->size = 0;
		a->result = carry_out(o, a, answers + sizeof(answers) - a->data);
		if (a->result < 0)
			return;
		from = o->data + ((o->size + 7) & ~7U);
		to = a->data + ((a->size + 7) & ~7U);
	}
}

static void mount(const char *type, const char *where)
{
	call(MKDIR, (long)where, 0755, 0);
	call5(MOUNT, (long)type, (long)where, (long)type, 0, 0);
}

/* Has the kernel give memory to all pages, so that others can write there. */
static void touch(char *from, unsigned long size)
{
	for (unsigned long at = 0; at < size; at += PAGE)
		((volatile char *)from)[at] = 0;
}

void _start(void)
{
	mount("proc", "/proc");
	mount("sysfs", "/sys");
	mount("tracefs", "/trace");
	mount("debugfs", "/debug");
#ifdef WORK
	mount("devtmpfs", "/dev");
	call(MKDIR, (long)"/tmp", 0777, 0);
	give_randomness();
#endif
	file = call(OPEN, (long)"/init", O_RDONLY, 0);
	touch(orders, sizeof(orders));
	touch(answers, sizeof(answers));
	for (;;) {
		mark_orders();
		if (((struct order *)orders)->kind == NOTHING)
			break;
		obey();
	}
	say("measure: no orders\n");
	power_off();
}
