/* Loads and stores, for kernels that emulate them (emulate.c). */
#include "emulate.h"
#include <asm/extable.h>
#include <asm/thread_info.h>

#if ERA_EMULATE_MOST
/*
 * A kind is what the four lower bits of D form's primary opcodes from 32 on are, and the
 * fifth and higher bits of the extended ones: twice the number in the table, and one more for those that write the
 * address to RA.
 */
struct access {
	u8 bytes, is_signed, is_store;
};

static const struct access of_words[] = {
	{ .bytes = 4 }, { .bytes = 1 }, { .bytes = 4, .is_store = 1 }, { .bytes = 1, .is_store = 1 },
	{ .bytes = 2 }, { .bytes = 2, .is_signed = 1 }, { .bytes = 2, .is_store = 1 },
};
static const struct access of_doublewords[] = {
	{ .bytes = 8 }, { }, { .bytes = 8, .is_store = 1 }, { }, { }, { .bytes = 4, .is_signed = 1 }, { },
};

/* An instruction that may fault; then the fault's number is set. */
#define TRY(insn, fault, more...) \
	asm volatile("1:\t" insn "\n2:\n\t.pushsection .text.fixup, \"ax\"\n3:\tli %0, 1\n\tb 2b\n\t.popsection\n" \
		     EXTABLE("1b", "3b") : "+r"(fault) more)
#define TRY_LOAD(insn) TRY(insn " %1, 0(%2)", fault, , "=&r"(*value) : "b"(at) : "memory")
#define TRY_STORE(insn) TRY(insn " %1, 0(%2)", fault, : "r"(value), "b"(at) : "memory")

static __step int load(unsigned long at, unsigned int bytes, unsigned long *value)
{
	int fault = 0;

	switch (bytes) {
	case 1: TRY_LOAD("lbz"); break;
	case 2: TRY_LOAD("lhz"); break;
	case 4: TRY_LOAD("lwz"); break;
	case 8: TRY_LOAD("ld"); break;
	}
	return !fault;
}

static __step int store(unsigned long at, unsigned int bytes, unsigned long value)
{
	int fault = 0;

	switch (bytes) {
	case 1: TRY_STORE("stb"); break;
	case 2: TRY_STORE("sth"); break;
	case 4: TRY_STORE("stw"); break;
	case 8: TRY_STORE("std"); break;
	}
	return !fault;
}

static __always_inline unsigned long extend(unsigned long value, unsigned int bytes)
{
	return bytes == 2 ? (unsigned long)(s16)value : (unsigned long)(s32)value;
}

static __always_inline unsigned long reverse(unsigned long value, unsigned int bytes)
{
	return bytes == 2 ? __builtin_bswap16(value) : __builtin_bswap32(value);
}

/*
 * A new stack frame lies where the frames of the exception are, but for what the ABI leaves below the stack pointer
 * for functions that make none. Kernels from 3.7 on put such a store off. Here it is stepped.
 */
static __always_inline int hits_exception_frame(const struct pt_regs *regs, u32 word, unsigned long at)
{
	return RA(word) == 1 && regs->gpr[1] - at > RED_ZONE && regs->gpr[1] - at < THREAD_SIZE;
}

static __step int move(struct pt_regs *regs, u32 word, const struct access *a, unsigned long at, int reversed)
{
	unsigned long value;

	if (a->is_store) {
		value = regs->gpr[RT(word)];
		return store(at, a->bytes, reversed ? reverse(value, a->bytes) : value);
	}
	if (!load(at, a->bytes, &value))
		return 0;
	if (reversed)
		value = reverse(value, a->bytes);
	regs->gpr[RT(word)] = a->is_signed ? extend(value, a->bytes) : value;
	return 1;
}

/* With the address in RA afterwards, where the kind is odd. */
static __step int access_memory(struct pt_regs *regs, u32 word, const struct access *table, unsigned int kind,
				unsigned long at)
{
	const struct access *a = &table[kind / 2];
	const int update = kind & 1;

	if (kind / 2 >= ARRAY_SIZE(of_words) || !a->bytes)
		return 0;
	if (update && (!RA(word) || hits_exception_frame(regs, word, at)))
		return 0;
	if (update && !a->is_store && RA(word) == RT(word))
		return 0;
	if (!move(regs, word, a, at, 0))
		return 0;
	if (update)
		regs->gpr[RA(word)] = at;
	return 1;
}

/* lmw and stmw: the registers from RT on. A load does not change the register of its address. */
static __step int move_several(struct pt_regs *regs, u32 word, unsigned long at, int is_store)
{
	unsigned int reg;
	unsigned long value;

	if (!is_store && RA(word) >= RT(word))
		return 0;
	for (reg = RT(word); reg < 32; reg++, at += 4) {
		if (is_store ? !store(at, 4, regs->gpr[reg]) : !load(at, 4, &value))
			return 0;
		if (!is_store)
			regs->gpr[reg] = value;
	}
	return 1;
}

/* Extended opcodes that end with 21, 22 or 23: doublewords, reversed bytes, words and less. */
static __step int access_indexed(struct pt_regs *regs, u32 word)
{
	const unsigned long at = base(regs, word) + regs->gpr[RB(word)];
	const unsigned int kind = EXTENDED(word) >> 5;

	if ((EXTENDED(word) & 31) == 21)
		return access_memory(regs, word, of_doublewords, kind, at);
	if ((EXTENDED(word) & 31) == 23)
		return access_memory(regs, word, of_words, kind, at);
	if ((EXTENDED(word) & 31) == 22 && (kind == 16 || kind == 20 || kind == 24 || kind == 28))
		return move(regs, word, &of_words[(kind - 16) / 2], at, 1);
	return 0;
}

/* ld, ldu, lwa, std, stdu: the two lowest bits of the displacement tell them apart. */
static __step int access_doubleword(struct pt_regs *regs, u32 word)
{
	const unsigned int low = word & 3, kind = PRIMARY(word) == 62 ? 4 + low : low == 2 ? 10 : low;

	if (low > 2 || (PRIMARY(word) == 62 && low == 2))
		return 0;
	return access_memory(regs, word, of_doublewords, kind, base(regs, word) + (D(word) & ~3L));
}

__step int emulate_memory(struct pt_regs *regs, u32 word)
{
	const unsigned int primary = PRIMARY(word);

	switch (primary) {
	case 31:
		return access_indexed(regs, word);
	case 46: case 47:
		return move_several(regs, word, base(regs, word) + D(word), primary & 1);
	case 58: case 62:
		return access_doubleword(regs, word);
	}
	if (primary < 46)
		return access_memory(regs, word, of_words, primary - 32, base(regs, word) + D(word));
	return 0;
}
#endif
