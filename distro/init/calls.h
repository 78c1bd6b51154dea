/*
 * System calls for programs that have no library. They are built without vector registers, so that they run on any
 * processor of their instruction set.
 */

#ifdef __x86_64__
enum {
	READ = 0, WRITE = 1, OPEN = 2, CLOSE = 3, IOCTL = 16, PREAD = 17, DUP2 = 33, NANOSLEEP = 35, FORK = 57, EXECVE = 59, WAIT4 = 61, CHDIR = 80,
	MKDIR = 83, GETPPID = 110, SETSID = 112, PRCTL = 157,
	MOUNT = 165, REBOOT = 169, INIT_MODULE = 175, DELETE_MODULE = 176, SCHED_SETAFFINITY = 203, EXIT_GROUP = 231, PERF_EVENT_OPEN = 298, FINIT_MODULE = 313
};

static inline long call5(long number, long a, long b, long c, long d, long e)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	long result;

	/* System V ABI for x86-64, A.2.1: rcx and r11 are lost. */
	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth) : "rcx", "r11", "memory");
	return result;
}

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
	return result;
}
#elif defined __arm__
enum {
	FORK = 2, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, EXECVE = 11, CHDIR = 12, MOUNT = 21, MKDIR = 39, IOCTL = 54, DUP2 = 63, GETPPID = 64,
	SETSID = 66, REBOOT = 88, WAIT4 = 114, INIT_MODULE = 128,
	DELETE_MODULE = 129, NANOSLEEP = 162, PRCTL = 172, PREAD = 180, SCHED_SETAFFINITY = 241, EXIT_GROUP = 248, PERF_EVENT_OPEN = 364, FINIT_MODULE = 379
};

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = e;
	register long r5 __asm__("r5") = f;
	register long r7 __asm__("r7") = number;

	/* syscall(2): svc 0, the number in r7. */
	__asm__ volatile("svc #0" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r7) : "memory");
	return r0;
}

static inline long call5(long number, long a, long b, long c, long d, long e)
{
	return call6(number, a, b, c, d, e, 0); /* the upper half of an offset */
}
#else
enum {
	FORK = 2, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, EXECVE = 11, CHDIR = 12, MOUNT = 21, MKDIR = 39, IOCTL = 54, DUP2 = 63, GETPPID = 64,
	SETSID = 66, REBOOT = 88, WAIT4 = 114, INIT_MODULE = 128, DELETE_MODULE = 129, NANOSLEEP = 162, PRCTL = 172, PREAD = 180,
	SCHED_SETAFFINITY = 241, EXIT_GROUP = 252, PERF_EVENT_OPEN = 336, FINIT_MODULE = 350
};

static inline long call5(long number, long a, long b, long c, long d, long e)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return result;
}

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	long both[2] = { a, f }, *first = both, result;

	/* The sixth argument is in ebp, by which the compiler may address: it comes by way of the first one. */
	__asm__ volatile("push %%ebp\n\tmov 4(%%ebx), %%ebp\n\tmov (%%ebx), %%ebx\n\tint $0x80\n\tpop %%ebp"
			 : "=a"(result), "+b"(first) : "0"(number), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return result;
}
#endif

static inline long call(long number, long a, long b, long c)
{
	return call5(number, a, b, c, 0, 0);
}

/* The start of a program, which calls begin with the stack as it is found: the number of arguments, and their addresses. */
#ifdef __arm__
#define START __asm__(".globl _start\n_start:\n\tmov r0, sp\n\tbic sp, sp, #15\n\tbl begin")
#elif defined __i386__
#define START __asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n\tpush %eax\n\tcall begin")
#else
#define START __asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin")
#endif

/* Arguments of the system call reboot (reboot(2)). */
#define MAGIC1 0xfee1deadU
#define MAGIC2 0x28121969U
#define POWER_OFF 0x4321fedcU

static inline long length(const char *text)
{
	long n = 0;

	while (text[n])
		n++;
	return n;
}

static inline void say(const char *text)
{
	call(WRITE, 1, (long)text, length(text));
}

static inline void power_off(void)
{
	call(REBOOT, (long)MAGIC1, (long)MAGIC2, (long)POWER_OFF);
	say("init: the kernel did not switch the machine off\n");
	for (;;)
		;
}
