/* Programs in sections of their own: in programs of user mode, by samples, by tail calls, and with maps in maps. Numbers of helpers
   and types of maps are those of linux/bpf.h. */

typedef unsigned int u32;
typedef unsigned long u64;

#define SEC(name) __attribute__((section(name), used))
#define UINT(name, value) int (*name)[value]
#define VALUES(type) __typeof__(type) *values[]

enum { HASH = 1, ARRAY = 2, PROG_ARRAY = 3, ARRAY_OF_MAPS = 12, HASH_OF_MAPS = 13, RINGBUF = 27 };

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*tail_call)(void *context, void *map, u32 index) = (void *)12;
static long (*read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static u64 (*cookie)(void *context) = (void *)174;
static void *(*reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*submit)(void *record, u64 flags) = (void *)132;

/* One that is full behind four records, which shows that a program was run. */
struct {
	UINT(type, RINGBUF);
	UINT(max_entries, 8192);
} ring SEC(".maps");

static void shows(void)
{
	void *r = reserve(&ring, 2000, 0);

	if (r)
		submit(r, 0);
}

SEC("uprobe//init:user_function")
int entered(void *context)
{
	return 0;
}

SEC("uprobe//init:user_function+0x4")
int inside(void *context)
{
	return 0;
}

SEC("uretprobe//init:user_function")
int returned(void *context)
{
	return 0;
}

SEC("uprobe")
int anywhere(void *context)
{
	return 0;
}

SEC("uprobe.s/libc.so.6:puts")
int prints(void *context)
{
	return 0;
}

SEC("uprobe.multi//init:user_function")
int several(void *context)
{
	return 0;
}

SEC("uretprobe/user_function")
int fileless(void *context)
{
	return 0;
}

SEC("uprobe//init:no_such_function")
int lacking(void *context)
{
	return 0;
}

SEC("uprobe/no_such_file:main")
int lost(void *context)
{
	return 0;
}

SEC("uretprobe//init:user_function+1")
int between(void *context)
{
	return 0;
}

SEC("perf_event")
int samples(void *context)
{
	return 0;
}

/* Tail calls. The second program goes nowhere by itself. */
int last(void *context);

struct {
	UINT(type, PROG_ARRAY);
	UINT(key_size, 4);
	UINT(max_entries, 3);
	VALUES(int(void *));
} next SEC(".maps") = { .values = { [1] = &last } };

SEC("kprobe/vfs_write")
int first(void *context)
{
	tail_call(context, &next, 1);
	return 0;
}

SEC("kprobe")
int last(void *context)
{
	shows();
	return 0;
}

SEC("kprobe/vfs_write")
int ends(void *context)
{
	tail_call(context, &next, 2);
	return 0;
}

/* Maps in maps. */
struct inner {
	UINT(type, ARRAY);
	UINT(max_entries, 1);
	u32 *key;
	u64 *value;
} one SEC(".maps");

struct {
	UINT(type, ARRAY_OF_MAPS);
	UINT(max_entries, 4);
	UINT(key_size, 4);
	VALUES(struct inner);
} arrays SEC(".maps") = { .values = { [2] = &one } };

struct {
	UINT(type, HASH_OF_MAPS);
	UINT(max_entries, 4);
	UINT(key_size, 4);
	VALUES(struct inner);
} hashes SEC(".maps") = { .values = { [3] = &one } };

static void looks(void *outer, u32 at)
{
	u32 zero = 0;
	void *inner = lookup(outer, &at);
	u64 *value = 0;

	if (inner)
		value = lookup(inner, &zero);
	if (value)
		shows();
}

SEC("kprobe/vfs_write")
int array(void *context)
{
	looks(&arrays, 2);
	return 0;
}

SEC("kprobe/vfs_write")
int hash(void *context)
{
	looks(&hashes, 3);
	return 0;
}

/* Arguments of static probes, described as libbpf does it (bpf/usdt.bpf.h). */
struct argument {
	u64 number;
	u32 kind;
	short at;
	signed char is_signed, shift;
};

struct description {
	struct argument arguments[12];
	u64 cookie;
	short count;
};

struct {
	UINT(type, ARRAY);
	UINT(max_entries, 4);
	u32 *key;
	struct description *value;
} __bpf_usdt_specs SEC(".maps") __attribute__((weak));

/* Hidden, as functions of libbpf are: if it were not, the verifier would not know what it is called with. */
__attribute__((weak, noinline, visibility("hidden"))) long value_of(void *context, struct argument *a)
{
	u64 v = a->number;

	if (a->kind)
		read_kernel(&v, sizeof(v), context + a->at);
	if (a->kind == 2)
		read_user(&v, sizeof(v), (void *)(v + a->number));
	v <<= a->shift & 63;
	return a->is_signed ? (long)v >> (a->shift & 63) : v >> (a->shift & 63);
}

/* A probe with four arguments: a constant, a register, memory, and a part of a register. They are the same at each of its places. */
SEC("usdt//program:kprobesim:step")
int steps(void *context)
{
	u32 number = cookie(context);
	struct description *d = lookup(&__bpf_usdt_specs, &number);

	if (d && d->count == 4 && value_of(context, &d->arguments[0]) == -7 && value_of(context, &d->arguments[1]) == 1234567890123 &&
	    value_of(context, &d->arguments[2]) == -2 && value_of(context, &d->arguments[3]) == 200)
		shows();
	return 0;
}

SEC("usdt")
int silent(void *context)
{
	return 0;
}

SEC("usdt//program:step")
int nameless(void *context)
{
	return 0;
}

char terms[] SEC("license") = "GPL";
