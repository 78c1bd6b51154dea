/*
 * A module in the manner of 2005: it looks the address of its probe up by itself, and registers have their names of
 * that time. It remembers the registers of the last hit, and tells of them when it goes.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#if defined(__i386__)
#define REGISTERS(of) (of)->eip, (of)->eax, (of)->eflags
#elif defined(__x86_64__)
#define REGISTERS(of) (of)->rip, (of)->rax, (of)->eflags
#elif defined(__powerpc64__)
#define REGISTERS(of) (of)->nip, (of)->gpr[3], (of)->msr
#else
#define REGISTERS(of) instruction_pointer(of), 0, 0
#endif

/* Where a pointer to a function leads to a descriptor, its code has a name with a dot. */
static const char *const names[] = { ".do_fork", "do_fork" };

static unsigned long last[3], calls, ends, faults;
static char who[TASK_COMM_LEN];

static int remember(struct kprobe *at, struct pt_regs *of)
{
	const unsigned long now[] = { REGISTERS(of) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(last); i++)
		last[i] = now[i];
	if (calls++ == 0 && at->addr)
		dump_stack();
	strncpy(who, current->comm, sizeof(who) - 1);
	return 0;
}

static void finish(struct kprobe *at, struct pt_regs *of, unsigned long state)
{
	ends += at && of && !state;
}

static int stumble(struct kprobe *at, struct pt_regs *of, int number)
{
	faults += at && of && number;
	return 0;
}

static struct kprobe spy = {
	.pre_handler = remember, .post_handler = finish, .fault_handler = stumble,
};

static int begin(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names) && !spy.addr; i++)
		spy.addr = (kprobe_opcode_t *)kallsyms_lookup_name(names[i]);
	return spy.addr ? register_kprobe(&spy) : -1;
}

static void end(void)
{
	unregister_kprobe(&spy);
	printk("old: %lu calls, %lu ends, %lu faults; the last by %s with %lx, %lx, %lx\n", calls, ends, faults, who,
	       last[0], last[1], last[2]);
}

module_init(begin)
module_exit(end)
MODULE_LICENSE("GPL");
