/*
 * Commands: programs that are not of this project, from the root file system around the program that takes orders. Each reads
 * /.input and writes to /.output.
 */

#define O_CREATE 0100
#define O_TRUNCATE 01000

#define NOT_EXECUTED 127 /* the exit status of a command that cannot be executed, as shells have it */

/* How often a command runs before the region of interest, and how many arguments and variables follow and the folder, each with a zero. */
struct command {
	unsigned int warm, arguments, variables;
	char text[];
};

enum { WORDS = 1024, STACK = 4096 };

static struct {
	char *arguments[WORDS], *variables[WORDS], *folder;
} words;
static char child_stack[STACK] __attribute__((aligned(16)));

/*
 * Has a child execute a function, and returns its number when the child has another program or has ended. Both share the memory
 * until then (CLONE_VM, CLONE_VFORK), so that a command does not pay for a copy of it.
 */
long spawn(void (*child)(void), char *stack);
#ifdef __arm__
__asm__(".balign 16\n\t.globl spawn\n\t.type spawn, %function\nspawn:\n\t"
	"push {r4-r7, r11, lr}\n\tmov r5, r0\n\tmovw r0, #0x4111\n\tmov r2, #0\n\tmov r3, #0\n\tmov r4, #0\n\tmov r7, #120\n\tsvc #0\n\t"
	"cmp r0, #0\n\tpopne {r4-r7, r11, pc}\n\tmov r11, #0\n\tblx r5\n\tudf #0\n\t.size spawn, .-spawn");
#elif defined __i386__
__asm__(".balign 16\n\t.globl spawn\n\t.type spawn, @function\nspawn:\n\t"
	"push %ebx\n\tpush %esi\n\tpush %edi\n\tpush %ebp\n\tmov 20(%esp), %ebp\n\tmov 24(%esp), %ecx\n\tmov $0x4111, %ebx\n\t"
	"xor %edx, %edx\n\txor %esi, %esi\n\txor %edi, %edi\n\tmov $120, %eax\n\tint $0x80\n\ttest %eax, %eax\n\tjz 1f\n\t"
	"pop %ebp\n\tpop %edi\n\tpop %esi\n\tpop %ebx\n\tret\n1:\tmov %ebp, %eax\n\txor %ebp, %ebp\n\tcall *%eax\n\thlt\n\t.size spawn, .-spawn");
#else
__asm__(".balign 16\n\t.globl spawn\n\t.type spawn, @function\nspawn:\n\t"
	"mov %rdi, %r9\n\tmov $0x4111, %edi\n\txor %edx, %edx\n\txor %r10d, %r10d\n\txor %r8d, %r8d\n\tmov $56, %eax\n\tsyscall\n\t"
	"test %rax, %rax\n\tjz 1f\n\tret\n1:\txor %ebp, %ebp\n\tcall *%r9\n\thlt\n\t.size spawn, .-spawn");
#endif

/* Opens a file under a number. */
static void redirect(const char *path, int flags, int to)
{
	call(DUP2, call(OPEN, (long)path, flags, 0644), to, 0);
}

/* The processor may have no division. By a constant the compiler multiplies, if it may take the room. */
#ifdef __arm__
#define MULTIPLIES __attribute__((optimize("O2")))
#else
#define MULTIPLIES
#endif

/* The number of an error as a text at the end of a buffer. */
MULTIPLIES static void say_number(long n)
{
	char text[8], *at = text + sizeof(text) - 1;

	*at = 0;
	do
		*--at = '0' + n % 10;
	while (n /= 10);
	say(at);
}

static void command_child(void)
{
	long result;

	redirect("/.input", O_RDONLY, 0);
	redirect("/.output", O_WRONLY | O_CREATE | O_TRUNCATE | O_APPEND, 1);
	call(DUP2, 1, 2, 0);
	call(CHDIR, (long)words.folder, 0, 0);
	result = call(EXECVE, (long)words.arguments[0], (long)words.arguments, (long)words.variables);
	say(words.arguments[0]);
	say(": the kernel does not execute it: error ");
	say_number(-result);
	say("\n");
	call(EXIT_GROUP, NOT_EXECUTED, 0, 0);
}

/* Runs the command once, and returns its status as of wait4(2), or an error. */
static long command_once(unsigned int *status)
{
	long child = spawn(command_child, child_stack + sizeof(child_stack)), result;

	if (child < 0)
		return child;
	result = call5(WAIT4, child, (long)status, 0, 0, 0);
	return result < 0 ? result : 0;
}

static char *split(char **list, char *text, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++, text += length(text) + 1)
		list[i] = text;
	list[n] = 0;
	return text;
}

/* The status is the answer. One that runs before the region and fails ends this. */
static long run_command(struct command *how, struct answer *to)
{
	unsigned int *status = (unsigned int *)to->data;
	long result = 0;

	if (how->arguments >= WORDS || how->variables >= WORDS)
		return -EINVAL;
	words.folder = split(words.variables, split(words.arguments, how->text, how->arguments), how->variables);
	to->size = sizeof(*status);
	*status = 0;
	mark_warm();
	for (unsigned int i = 0; i < how->warm && !result && !*status; i++)
		result = command_once(status);
	mark_begin();
	if (!result && !*status)
		result = command_once(status);
	mark_end();
	return result;
}

/* ioctl(2) of random(4): bits of entropy, bytes that follow, the bytes. */
enum { RNDADDENTROPY = 0x40085203 };

/*
 * Has the kernel's random numbers begin, as a boot loader or a processor with rdrand would. Else the first program that asks for
 * some waits for a second until interrupts have come at enough times. They are the same numbers in each run.
 */
static void give_randomness(void)
{
	static const struct { int bits, size; char bytes[32]; } pool = { 256, 32, "kprobesim: the same in each run" };

	call(IOCTL, call(OPEN, (long)"/dev/urandom", O_WRONLY, 0), RNDADDENTROPY, (long)&pool);
}
