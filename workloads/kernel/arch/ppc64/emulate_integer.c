/*
 * Integer instructions, moves from and to special registers, and barriers, for kernels that emulate them
 * (emulate.c). Constants are opcodes of Book I, appendix "Opcode maps"; a group of functions that share bits of them
 * shares a function here.
 */
#include "emulate.h"

#if ERA_EMULATE_MOST
#define XER_CA 0x20000000UL

/* What compares leave in a field of the condition register, and where the first field is. */
#define LESS 8
#define GREATER 4
#define EQUAL 2

static __always_inline void set_field(struct pt_regs *regs, unsigned int field, unsigned long bits)
{
	const unsigned int shift = 4 * (7 - field);

	regs->ccr = (regs->ccr & ~(15UL << shift)) | (bits | (regs->xer >> 31 & 1)) << shift;
}

static __always_inline void set_order(struct pt_regs *regs, unsigned int field, int less, int equal)
{
	set_field(regs, field, less ? LESS : equal ? EQUAL : GREATER);
}

/* The result of an instruction that may compare it with zero. */
static __step void put(struct pt_regs *regs, unsigned int reg, unsigned long value, int record)
{
	regs->gpr[reg] = value;
	if (record)
		set_order(regs, 0, (long)value < 0, !value);
}

static __always_inline unsigned long carry(const struct pt_regs *regs)
{
	return (regs->xer & XER_CA) != 0;
}

static __always_inline unsigned long add_carrying(struct pt_regs *regs, unsigned long a, unsigned long b,
						  unsigned long in)
{
	const unsigned long part = a + b, sum = part + in;

	regs->xer &= ~XER_CA;
	if (part < a || sum < part)
		regs->xer |= XER_CA;
	return sum;
}

/* mulli to addis, and compares with a constant: primary opcodes 7 to 15. */
static __step int with_immediate(struct pt_regs *regs, u32 word)
{
	const unsigned long a = regs->gpr[RA(word)];
	const long d = D(word);
	unsigned long result;

	switch (PRIMARY(word)) {
	case 7:
		result = a * d;
		break;
	case 8:
		result = add_carrying(regs, ~a, d, 1);
		break;
	case 12: case 13:
		result = add_carrying(regs, a, d, 0);
		break;
	case 14:
		result = base(regs, word) + d;
		break;
	case 15:
		result = base(regs, word) + (d << 16);
		break;
	default:
		return 0;
	}
	put(regs, RT(word), result, PRIMARY(word) == 13);
	return 1;
}

/* Compares: the field is named by the upper bits of RT, the width by the lowest. */
static __step int compare(struct pt_regs *regs, u32 word, int is_signed, unsigned long b)
{
	unsigned long a = regs->gpr[RA(word)];

	if (!(RT(word) & 1)) {
		a = is_signed ? (unsigned long)(s32)a : (u32)a;
		b = is_signed ? (unsigned long)(s32)b : (u32)b;
	}
	set_order(regs, RT(word) >> 2, is_signed ? (long)a < (long)b : a < b, a == b);
	return 1;
}

/* ori to andis.: primary opcodes 24 to 29. Odd ones shift the constant. */
static __step int logic_immediate(struct pt_regs *regs, u32 word)
{
	const unsigned long s = regs->gpr[RT(word)], constant = (u16)word;
	const unsigned long c = PRIMARY(word) & 1 ? constant << 16 : constant;
	const unsigned int kind = (PRIMARY(word) - 24) / 2;

	put(regs, RA(word), kind == 0 ? s | c : kind == 1 ? s ^ c : s & c, kind == 2);
	return 1;
}

/* Ones from bit "first" to bit "last", counted from the left, and around the end. */
static __always_inline unsigned long mask(unsigned int first, unsigned int last)
{
	const unsigned long from = ~0UL >> first, to = ~0UL << (63 - last);

	return first <= last ? from & to : from | to;
}

