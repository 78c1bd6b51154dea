/*
 * Probes on instructions that are special on ARM, and one that a branch leads away from. There is no decoder here but
 * this: what is done instead of an instruction depends on a few bits of it, see ARM ARM, A5.
 */
#include "selftest.h"

unsigned long work_frame(unsigned long a, unsigned long b);
unsigned long work_tight_loop(unsigned long a, unsigned long b);
unsigned long work_pc_relative(unsigned long a, unsigned long b);
unsigned long work_call_first(unsigned long a, unsigned long b);
unsigned long work_jcc_first(unsigned long a, unsigned long b);
unsigned long work_conditions(unsigned long a, unsigned long b);
unsigned long work_flags(unsigned long a, unsigned long b);
unsigned long work_tail(unsigned long a, unsigned long b);
unsigned long work_indirect_call(unsigned long a, unsigned long b);
unsigned long work_update(unsigned long a, unsigned long b);
unsigned long work_multiple(unsigned long a, unsigned long b);
unsigned long work_pairs(unsigned long a, unsigned long b);
unsigned long work_multiply(unsigned long a, unsigned long b);
unsigned long work_values(unsigned long a, unsigned long b);
unsigned long values_9(unsigned long a, unsigned long b);

kprobe_insn_handler_t emulate_to_d, emulate_to_n, emulate_to_d_n, emulate_flags, emulate_load, emulate_store,
	emulate_load_pair, emulate_store_pair, emulate_block, emulate_block_low, emulate_block_high, emulate_block_pc,
	emulate_branch, emulate_branch_register, emulate_mrs, emulate_alu_pc, emulate_load_pc;

#define RETURN 0xe12fff1e	/* bx lr */
#define ALWAYS 0xe0000000
#define IS(word, mask, value) (((word) & (mask)) == (value))
#define D_IS_PC(word) IS(word, 0xf000, 0xf000)
#define LOADS 0x100000

/* Registers that a copy names: fields of the original, and where operands are passed. */
struct copy {
	kprobe_insn_handler_t *handler;
	u32 fields;	/* ones where it names a register */
	u32 names;
};

#define D 0xf000
#define N 0xf0000
#define S 0xf00
#define M 0xf
#define USUAL 0x10302	/* D: r0, N: r1, M: r2, S: r3 */
#define PAIR 0x14002	/* D: r4 and r5 */

/* Data processing: comparisons have no result, and moves no first operand. The second one is a constant, or shifted. */
static struct copy arithmetic(u32 w)
{
	kprobe_insn_handler_t *handler = IS(w, 0x01900000, 0x01100000) ? emulate_flags : emulate_to_d;
	u32 fields = IS(w, 0x01a00000, 0x01a00000) ? D : D | N;

	if (IS(w, 0x0fb00000, 0x03000000))	/* movw, movt */
		return (struct copy){ emulate_to_d, D, USUAL };
	if (D_IS_PC(w) && handler == emulate_to_d)
		return (struct copy){ .handler = emulate_alu_pc };
	if (handler == emulate_flags)
		fields = N;
	if (!(w & 0x02000000))
		fields |= w & 0x10 ? S | M : M;
	return (struct copy){ handler, fields, USUAL };
}

/* What has bits 7 and 4: multiplications, and loads and stores of halves and pairs. */
static struct copy multiplies_and_pairs(u32 w)
{
	const u32 offset = w & 0x400000 ? 0 : M;

	if (IS(w, 0xf0, 0x90))
		return (struct copy){ w & 0x800000 ? emulate_to_d_n : emulate_to_n, w & 0xa00000 ? D | N | S | M : N | S | M, USUAL };
	if (IS(w, LOADS | 0xf0, 0xd0))
		return (struct copy){ emulate_load_pair, D | N | offset, PAIR };
	if (IS(w, LOADS | 0xf0, 0xf0))
		return (struct copy){ emulate_store_pair, D | N | offset, PAIR };
	return (struct copy){ w & LOADS ? emulate_load : emulate_store, D | N | offset, USUAL };
}

static struct copy miscellaneous(u32 w)
{
	if (IS(w, 0x0fffffd0, 0x012fff10))
		return (struct copy){ .handler = emulate_branch_register };
	if (IS(w, 0x0fff0fff, 0x010f0000))
		return (struct copy){ .handler = emulate_mrs };
	if (IS(w, 0x0ff0fff0, 0x0120f000))
		return (struct copy){ emulate_flags, M, USUAL };
	return (struct copy){ emulate_to_d, D | N | M, USUAL };	/* saturating additions */
}

static struct copy transfer(u32 w)
{
	const u32 offset = w & 0x02000000 ? M : 0;

