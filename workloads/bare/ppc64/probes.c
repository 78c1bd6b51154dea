/* Probes on instructions that are special on ppc64, and one that a branch leads away from. */
#include "selftest.h"

unsigned long work_frame(unsigned long a, unsigned long b);
unsigned long work_jcc_first(unsigned long a, unsigned long b);
unsigned long work_flags(unsigned long a, unsigned long b);
unsigned long work_cli_sti(unsigned long a, unsigned long b);
unsigned long work_trap_first(unsigned long a, unsigned long b);
unsigned long work_update(unsigned long a, unsigned long b);
unsigned long work_multiple(unsigned long a, unsigned long b);
unsigned long work_counted(unsigned long a, unsigned long b);
unsigned long work_indirect_call(unsigned long a, unsigned long b);
DECLARE_PER_CPU(unsigned long, handler_hits);

/* Every instruction of a function in turn, but the last. */
static void try_all(const char *name, bench_fn fn, unsigned long n)
{
	for (unsigned long at = 0; at < 4 * n; at += 4)
		try_probe(name, fn, at, handler_count, NULL, -1, -1);
}

void try_instructions(void)
{
	try_probe("emulate", work_frame, 0, handler_count, NULL, 0, LEARNT);
	try_probe("emulate, post", work_frame, 0, handler_count, post_count, 0, LEARNT);
	try_probe("branch", work_jcc_first, 0, handler_count, NULL, 0, 1);
	try_probe("mfmsr", work_cli_sti, 0, handler_count, NULL, 0, 1);
	try_probe("trap", work_trap_first, 0, handler_count, NULL, -1, -1);
	try_all("frame", work_frame, 13);
	try_all("flags", work_flags, 8);
	try_all("update", work_update, 9);
	try_all("multiple", work_multiple, 10);
	try_all("call", work_indirect_call, 10);
	try_probe("counted", work_counted, 8, handler_count, NULL, -1, -1);
}

#if ERA_OPTIMIZE
#define LOW 0xffffU

static void put(kprobe_opcode_t *at, kprobe_opcode_t word)
{
	text_poke(at, &word, sizeof(word));
}

/* A branch, with a link or without. */
static void put_branch(kprobe_opcode_t *at, const kprobe_opcode_t *to, unsigned int link)
{
	put(at, 0x48000000U | (((unsigned long)to - (unsigned long)at) & 0x3fffffcU) | link);
}

static kprobe_opcode_t *fill(const struct jump_probe *op)
{
	const unsigned long self = (unsigned long)op, words = detour_template_end - detour_template;
	kprobe_opcode_t *d = __detours_start, *value = d + (detour_template_value - detour_template);
	kprobe_opcode_t *insn = d + (detour_template_insn - detour_template), word = *op->kp.addr;

	text_poke(d, detour_template, words * sizeof(*d));
	put(value, value[0] | self >> 48);
	put(value + 1, value[1] | (self >> 32 & LOW));
	put(value + 3, value[3] | (self >> 16 & LOW));
	put(value + 4, value[4] | (self & LOW));
	put(insn, insn[0] | word >> 16);
	put(insn + 1, insn[1] | (word & LOW));
	put_branch(d + (detour_template_call - detour_template), code_at(detour_called, 0), 1);
	put_branch(d + (detour_template_emulate - detour_template), code_at(emulate_displaced, 0), 1);
	put_branch(d + words, op->kp.addr + 1, 0);
	return d;
}

void try_optimized(void)
{
	unsigned long want = bench_target(5, 6);
	struct jump_probe op = { .kp = {
		.addr = code_at(bench_target, 0), .pre_handler = group_before,
	} };
	struct kprobe child = { .addr = op.kp.addr, .pre_handler = handler_count };
	kprobe_opcode_t saved = *op.kp.addr;

	op.kp.list = (struct list_head){ &op.kp.list, &op.kp.list };
	ring_append(&op.kp.list, &child.list);
	op.detour = fill(&op);
	op.moved = sizeof(saved);
	op.kp.flags = KPROBE_FLAG_OPTIMIZED;
	percpu_write(handler_hits, 0);
	arm(&op.kp, 7);
	check("pending", bench_target(5, 6), want);
	put_branch(op.kp.addr, op.detour, 0);
	for (int i = 0; i < 4; i++)
		check("optimized", bench_target(5, 6), want);
	put(op.kp.addr, saved);
	chain_leave(&op.kp.hlist);
	check("optimized hits", percpu_read(handler_hits), 5);
	say("optimized", 5);
}
#else
void try_optimized(void)
{
}
#endif