static __always_inline unsigned long rotate(unsigned long value, unsigned int by)
{
	return by ? value << by | value >> (64 - by) : value;
}

/* rlwimi, rlwinm, rlwnm: primary opcodes 20, 21, 23. Both halves of what is rotated are the low word. */
static __step int rotate_word(struct pt_regs *regs, u32 word)
{
	const unsigned long low = (u32)regs->gpr[RT(word)], m = mask((word >> 6 & 31) + 32, (word >> 1 & 31) + 32);
	const unsigned int by = PRIMARY(word) == 23 ? regs->gpr[RB(word)] & 31 : RB(word);
	unsigned long result = rotate(low | low << 32, by) & m;

	if (PRIMARY(word) == 20)
		result |= regs->gpr[RA(word)] & ~m;
	put(regs, RA(word), result, word & RC);
	return 1;
}

/* rldicl, rldicr, rldic, rldimi, rldcl, rldcr: primary opcode 30, told apart by bits 27 to 30. */
static __step int rotate_doubleword(struct pt_regs *regs, u32 word)
{
	const unsigned int kind = word >> 1 & 15, end = (word >> 6 & 31) | (word & 32);
	const unsigned int by = kind & 8 ? regs->gpr[RB(word)] & 63 : RB(word) | (word & 2) << 4;
	unsigned long m, result;

	if (kind > 9)
		return 0;
	/* A mask begins at its field, ends there, or ends where what was shifted in would begin. */
	if (kind & 8)
		m = kind & 1 ? mask(0, end) : mask(end, 63);
	else
		m = kind >> 1 == 0 ? mask(end, 63) : kind >> 1 == 1 ? mask(0, end) : mask(end, 63 - by);
	result = rotate(regs->gpr[RT(word)], by) & m;
	if (kind >> 1 == 3)
		result |= regs->gpr[RA(word)] & ~m;
	put(regs, RA(word), result, word & RC);
	return 1;
}

/*
 * The eight sums that set the carry, by the five upper bits of their extended opcode: with RB, with RB and the carry,
 * with zero, with minus one. One bit below tells subtraction, which is a sum with RA inverted.
 */
static __always_inline unsigned long sum_carrying(struct pt_regs *regs, u32 word, unsigned int kind, int subtract)
{
	const unsigned long a = regs->gpr[RA(word)] ^ -(unsigned long)subtract;
	const unsigned long b = kind == 7 ? ~0UL : kind == 6 ? 0 : regs->gpr[RB(word)];

	return add_carrying(regs, a, b, kind ? carry(regs) : (unsigned long)subtract);
}

/* Divisions without a quotient are undefined, and stepped. */
static __always_inline int has_quotient(long a, long b, long least)
{
	return b != 0 && !(a == least && b == -1);
}

/* Products and quotients; the words that the manual leaves undefined are zero. */
static __always_inline int multiply_or_divide(unsigned int kind, unsigned long a, unsigned long b,
					      unsigned long *result)
{
	switch (kind) {
	case 9:
		*result = (unsigned __int128)a * b >> 64;
		return 1;
	case 11:
		*result = (unsigned long)(u32)a * (u32)b >> 32;
		return 1;
	case 73:
		*result = (__int128)(long)a * (long)b >> 64;
		return 1;
	case 75:
		*result = (u32)((long)(s32)a * (s32)b >> 32);
		return 1;
	case 233:
		*result = a * b;
		return 1;
	case 235:
		*result = (long)(s32)a * (s32)b;
		return 1;
	case 457:
		*result = b ? a / b : 0;
		return b != 0;
	case 459:
		*result = (u32)b ? (u32)a / (u32)b : 0;
		return (u32)b != 0;
	case 489:
		if (!has_quotient(a, b, 1L << 63))
			return 0;
		*result = (long)a / (long)b;
		return 1;
	case 491:
		if (!has_quotient((s32)a, (s32)b, -(1L << 31)))
			return 0;
		*result = (u32)((s32)a / (s32)b);
		return 1;
	}
	return 0;
}

