/* Probes on instructions that are special on x86, and one that a jump leads away from. */
#include "selftest.h"

void *memcpy(void *to, const void *from, size_t n);
unsigned long work_flags(unsigned long a, unsigned long b);
unsigned long work_call_first(unsigned long a, unsigned long b);
unsigned long work_cli_sti(unsigned long a, unsigned long b);
unsigned long work_indirect_call(unsigned long a, unsigned long b);
unsigned long work_short(unsigned long a, unsigned long b);
unsigned long work_values(unsigned long a, unsigned long b);
unsigned long values_9(unsigned long a, unsigned long b);
DECLARE_PER_CPU(unsigned long, handler_hits);

/* Offsets of instructions. */
#ifdef __x86_64__
#define POPF_AT 14	/* popf in work_flags */
#define CALL_AT 7	/* the first call in work_indirect_call */
#define REGION 5	/* whole instructions of bench_target, for a jump */
#else
#define POPF_AT 13
#define CALL_AT 5
#define REGION 6
#endif

void try_instructions(void)
{
	try_probe("pushf", work_flags, 0, handler_count, NULL, -1, -1);
	try_probe("popf", work_flags, POPF_AT, handler_count, NULL, -1, -1);
	try_probe("cli", work_cli_sti, 1, handler_count, NULL, -1, -1);
	/* Not sti: qemu traps one instruction late there, which a processor does only after mov ss. */
	try_probe("ret", work_short, 3, handler_count, NULL, -1, 1);
	try_probe("call", work_call_first, 0, handler_count, NULL, -1, -1);
	try_probe("call *reg", work_indirect_call, CALL_AT, handler_count, NULL, -1, -1);
	try_jprobe("jprobe, arguments on the stack", work_values, values_9);
}

#if ERA_OPTIMIZE
void try_optimized(void)
{
	u8 *buffer = __detours_start, jump[5] = { RELATIVEJUMP_OPCODE };
	unsigned long size = detour_template_end - detour_template;
	unsigned long want = bench_target(5, 6);
	struct jump_probe op = { .kp = {
		.addr = (u8 *)bench_target, .pre_handler = group_before,
	} };
	struct kprobe child = { .addr = op.kp.addr, .pre_handler = handler_count };
	struct jump_probe *self = &op;
	s32 rel = (u8 *)detour_called -
		  (buffer + (detour_template_call - detour_template) + 5);
	u8 saved[5];

	op.kp.list = (struct list_head){ &op.kp.list, &op.kp.list };
	ring_append(&op.kp.list, &child.list);
	memcpy(saved, op.kp.addr, 5);
	text_poke(buffer, detour_template, size);
	text_poke(buffer + (detour_template_value - detour_template), &self, sizeof(self));
	text_poke(buffer + (detour_template_call - detour_template) + 1, &rel, 4);
	text_poke(buffer + size, op.kp.addr, REGION);
	*(s32 *)(jump + 1) = op.kp.addr - (buffer + size + sizeof(jump));
	text_poke(buffer + size + REGION, jump, sizeof(jump));
	op.detour = buffer;
	op.moved = REGION;
	op.kp.flags = KPROBE_FLAG_OPTIMIZED;
	percpu_write(handler_hits, 0);
	arm(&op.kp, 7);
	check("pending", bench_target(5, 6), want);
	*(s32 *)(jump + 1) = buffer - (op.kp.addr + 5);
	text_poke(op.kp.addr, jump, 5);
	for (int i = 0; i < 4; i++)
		check("optimized", bench_target(5, 6), want);
	text_poke(op.kp.addr, saved, 5);
	chain_leave(&op.kp.hlist);
	check("optimized hits", percpu_read(handler_hits), 5);
	say("optimized", 5);
}
#else
void try_optimized(void)
{
}
#endif
