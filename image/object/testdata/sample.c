/*
 * A module with every kind of reference that compilers of modules make. The test links it with the simulator's linker and
 * with GNU ld at the same addresses.
 */
typedef unsigned long ulong;

extern int kernel_call(const char *text, ulong n);
extern ulong kernel_data[4];

static const char *const names[] = { "first", "second", "third" };
static ulong counter;
static int table[3] = { 7, 8, 9 };
int exported = 5;
ulong shared[8];
ulong apart __attribute__((common));

static __attribute__((noinline)) ulong local(ulong n)
{
	counter += n + apart;
	return counter;
}

ulong choose(ulong n)
{
	switch (n) {
	case 0: return local(1);
	case 1: return local(2) + exported;
	case 2: return shared[n];
	case 3: return local(5) * 3;
	case 4: return kernel_data[1];
	case 5: return table[n % 3];
	case 6: return 99 + local(n);
	}
	return 0;
}

ulong (*pointers[])(ulong) = { local, choose };
int (*outside)(const char *, ulong) = kernel_call;
ulong *far_data = &kernel_data[2];

__attribute__((section(".init.text"))) int init_module(void)
{
	for (int i = 0; i < 3; i++)
		kernel_call(names[i], pointers[i & 1](i));
	return exported - 5;
}

void cleanup_module(void)
{
	kernel_call("end", (ulong)far_data + (ulong)outside);
}

static const char license[] __attribute__((section(".modinfo"), used)) = "license=GPL";