/* XO form: the extended opcode without its upper bit, which asks for the overflow bit. */
static __step int arithmetic(struct pt_regs *regs, u32 word)
{
	const unsigned int kind = EXTENDED(word);
	const unsigned long a = regs->gpr[RA(word)], b = regs->gpr[RB(word)];
	unsigned long result;

	switch (kind) {
	case 40:
		result = b - a;
		break;
	case 104:
		result = -a;
		break;
	case 266:
		result = a + b;
		break;
	case 8: case 10: case 136: case 138: case 200: case 202: case 232: case 234:
		result = sum_carrying(regs, word, kind >> 5, !(kind & 2));
		break;
	default:
		if (!multiply_or_divide(kind, a, b, &result))
			return 0;
	}
	put(regs, RT(word), result, word & RC);
	return 1;
}

/* Extended opcodes that end with 28: logic of two registers. */
static __step int logic(struct pt_regs *regs, u32 word)
{
	const unsigned long s = regs->gpr[RT(word)], b = regs->gpr[RB(word)];
	unsigned long result;

	switch (EXTENDED(word) >> 5) {
	case 0: result = s & b; break;
	case 1: result = s & ~b; break;
	case 3: result = ~(s | b); break;
	case 8: result = ~(s ^ b); break;
	case 9: result = s ^ b; break;
	case 12: result = s | ~b; break;
	case 13: result = s | b; break;
	case 14: result = ~(s & b); break;
	default: return 0;
	}
	put(regs, RA(word), result, word & RC);
	return 1;
}

static __always_inline unsigned long leading_zeros(unsigned long value)
{
	return value ? __builtin_clzl(value) : 64;
}

/* The carry says that ones were shifted out of a negative number. */
static __always_inline unsigned long shift_signed(struct pt_regs *regs, long value, unsigned int by)
{
	const long shifted = value >> (by > 63 ? 63 : by);
	const unsigned long lost = by > 63 ? (unsigned long)value : value & ~(~0UL << by);

	regs->xer &= ~XER_CA;
	if (value < 0 && lost)
		regs->xer |= XER_CA;
	return shifted;
}

/* Extended opcodes that end with 24, 26 or 27: shifts, counts of zeros, extensions of the sign. */
static __step int shift_or_extend(struct pt_regs *regs, u32 word)
{
	const unsigned long s = regs->gpr[RT(word)], b = regs->gpr[RB(word)];
	unsigned long result;

	switch (EXTENDED(word)) {
	case 24: result = b & 32 ? 0 : (u32)(s << (b & 31)); break;
	case 536: result = b & 32 ? 0 : (u32)s >> (b & 31); break;
	case 792: result = shift_signed(regs, (s32)s, b & 63); break;
	case 824: result = shift_signed(regs, (s32)s, RB(word)); break;
	case 27: result = b & 64 ? 0 : s << (b & 63); break;
	case 539: result = b & 64 ? 0 : s >> (b & 63); break;
	case 794: result = shift_signed(regs, s, b & 127); break;
	case 826: case 827: result = shift_signed(regs, s, RB(word) | (word & 2) << 4); break;
	case 26: result = leading_zeros((u32)s) - 32; break;
	case 58: result = leading_zeros(s); break;
	case 922: result = (s16)s; break;
	case 954: result = (s8)s; break;
	case 986: result = (s32)s; break;
	default: return 0;
	}
	put(regs, RA(word), result, word & RC);
	return 1;
}

