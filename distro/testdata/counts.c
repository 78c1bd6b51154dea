/* An /init for ARM that loads a program of BPF with an atomic addition, and one without, and counts system calls by the latter. */

#include "calls.h"

typedef unsigned long long u64;
typedef unsigned int u32;

enum { BPF = 386, MAP_CREATE = 0, LOOKUP = 1, LOAD = 5, LINK = 28 }; /* arch/arm/tools/syscall.tbl, enum bpf_cmd */

/* Instructions as of linux/bpf.h: code, registers, offset, constant. */
struct instruction {
	unsigned char code, registers;
	short offset;
	int constant;
};

#define BY(to, from) ((to) | (from) << 4)
#define FIND /* r0 = the first element of the map, or the end */ \
	{ 0x62, BY(10, 0), -4, 0 }, { 0xbf, BY(2, 10), 0, 0 }, { 0x07, BY(2, 0), 0, -4 }, { 0x18, BY(1, 1), 0, 0 }, { 0, 0, 0, 0 }, \
	{ 0x85, 0, 0, LOOKUP }
#define END { 0xb7, 0, 0, 0 }, { 0x95, 0, 0, 0 }

static struct instruction atomic[] = { FIND, { 0x15, 0, 2, 0 }, { 0xb7, BY(1, 0), 0, 1 }, { 0xdb, BY(0, 1), 0, 0 }, END };
static struct instruction plain[] = {
	FIND, { 0x15, 0, 3, 0 }, { 0x79, BY(1, 0), 0, 0 }, { 0x07, BY(1, 0), 0, 1 }, { 0x7b, BY(0, 1), 0, 0 }, END
};
static u64 map[9] = { 2 | 4ULL << 32, 8 | 1ULL << 32 };       /* an array with keys of 4 bytes, and one element of 8 */
static u64 event[14] = { 6 | sizeof(event) << 32 };           /* a kprobe, the kernel's sixth source of events */
static u64 program[15], link[6], lookup[4], counted;
static u32 key;

static void tell(const char *what, long n)
{
	char text[12], *at = text + sizeof(text) - 1;
	u32 rest = n < 0 ? -n : n;

	*at = 0;
	do
		*--at = "0123456789abcdef"[rest & 15];
	while (rest >>= 4);
	say(what);
	say(n < 0 ? ": error 0x" : ": 0x");
	say(at);
	say("\n");
}

static long load(struct instruction *code, u64 count, long in)
{
	((volatile struct instruction *)code)[3].constant = in;
	program[0] = 2 | count << 32; /* of a kprobe */
	program[1] = (u32)code;
	program[2] = (u32)"GPL";
	return call(BPF, LOAD, (long)program, sizeof(program));
}

void _start(void)
{
	long array, taken;

	call5(MOUNT, (long)"proc", (long)"/proc", (long)"proc", 0, 0);
	say("init: running\n");
	array = call(BPF, MAP_CREATE, (long)map, sizeof(map));
	tell("atomic", load(atomic, sizeof(atomic) / 8, array));
	tell("plain", taken = load(plain, sizeof(plain) / 8, array));
	event[7] = (u32)"sys_getppid";
	link[0] = taken | (u64)call5(PERF_EVENT_OPEN, (long)event, -1, 0, -1, 0) << 32;
	link[1] = 41; /* BPF_PERF_EVENT */
	tell("link", call(BPF, LINK, (long)link, sizeof(link)));
	for (int i = 0; i < 1000; i++)
		call(GETPPID, 0, 0, 0);
	lookup[0] = array;
	lookup[1] = (u32)&key;
	lookup[2] = (u32)&counted;
	call(BPF, LOOKUP, (long)lookup, sizeof(lookup));
	tell("counted", counted);
	power_off();
}
