/*
 * Programs that the simulator and qemu run to the same output. They use no library: the entry is _start, and
 * output goes through the system calls write and exit.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned __int128 u128;

static long call(long number, long a, long b, long c)
{
	register long r0 asm("r0") = number;
	register long r3 asm("r3") = a;
	register long r4 asm("r4") = b;
	register long r5 asm("r5") = c;

	asm volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5) : :
		     "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

static u32 length(const char *s)
{
	u32 n = 0;

	while (s[n])
		n++;
	return n;
}

static void print(const char *name, u64 v)
{
	char line[64];
	u32 n = length(name);

	for (u32 i = 0; i < n; i++)
		line[i] = name[i];
	line[n++] = ' ';
	for (int shift = 60; shift >= 0; shift -= 4)
		line[n++] = "0123456789abcdef"[v >> shift & 15];
	line[n++] = '\n';
	call(4, 1, (long)line, n);
}

static u64 seed = 88172645463325252;

static u64 next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Sorting through a comparison by pointer, on signed, unsigned and narrow elements. */
static long numbers[500];
static u16 shorts[500];

static int ascending(long a, long b) { return a < b ? -1 : a > b; }
static int descending(long a, long b) { return ascending(b, a); }

static void __attribute__((noinline)) quicksort(long *v, long n, int (*order)(long, long))
{
	long pivot, i = 0, j = n - 1;

	if (n < 2)
		return;
	pivot = v[n / 2];
	while (i <= j) {
		while (order(v[i], pivot) < 0)
			i++;
		while (order(v[j], pivot) > 0)
			j--;
		if (i <= j) {
			long t = v[i];

			v[i++] = v[j];
			v[j--] = t;
		}
	}
	quicksort(v, j + 1, order);
	quicksort(v + i, n - i, order);
}

static void sorts(void)
{
	u64 sum = 0;

	for (int i = 0; i < 500; i++)
		numbers[i] = (long)next() >> (i & 31);
	quicksort(numbers, 500, ascending);
	for (int i = 0; i < 500; i++)
		sum = sum * 31 + numbers[i];
	print("ascending", sum);
	quicksort(numbers, 500, descending);
	for (int i = 0; i < 500; i++)
		sum = sum * 31 + numbers[i];
	print("descending", sum);
	for (int i = 0; i < 500; i++)
		shorts[i] = next();
	for (int i = 1; i < 500; i++)
		for (int j = i; j > 0 && shorts[j - 1] > shorts[j]; j--) {
			u16 t = shorts[j];

			shorts[j] = shorts[j - 1];
			shorts[j - 1] = t;
		}
	for (int i = 0; i < 500; i++)
		sum = sum * 7 + shorts[i];
	print("insertion", sum);
}

static u8 text[4096];
static u32 crcs[256];

static void checksums(void)
{
	u32 crc = ~0u, a = 1, b = 0;
	u64 hash = 14695981039346656037ul;

	for (int i = 0; i < 4096; i++)
		text[i] = next() >> 11;
	for (u32 i = 0; i < 256; i++) {
		u32 c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
		crcs[i] = c;
	}
	for (int i = 0; i < 4096; i++) {
		crc = crcs[(crc ^ text[i]) & 0xff] ^ crc >> 8;
		hash = (hash ^ text[i]) * 1099511628211ul;
		a = (a + text[i]) % 65521;
		b = (b + a) % 65521;
	}
	print("crc", ~crc);
	print("hash", hash);
	print("adler", b << 16 | a);
}

/* Strings, and copies that overlap and are not aligned. */
static void __attribute__((noinline)) move(u8 *to, const u8 *from, u64 n)
{
	if (to < from)
		while (n--)
			*to++ = *from++;
	else
		while (n--)
			to[n] = from[n];
}

static int __attribute__((noinline)) compare(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (u8)*a - (u8)*b;
}