/* The eight operations of two bits of the condition register, and mcrf. Primary opcode 19. */
static __step int condition(struct pt_regs *regs, u32 word)
{
	const unsigned long a = regs->ccr >> (31 - RA(word)) & 1, b = regs->ccr >> (31 - RB(word)) & 1;
	const unsigned int to = 31 - RT(word);
	unsigned long bit;

	switch (EXTENDED(word)) {
	case 0: {
		const unsigned int from = 28 - (RA(word) & 28), field = 28 - (RT(word) & 28);

		regs->ccr = (regs->ccr & ~(15UL << field)) | (regs->ccr >> from & 15) << field;
		return 1;
	}
	case 33: bit = !(a | b); break;
	case 129: bit = a & !b; break;
	case 193: bit = a ^ b; break;
	case 225: bit = !(a & b); break;
	case 257: bit = a & b; break;
	case 289: bit = !(a ^ b); break;
	case 417: bit = a | !b; break;
	case 449: bit = a | b; break;
	case 150:
		asm volatile("isync" ::: "memory");
		return 1;
	default: return 0;
	}
	regs->ccr = (regs->ccr & ~(1UL << to)) | bit << to;
	return 1;
}

/* The registers that mtspr and mfspr reach in problem state, or NULL. */
static __always_inline unsigned long *special(struct pt_regs *regs, u32 word)
{
	if (RB(word))
		return 0;
	switch (RA(word)) {
	case 1: return &regs->xer;
	case 8: return &regs->link;
	case 9: return &regs->ctr;
	}
	return 0;
}

static __step int move_special(struct pt_regs *regs, u32 word, int to_special)
{
	unsigned long *spr = special(regs, word), *gpr = &regs->gpr[RT(word)];

	if (!spr)
		return 0;
	if (to_special)
		*spr = *gpr;
	else
		*gpr = *spr;
	return 1;
}

/* mtcrf: one bit of the word for each field. */
static __step int move_to_fields(struct pt_regs *regs, u32 word)
{
	unsigned long m = 0, source = (u32)regs->gpr[RT(word)];
	unsigned int field;

	for (field = 0; field < 8; field++)
		if (word >> (12 + field) & 1)
			m |= 15UL << 4 * field;
	regs->ccr = (regs->ccr & ~m) | (source & m);
	return 1;
}

/* Primary opcode 31 by the lower half of the extended opcode, which tells most groups apart. */
static __step int extended(struct pt_regs *regs, u32 word)
{
	switch (EXTENDED(word) & 31) {
	case 8: case 9: case 10: case 11:
		return arithmetic(regs, word);
	case 24: case 26: case 27:
		return shift_or_extend(regs, word);
	case 28:
		return logic(regs, word);
	}
	switch (EXTENDED(word)) {
	case 0:
		return compare(regs, word, 1, regs->gpr[RB(word)]);
	case 32:
		return compare(regs, word, 0, regs->gpr[RB(word)]);
	case 19:
		regs->gpr[RT(word)] = (u32)regs->ccr;
		return 1;
	case 83:
		move_from_msr(regs, word);
		return 1;
	case 144:
		return move_to_fields(regs, word);
	case 339:
		return move_special(regs, word, 0);
	case 467:
		return move_special(regs, word, 1);
	case 246: case 278: /* dcbtst, dcbt */
		return 1;
	case 598: case 854: /* sync and lwsync, eieio: the stronger one will do */
		asm volatile("sync" ::: "memory");
		return 1;
	}
	return 0;
}

__step int emulate_integer(struct pt_regs *regs, u32 word)
{
	switch (PRIMARY(word)) {
	case 7: case 8: case 12: case 13: case 14: case 15:
		return with_immediate(regs, word);
	case 10:
		return compare(regs, word, 0, (u16)word);
	case 11:
		return compare(regs, word, 1, D(word));
	case 19:
		return condition(regs, word);
	case 20: case 21: case 23:
		return rotate_word(regs, word);
	case 24: case 25: case 26: case 27: case 28: case 29:
		return logic_immediate(regs, word);
	case 30:
		return rotate_doubleword(regs, word);
	case 31:
		return extended(regs, word);
	}
	return 0;
}
#endif
