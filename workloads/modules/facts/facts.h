/* What the facts are told with, and the functions and handlers that they are about. */

#include <linux/version.h>
#include <linux/string.h>
#include <linux/ptrace.h>
#include <linux/kernel.h>
#include <linux/errno.h>

#define FACT(name, value) pr_info("fact " name " %ld\n", (long)(value))
#define TEXT_FACT(name, text) pr_info("fact " name " %s\n", (text)[0] ? (text) : "none")
#define ABSENT(name) pr_info("fact " name " absent\n")

/* What came with which release. */
#define SINCE(a, b, c) (LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, c))
#define HAS_ARRAYS SINCE(2, 6, 26)
#define HAS_SWITCHES SINCE(2, 6, 30)
#define HAS_ENTRY_HANDLERS SINCE(2, 6, 25)
#define HAS_JPROBES (!SINCE(4, 15, 0))

/* A function of its own, which nobody changes, copies or leaves out. The first kind has nothing in front of its code, the
   second one whatever the function tracer wants. */
#define PLAIN static __attribute__((noipa)) notrace
#define TRACED static __attribute__((noipa))

/* Simple instructions, with room for a jump. */
#define ROOM asm volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop")

PLAIN long fact_plain(long n)
{
	ROOM;
	return n + 1;
}

PLAIN long fact_other(long n)
{
	ROOM;
	return n + 100;
}

TRACED long fact_traced(long n)
{
	ROOM;
	return n + 1;
}

PLAIN long fact_deep(long n)
{
	long rest = n > 1 ? fact_deep(n - 1) : 0;

	barrier();
	return rest + 1;
}

static void *middle;

PLAIN void fact_where(void)
{
	middle = __builtin_return_address(0);
}

/* Once it was called, middle is the address of an instruction in it. */
PLAIN long fact_middle(long n)
{
	fact_where();
	barrier();
	return n + 2;
}

PLAIN long fact_quiet(long n)
{
	return n + 3;
}
NOKPROBE_SYMBOL(fact_quiet);

/* Where the code of a function is. */
static kprobe_opcode_t *start_of(long (*function)(long))
{
#ifdef __powerpc64__
	return *(kprobe_opcode_t **)function;
#else
	return (kprobe_opcode_t *)function;
#endif
}

static int first_byte(const void *code)
{
	return *(const volatile unsigned char *)code;
}

/* What the handlers have seen since forget(). */
static unsigned int hits, posts, calls, entries;
static char events[64];
static unsigned int event_count;

static void forget(void)
{
	hits = posts = calls = entries = event_count = 0;
	memset(events, 0, sizeof(events));
}

static void event(char letter)
{
	if (event_count < sizeof(events) - 1)
		events[event_count++] = letter;
}

/* Probes of a group are told apart by their places in it. */
static struct kprobe group[4];

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	event(p >= group && p < group + ARRAY_SIZE(group) ? 'a' + (p - group) : 'h');
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	posts++;
	event(p >= group && p < group + ARRAY_SIZE(group) ? 'A' + (p - group) : 'P');
}

static struct kprobe *named(struct kprobe *p, const char *symbol)
{
	memset(p, 0, sizeof(*p));
	p->symbol_name = symbol;
	p->pre_handler = count_hit;
	return p;
}

static struct kprobe *located(struct kprobe *p, void *addr)
{
	named(p, NULL);
	p->addr = addr;
	return p;
}

static struct kprobe probe;

/* Registers a probe and takes it away again. */
static int try_probe(struct kprobe *p)
{
	int err = register_kprobe(p);

	if (!err)
		unregister_kprobe(p);
	return err;
}

static struct kretprobe return_probe;

static int count_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	calls++;
	event('R');
	return 0;
}

static struct kretprobe *returning(struct kretprobe *rp, const char *symbol)
{
	memset(rp, 0, sizeof(*rp));
	rp->kp.symbol_name = symbol;
	rp->handler = count_return;
	return rp;
}

static int try_return(struct kretprobe *rp)
{
	int err = register_kretprobe(rp);

	if (!err)
		unregister_kretprobe(rp);
	return err;
}
