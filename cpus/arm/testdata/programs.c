/*
 * Programs that the simulator and qemu run to the same output. They use no library but the compiler's: the
 * entry is _start, and output goes through the system calls write and exit.
 */
typedef unsigned char byte;
typedef unsigned short half;
typedef unsigned int word;
typedef unsigned long long twice;

static int system_call(int number, int a, int b, int c)
{
	register int r7 asm("r7") = number;
	register int r0 asm("r0") = a;
	register int r1 asm("r1") = b;
	register int r2 asm("r2") = c;

	asm volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
	return r0;
}

/* The compiler's division calls it for a divisor of zero. */
int raise(int signal) { return signal; }

static void show(const char *what, twice v)
{
	char out[48];
	int n = 0;

	while (*what)
		out[n++] = *what++;
	out[n++] = '=';
	for (int digit = 15; digit >= 0; digit--) {
		int d = (int)(v >> (4 * digit)) & 15;

		out[n++] = d < 10 ? '0' + d : 'a' + d - 10;
	}
	out[n++] = '\n';
	system_call(4, 1, (int)out, n);
}

static word lfsr = 0xace1u;

static word draw(void)
{
	for (int i = 0; i < 9; i++)
		lfsr = lfsr >> 1 ^ (-(lfsr & 1u) & 0xd0000001u);
	return lfsr;
}

/* A heap of numbers, ordered by a function. */
static int heap[256];

static int smaller(int a, int b) { return a < b; }
static int closer(int a, int b) { return (a & 0xffff) < (b & 0xffff); }

static void __attribute__((noinline)) sink(int at, int n, int (*before)(int, int))
{
	for (int child; (child = 2 * at + 1) < n; at = child) {
		int moved = heap[at];

		if (child + 1 < n && before(heap[child], heap[child + 1]))
			child++;
		if (!before(moved, heap[child]))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
	}
}

static void ordering(const char *what, int (*before)(int, int))
{
	word mixed = 0;

	for (int i = 0; i < 256; i++)
		heap[i] = (int)draw();
	for (int i = 127; i >= 0; i--)
		sink(i, 256, before);
	for (int n = 255; n > 0; n--) {
		int top = heap[0];

		heap[0] = heap[n];
		heap[n] = top;
		sink(0, n, before);
	}
	for (int i = 0; i < 256; i++)
		mixed = mixed * 33 ^ (word)heap[i];
	show(what, mixed);
}

/* Narrow elements, and accesses that are not aligned. */
static byte bytes[512];

static void narrow(void)
{
	int sum = 0;
	twice mixed = 0;

	for (int i = 0; i < 512; i++)
		bytes[i] = (byte)draw();
	for (int i = 0; i + 8 < 512; i += 3) {
		half h;
		word w;
		twice t;

		__builtin_memcpy(&h, bytes + i, 2);
		__builtin_memcpy(&w, bytes + i + 1, 4);
		__builtin_memcpy(&t, bytes + i, 8);
		sum += (signed char)bytes[i] + (short)h - (int)(w >> 7);
		mixed = mixed * 17 + t + h;
	}
	show("narrow", (word)sum);
	show("unaligned", mixed);
}

/* Numbers of two words, quotients, shifts, products and saturation. */
static void numbers(void)
{
	twice sum = 1;
	int small = 0;

	for (int i = 1; i < 800; i++) {
		word a = draw(), b = draw() >> (i & 31) | 1;
		twice t = (twice)a << 32 | b;
		long long s = (long long)t;

		sum += a / b + a % b + (word)((int)a / (int)(b | 2)) + t / (b + sum % 1000 + 1);
		sum ^= (twice)a * b + (twice)((long long)(int)a * (int)b) + (t << (i & 63)) + (twice)(s >> (i & 31));
		sum = (sum << 5 | sum >> 59) + (a >> 3 | a << 29) + __builtin_clz(b) + __builtin_ctz(a | 1) + __builtin_bswap32(a);
		small += (short)a * (short)b + (int)((short)(a >> 16) * (short)b) + (s < (long long)sum) - (t > sum);
		small ^= (int)(a >> 4 & 0x3ff) - (int)(b << 3 & 0x7f0) + (a & 0x100 ? 5 : -(int)(b & 7));
	}
	show("numbers", sum);
	show("small", (word)small);
}

struct fields {
	word low : 5, middle : 14, high : 13;
	int sign : 9, rest : 23;
};

static word __attribute__((noinline)) machine(word state, word v)
{
	switch (state) {
	case 0: return v * 3;
	case 1: return v ^ v >> 5;
	case 2: return v - 77;
	case 3: return ~v;
	case 4: return v << 11 | v >> 21;
	case 5: return v & 0xff00ffu;
	case 6: return -v;
	}
	return v + state;
}

static word depth(word n) { return n < 2 ? 1 : depth(n - 1) + 3 * depth(n - 2); }

static void control(void)
{
	struct fields f = { 0 };
	word v = 12345;

	for (int i = 0; i < 500; i++) {
		v = machine((word)i % 9, v);
		f.low += v;
		f.middle = f.middle * 5 + f.low;
		f.high ^= v >> 3;
		f.sign -= (int)v;
		f.rest += f.sign * (int)f.high;
		v += f.low + f.middle + (word)f.rest;
	}
	show("control", v);
	show("depth", depth(15));
}

/* Counters of every width by exclusive accesses. */
static void counters(void)
{
	static byte b;
	static half h;
	static word w;
	static twice t;

	for (int i = 0; i < 60; i++) {
		__sync_fetch_and_add(&b, 7);
		__sync_fetch_and_xor(&h, i * 3);
		__sync_fetch_and_add(&w, i);
		__sync_fetch_and_add(&t, 0x100000001ull * i);
		__sync_bool_compare_and_swap(&w, 10, 1000);
		__sync_synchronize();
	}
	show("counters", t + b + h + w);
}

void _start(void)
{
	ordering("ascending", smaller);
	ordering("by half", closer);
	narrow();
	numbers();
	control();
	counters();
	system_call(1, 0, 0, 0);
}