	if (w & LOADS && D_IS_PC(w))
		return (struct copy){ .handler = emulate_load_pc };
	return (struct copy){ w & LOADS ? emulate_load : emulate_store, D | N | offset, USUAL };
}

static struct copy copy_of(u32 w)
{
	switch (w >> 25 & 7) {
	case 0:
		if (IS(w, 0x90, 0x90))
			return multiplies_and_pairs(w);
		if (IS(w, 0x01900000, 0x01000000))
			return miscellaneous(w);
		return arithmetic(w);
	case 1:
		return arithmetic(w);
	case 3:
		if (w & 0x10)
			return (struct copy){ emulate_to_d, D | N | M, USUAL };	/* media */
		return transfer(w);
	case 2:
		return transfer(w);
	case 4:
		return (struct copy){ .handler = emulate_block };
	}
	return (struct copy){ .handler = emulate_branch };
}

#if ERA_BLOCK_COPIES
/* Lists that fit into one of the rows of thirteen registers: r0, r2 or r3 is the first. */
static int copy_block(u32 *w, kprobe_insn_handler_t **handler)
{
	static const struct {
		unsigned int first;
		u32 others;	/* registers that are not in the row */
		kprobe_insn_handler_t *handler;
	} rows[] = {
		{ 0, 0xe000, emulate_block_low }, { 2, 0x8003, emulate_block_high }, { 3, 0x0007, emulate_block_pc },
	};
	const u32 used = (*w & 0xffff) | 1U << (*w >> 16 & 15);

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		if (used & rows[i].others)
			continue;
		*handler = rows[i].handler;
		*w = (*w & 0xfff00000) | ((*w & N) - (rows[i].first << 16)) | (*w & 0xffff) >> rows[i].first;
		return 1;
	}
	return 0;
}
#endif

void prepare_slot(struct kprobe *p)
{
	u32 w = p->opcode;
	const struct copy c = copy_of(w);
	u32 slot[] = { (w & ~c.fields) | (c.names & c.fields), RETURN };

	p->ainsn.insn_handler = c.handler;
#if ERA_BLOCK_COPIES
	if (c.handler == emulate_block)
		copy_block(&slot[0], &p->ainsn.insn_handler);
#endif
	if (ERA_KEEP_CONDITION)
		slot[0] = (slot[0] & ~0xf0000000) | ALWAYS;
	text_poke(p->ainsn.insn, slot, sizeof(slot));
}

/* Every instruction of a function in turn, of which all are executed. */
static void try_all(const char *name, bench_fn fn, unsigned long from, unsigned long n)
{
	for (unsigned long at = from; at < 4 * n; at += 4)
		try_probe(name, fn, at, handler_count, NULL, -1, -1);
}

void try_instructions(void)
{
	try_probe("post", work_frame, 0, handler_count, post_count, -1, -1);
	try_all("frame", work_frame, 0, 7);
	try_probe("loop", work_tight_loop, 0, handler_count, NULL, -1, -1);
	try_all("pc relative", work_pc_relative, 0, 7);
	try_all("call", work_call_first, 0, 4);
	try_all("branch", work_jcc_first, 4, 4);
	try_probe("flags", work_flags, 0, handler_count, NULL, -1, -1);
	try_all("flags", work_flags, 4, 8);
	try_all("tail", work_tail, 0, 3);
	try_all("indirect call", work_indirect_call, 0, 8);
	try_all("update", work_update, 0, 10);
	try_all("multiple", work_multiple, 0, 9);
	try_all("pairs", work_pairs, 0, 4);
	try_all("multiply", work_multiply, 0, 6);
	try_jprobe("jprobe, arguments on the stack", work_values, (bench_fn)(void *)values_9);
}

#if ERA_OPTIMIZE
/* A branch with the condition of a word. */
static kprobe_opcode_t branch(const kprobe_opcode_t *at, const kprobe_opcode_t *to, kprobe_opcode_t like)
{
	return (like & 0xf0000000) | 0x0a000000 | (((unsigned long)(to - at) - 2) & 0xffffff);
}

static void poke(kprobe_opcode_t *at, kprobe_opcode_t word)
{
	text_poke(at, &word, sizeof(word));
}

unsigned long prepare_detour(struct jump_probe *op, u8 jump[MAX_JUMP])
{
	kprobe_opcode_t *d = __detours_start, word = branch(op->kp.addr, d, *op->kp.addr);

	text_poke(d, detour_template, (detour_template_end - detour_template) * sizeof(*d));
	poke(d + (detour_template_value - detour_template), (unsigned long)op);
	poke(d + (detour_template_call - detour_template), (unsigned long)detour_called);
	op->detour = d;
	op->moved = sizeof(word);
	memcpy(jump, &word, sizeof(word));
	return sizeof(word);
}
#endif