static void strings(void)
{
	static const char *words[] = { "probe", "pro", "prob", "", "zone", "probe", "Probe", "\xff" };
	u64 sum = 0;

	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			sum = sum * 3 + (compare(words[i], words[j]) > 0) * 2 + (compare(words[i], words[j]) < 0);
	print("strings", sum);
	move(text + 3, text, 1000);
	move(text + 500, text + 501, 700);
	for (int i = 0; i < 4096 - 8; i += 7)
		sum = sum * 5 + *(u64 *)(text + i) + *(u32 *)(text + i + 1) + *(u16 *)(text + i + 3) + *(short *)(text + i);
	print("moves", sum);
}

static u64 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static void wide(void)
{
	u128 product = 1, sum = 0;
	__int128 sign = -1;

	for (int i = 0; i < 40; i++) {
		u64 a = next(), b = next() | 1;

		product *= (u128)a << 1 | 1;
		sum += (u128)a * b;
		sum ^= product / b + product % (b >> 9 | 1);
		sign = sign * (long)a + (sign >> 3) - (__int128)(long)b;
		if (sum < product)
			sum = -sum;
		sum = sum << (i & 63) | sum >> (128 - (i & 63)) % 128;
	}
	print("wide", sum);
	print("wide high", sum >> 64);
	print("signed", sign);
	print("signed high", sign >> 64);
}

/* Shifts, divisions and conversions of every width. */
static void arithmetic(void)
{
	u64 sum = 0;

	for (int i = 0; i < 2000; i++) {
		u64 a = next(), b = next() >> (i & 63) | 1;
		long sa = a, sb = b;
		int wa = a, wb = (int)b | 1;
		u32 n = i & 31;

		sum += a / b + a % b + sa / (sb ? sb : 1) + sa % (sb ? sb : 1);
		sum ^= (u64)(wa / (wb == -1 ? 3 : wb)) + (u32)a / ((u32)b | 1);
		sum += (u64)(wa >> n) + ((u32)a << n) + (a >> (i & 63)) + (u64)(sa >> (i & 63));
		sum ^= (a << n | a >> (64 - n) % 64) + ((u32)a << n | (u32)a >> (32 - n) % 32);
		sum += (signed char)a + (short)a + (u8)a + (u16)a + __builtin_clzl(b) + __builtin_clz((u32)b | 1);
		sum ^= __builtin_popcountl(a) + __builtin_ctzl(b) + __builtin_bswap64(a) + __builtin_bswap32(a);
		sum += (sa < sb) + (a < b) * 2 + (wa < wb) * 4 + ((u32)a <= (u32)b) * 8 + (sa == sb) + !(a & 64);
	}
	print("arithmetic", sum);
	print("fibonacci", fibonacci(17));
}

struct packed {
	u32 a : 3, b : 11, c : 18;
	u64 d : 37, e : 27;
};

static u64 __attribute__((noinline)) chosen(u32 which, u64 v)
{
	switch (which) {
	case 0: return v + 1;
	case 1: return v ^ v >> 3;
	case 2: return v * 5;
	case 3: return ~v;
	case 4: return v << 7;
	case 5: return v - (v >> 2);
	case 6: return v | 0x55;
	case 7: return -v;
	case 8: return v % 1000003;
	}
	return v;
}

static void control(void)
{
	struct packed p = { 0 };
	u64 v = 1;

	for (int i = 0; i < 1000; i++) {
		v = chosen(i % 10, v);
		p.a = v;
		p.b = v >> 5;
		p.c += p.b * 3;
		p.d -= v;
		p.e ^= p.d;
		v += p.a + p.c + p.d + p.e;
	}
	print("control", v);
}

/* A counter by load and reserve. */
static void atomics(void)
{
	static u64 count;
	static u32 word;

	for (int i = 0; i < 100; i++) {
		__sync_fetch_and_add(&count, i);
		__sync_lock_test_and_set(&word, i);
		__sync_bool_compare_and_swap(&count, i, 7);
		__sync_synchronize();
	}
	print("atomics", count + word);
}

void _start(void)
{
	sorts();
	checksums();
	strings();
	wide();
	arithmetic();
	control();
	atomics();
	call(1, 0, 0, 0);
}
