/* Programs that are refused, each for another reason. Types of maps and numbers of helpers are those of linux/bpf.h. */

typedef unsigned int u32;
typedef unsigned long u64;

#define SEC(name) __attribute__((section(name), used))
#define EXTERN(name) __attribute__((section(name)))
#define UINT(name, value) int (*name)[value]

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*tail_call)(void *context, void *map, u32 index) = (void *)12;
static void *(*reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*submit)(void *record, u64 flags) = (void *)132;

/* An array of programs. */
struct {
	UINT(type, 3);
	UINT(key_size, 4);
	UINT(value_size, 4);
	UINT(max_entries, 1);
} programs SEC(".maps");

struct {
	UINT(type, 1);
	UINT(key_size, 8);
	UINT(value_size, 8);
} endless SEC(".maps");

struct {
	UINT(type, 27);
	UINT(max_entries, 8192);
} ring SEC(".maps");

struct {
	UINT(type, 2);
	UINT(key_size, 4);
	UINT(value_size, 8);
	UINT(max_entries, 1);
} sums SEC(".maps");

struct task_struct {
	int no_such_field;
} __attribute__((preserve_access_index));

extern int CONFIG_HZ EXTERN(".kconfig");
extern void jiffies EXTERN(".ksyms");
extern void kernel_function(void) EXTERN(".ksyms");

/* A packet's program. */
SEC("xdp")
int packet(void *context)
{
	return 2;
}

SEC("kprobe")
int nowhere(void *context)
{
	return 0;
}

SEC("kprobe.multi/vfs_*")
int pattern(void *context)
{
	return 0;
}

SEC("kretprobe/vfs_write+0x10")
int inside(void *context)
{
	return 0;
}

SEC("kprobe/no_such_function")
int lacking(void *context)
{
	return 0;
}

SEC("fentry/no_such_function")
int untyped(void *context)
{
	return 0;
}

SEC("raw_tp/no_such_event")
int unheard(void *context)
{
	return 0;
}

/* What is looked up may not be there. */
SEC("kprobe/vfs_write")
int careless(void *context)
{
	u32 first = 0;
	u64 *sum = lookup(&sums, &first);

	*sum += 1;
	return 0;
}

SEC("tp_btf/sched_switch")
int field(u64 *arguments)
{
	return ((struct task_struct *)arguments[1])->no_such_field > 0;
}

/* A ring buffer that is soon full. */
SEC("raw_tp/sys_enter")
int fills(void *context)
{
	void *r = reserve(&ring, 1000, 0);

	if (r)
		submit(r, 0);
	return 0;
}

SEC("kprobe/vfs_write")
int tails(void *context)
{
	tail_call(context, &programs, 0);
	return 0;
}

SEC("kprobe/vfs_write")
int unsized(void *context)
{
	return lookup(&endless, &context) != 0;
}

SEC("kprobe/vfs_write")
int option(void *context)
{
	return CONFIG_HZ > 100;
}

SEC("kprobe/vfs_write")
int symbol(void *context)
{
	return (u64)&jiffies > 1000;
}

SEC("kprobe/vfs_write")
int foreign(void *context)
{
	kernel_function();
	return 0;
}

SEC("?kprobe/vfs_write")
int optional(void *context)
{
	return 0;
}

char terms[] SEC("license") = "GPL";
