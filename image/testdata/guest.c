/* A small guest for the tests of image loading: sections, structs of all shapes, lines. */
typedef unsigned char u8;
typedef unsigned long u64;
typedef u8 opcode_t;

struct hook {
	struct hook *next, **pprev;
};

struct arch_insn {
	opcode_t *insn;
	int boostable;
};

typedef struct {
	union {
		struct {
			u8 lo, hi;
		};
		unsigned short both;
	};
	volatile const int plain;
} word_t;

struct probe {
	struct hook node;
	u64 nmissed;
	opcode_t *addr;
	const char *name;
	struct arch_insn ainsn;
	union {
		u64 raw;
		struct {
			unsigned int low, high;
		};
	};
	unsigned flag : 3;
	unsigned kind : 5;
	word_t words[4];
	int grid[2][3];
	opcode_t copy[16];
	int (*handler)(struct probe *p);
	u64 tail[];
};

struct probe *probes;
word_t some_word;

static inline int twice(int x)
{
	return x + x;
}

__attribute__((section(".phase.handler"), noinline)) int handler(struct probe *p)
{
	p->nmissed++;
	return twice((int)p->nmissed);
}

__attribute__((section(".workload"), noinline)) int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i ^ n;
	return sum;
}

void _start(void)
{
	for (;;) {
		work(10);
		if (probes)
			handler(probes);
	}
}

enum limits {
	SMALLEST = -3,
	LARGEST = 0x3ff0000,
};
int limit = LARGEST;
