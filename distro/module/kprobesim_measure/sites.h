/*
 * The functions that are probed. All instructions of one have the same size, and a probe may stand at each of the first
 * sixteen. Which kind of hit it has follows from the rules for probes (Documentation/trace/kprobes.rst).
 */
#define MOST_PROBES 16

#ifdef CONFIG_X86_64
#define AX "%rax"
#define STEP_SIZE 4
#define WIDE_SIZE 7
#define LEA 0x48 /* its first byte */
#else
#define AX "%eax"
#define STEP_SIZE 3
#define WIDE_SIZE 6
#define LEA 0x8d
#endif
#define JUMP_SIZE 2
#define JUMP 0xeb

/* Kernels that return by a thunk check that modules do so, too. */
#if SINCE(5, 17, 0)
#include <linux/linkage.h>
#define RETURN ASM_RET
#else
#define RETURN "ret\n"
#endif

/* Nothing calls them by a pointer, so that they begin with no landing pad. The tool that checks objects asks to be told. */
#if SINCE(5, 18, 0)
#include <linux/objtool.h>
#endif
#ifndef ANNOTATE_NOENDBR
#define ANNOTATE_NOENDBR
#endif

#define SITE(name, text)				\
	asm(".pushsection .text\n"			\
	    ".balign 64\n"				\
	    ".type " #name ", @function\n"		\
	    #name ":\n" ANNOTATE_NOENDBR "\n" text	\
	    ".size " #name ", . - " #name "\n"		\
	    ".popsection\n");				\
	long name(long n)

/* No jump replaces a breakpoint here, because a branch leads behind each of these instructions. None is ever taken. */
SITE(kprobesim_steps,
	".rept 16\n\tlea 1(" AX "), " AX "\n.endr\n"
	"clc\n\t"
	"jc 1f\n\t"
	RETURN
	"1:\n"
	".set kprobesim_n, 1\n"
	".rept 16\n\t"
	"jc kprobesim_steps + kprobesim_n * " __stringify(STEP_SIZE) "\n\t"
	".set kprobesim_n, kprobesim_n + 1\n"
	".endr\n\t"
	RETURN);

/* Each instruction is a jump to the next one, which newer kernels emulate. */
SITE(kprobesim_jumps, ".rept 16\n\t.byte 0xeb, 0\n.endr\n\t" RETURN);

/* Each instruction has room for a jump. */
SITE(kprobesim_wide, ".rept 16\n\tlea 0x1000000(" AX "), " AX "\n.endr\n\t" RETURN);

/* The compiler puts the call of ftrace at its start. */
static noinline __used long kprobesim_traced(long n)
{
	asm volatile("" : "+r" (n));
	return n + 1;
}

/* Loops call them directly: a call by a pointer is a retpoline. */
#define LOOP(name)							\
static noinline notrace u64 loop_##name(unsigned int n)		\
{									\
	u64 begin = rdtsc_ordered();					\
	long x = 0;							\
									\
	while (n--)							\
		x = name(x);						\
	return rdtsc_ordered() - begin;					\
}

LOOP(kprobesim_traced)
LOOP(kprobesim_jumps)
LOOP(kprobesim_steps)
LOOP(kprobesim_wide)

struct site {
	long (*function)(long n);
	u64 (*loop)(unsigned int n);
	unsigned int size; /* of an instruction; 0 where all probes stand at the start */
	u8 first; /* its first byte; 0 where the kernel chooses it */
};

static const struct site traced = { kprobesim_traced, loop_kprobesim_traced, 0, 0 };
static const struct site jumps = { kprobesim_jumps, loop_kprobesim_jumps, JUMP_SIZE, JUMP };
static const struct site steps = { kprobesim_steps, loop_kprobesim_steps, STEP_SIZE, LEA };
static const struct site wide = { kprobesim_wide, loop_kprobesim_wide, WIDE_SIZE, LEA };
