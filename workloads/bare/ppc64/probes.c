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

/* Every instruction of a function in turn, but the last. */
static void try_all(const char *name, bench_fn fn, unsigned long n)
{
	for (unsigned long at = 0; at < 4 * n; at += 4)
		try_probe(name, fn, at, handler_count, NULL, -1, -1);
}

void prepare_slot(struct kprobe *p)
{
	text_poke(p->ainsn.insn, p->addr, SLOT_BYTES);
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

static void poke(kprobe_opcode_t *at, kprobe_opcode_t word)
{
	text_poke(at, &word, sizeof(word));
}

/* A branch, with a link or without. */
static kprobe_opcode_t branch(const kprobe_opcode_t *at, const kprobe_opcode_t *to, unsigned int link)
{
	return 0x48000000U | (((unsigned long)to - (unsigned long)at) & 0x3fffffcU) | link;
}

static void put_call(kprobe_opcode_t *at, const void *fn)
{
	poke(at, branch(at, code_at(fn, 0), 1));
}

unsigned long prepare_detour(struct jump_probe *op, u8 jump[MAX_JUMP])
{
	const unsigned long self = (unsigned long)op, words = detour_template_end - detour_template;
	kprobe_opcode_t *d = __detours_start, *value = d + (detour_template_value - detour_template);
	kprobe_opcode_t *insn = d + (detour_template_insn - detour_template), word = *op->kp.addr;

	text_poke(d, detour_template, words * sizeof(*d));
	poke(value, value[0] | self >> 48);
	poke(value + 1, value[1] | (self >> 32 & LOW));
	poke(value + 3, value[3] | (self >> 16 & LOW));
	poke(value + 4, value[4] | (self & LOW));
	poke(insn, insn[0] | word >> 16);
	poke(insn + 1, insn[1] | (word & LOW));
	put_call(d + (detour_template_call - detour_template), detour_called);
	put_call(d + (detour_template_emulate - detour_template), emulate_displaced);
	poke(d + words, branch(d + words, op->kp.addr + 1, 0));
	op->detour = d;
	op->moved = sizeof(word);
	word = branch(op->kp.addr, d, 0);
	memcpy(jump, &word, sizeof(word));
	return sizeof(word);
}
#endif
