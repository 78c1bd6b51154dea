/*
 * The first program of user mode: it says that it runs, and switches the machine off. It has no library,
 * and is built without vector registers, so that it runs on any processor of its instruction set.
 */

#ifdef __x86_64__
enum { WRITE = 1, REBOOT = 169 };

static long call(long number, long a, long b, long c)
{
	long result;

	/* System V ABI for x86-64, A.2.1: rcx and r11 are lost. */
	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}
#else
enum { WRITE = 4, REBOOT = 88 };

static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
#endif

/* Arguments of the system call reboot (reboot(2)). */
#define MAGIC1 0xfee1deadU
#define MAGIC2 0x28121969U
#define POWER_OFF 0x4321fedcU

static void say(const char *text)
{
	long n = 0;

	while (text[n])
		n++;
	call(WRITE, 1, (long)text, n);
}

void _start(void)
{
	say("init: running\n");
	call(REBOOT, (long)MAGIC1, (long)MAGIC2, (long)POWER_OFF);
	say("init: the kernel did not switch the machine off\n");
	for (;;)
		;
}
