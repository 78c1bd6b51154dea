/*
 * Programs of BPF that look at writes, as an example of an object file that is attached to a packaged kernel. Each program goes to
 * the place that its section names. Numbers of helpers and types of maps are those of linux/bpf.h.
 */

typedef unsigned int u32;
typedef unsigned long u64;

#define SEC(name) __attribute__((section(name), used))
#define UINT(name, value) int (*name)[value]
#define RELOCATED __attribute__((preserve_access_index))

/* Types of maps. */
enum { HASH = 1, ARRAY = 2, PERF_EVENT_ARRAY = 4, PERCPU_ARRAY = 6, RINGBUF = 27 };

/* Of a perf event array: the buffer of this processor. */
#define CURRENT 0xffffffff

/* Helpers of the kernel. */
static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*delete)(void *map, const void *key) = (void *)3;
static u64 (*nanoseconds)(void) = (void *)5;
static long (*output)(void *context, void *map, u64 flags, const void *data, u64 size) = (void *)25;
static u64 (*pid_and_thread)(void) = (void *)14;
static u64 (*current)(void) = (void *)35;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*submit)(void *record, u64 flags) = (void *)132;

/* What is read of the kernel's types. Offsets are the kernel's own (CO-RE). */
struct task_struct {
	int tgid;
	struct task_struct *real_parent;
} RELOCATED;

struct pt_regs {
	long dx; /* the third argument of a function */
} RELOCATED;

extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));

/* Data of all kinds of sections. */
const volatile u64 largest = 4096;
u64 smallest = 1;
u64 writes, large;

struct {
	UINT(type, PERCPU_ARRAY);
	UINT(key_size, 4);
	UINT(value_size, 8);
	UINT(max_entries, 1);
} bytes SEC(".maps");

struct {
	UINT(type, HASH);
	u64 *key;
	u64 *value;
	UINT(max_entries, 1024);
} begun SEC(".maps");

struct {
	UINT(type, ARRAY);
	u32 *key;
	u64 *value;
	UINT(max_entries, 64);
} latencies SEC(".maps");

struct {
	UINT(type, RINGBUF);
	UINT(max_entries, 1 << 18);
} records SEC(".maps");

struct {
	UINT(type, PERF_EVENT_ARRAY);
	UINT(key_size, 4);
	UINT(value_size, 4);
} buffers SEC(".maps");

struct record {
	u64 when;
	u32 process, parent;
};

/* Adds a size up, and notes whether it is beyond the usual. */
static __attribute__((noinline)) void add(u64 size)
{
	u32 first = 0;
	u64 *sum = lookup(&bytes, &first);

	if (sum)
		*sum += size;
	__sync_fetch_and_add(&writes, 1);
	if (size < smallest || size > largest)
		__sync_fetch_and_add(&large, 1);
}

/* vfs_write(file, buffer, size, position) by a trampoline, which hands the arguments over. */
SEC("fentry/vfs_write")
int sizes(u64 *arguments)
{
	add(arguments[2]);
	return 0;
}

/* The same by a probe, which hands the registers over. */
SEC("kprobe/vfs_write")
int registers(struct pt_regs *at)
{
	add(at->dx);
	return 0;
}

/* The time of each write goes to one of 64 classes, each of which has times twice as long. */
SEC("fentry/vfs_write")
int begins(u64 *arguments)
{
	u64 who = pid_and_thread(), now = nanoseconds();

	update(&begun, &who, &now, 0);
	return 0;
}

SEC("fexit/vfs_write")
int ends(u64 *arguments)
{
	u64 who = pid_and_thread(), took, *since = lookup(&begun, &who), *sum;
	u32 class = 0;

	if (!since)
		return 0;
	took = nanoseconds() - *since;
	delete(&begun, &who);
	for (; took > 1 && class < 63; took >>= 1)
		class++;
	sum = lookup(&latencies, &class);
	if (sum)
		__sync_fetch_and_add(sum, 1);
	return 0;
}

/* A record of each write to the buffer of a processor, which tells the kernel's version too. */
SEC("fexit/vfs_write")
int reports(u64 *arguments)
{
	u64 now[] = { nanoseconds(), LINUX_KERNEL_VERSION };

	output(arguments, &buffers, CURRENT, now, sizeof(now));
	return 0;
}

SEC("kretprobe/vfs_write")
int returns(struct pt_regs *at)
{
	__sync_fetch_and_add(&writes, 1);
	return 0;
}

/* A record of each system call that writes: when it begins, and who asks for it. */
SEC("tp/syscalls/sys_enter_write")
int calls(void *event)
{
	struct task_struct *task = (void *)current(), *parent;
	struct record *r = reserve(&records, sizeof(*r), 0);

	if (!r)
		return 0;
	r->when = nanoseconds();
	read_kernel(&r->process, sizeof(r->process), &task->tgid);
	read_kernel(&parent, sizeof(parent), &task->real_parent);
	read_kernel(&r->parent, sizeof(r->parent), &parent->tgid);
	submit(r, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int any(u64 *arguments)
{
	__sync_fetch_and_add(&writes, 1);
	return 0;
}

/* sched_switch(preempt, before, next): the types of arguments are known, so fields are read without a helper. */
SEC("tp_btf/sched_switch")
int switches(u64 *arguments)
{
	struct task_struct *before = (void *)arguments[1];

	if (before->tgid)
		__sync_fetch_and_add(&writes, 1);
	return 0;
}

char terms[] SEC("license") = "GPL";
