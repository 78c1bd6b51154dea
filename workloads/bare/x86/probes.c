/* Probes on instructions that are special on x86, and one that a jump leads away from. */
#include "selftest.h"

unsigned long work_flags(unsigned long a, unsigned long b);
unsigned long work_call_first(unsigned long a, unsigned long b);
unsigned long work_cli_sti(unsigned long a, unsigned long b);
unsigned long work_indirect_call(unsigned long a, unsigned long b);
unsigned long work_short(unsigned long a, unsigned long b);
unsigned long work_values(unsigned long a, unsigned long b);
unsigned long values_9(unsigned long a, unsigned long b);

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

void prepare_slot(struct kprobe *p)
{
	text_poke(p->ainsn.insn, p->addr, SLOT_BYTES);
}

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
/* A jump from one place to another. */
static void make_jump(u8 *jump, const u8 *from, const u8 *to)
{
	s32 rel = to - (from + RELATIVEJUMP_SIZE);

	*jump = RELATIVEJUMP_OPCODE;
	memcpy(jump + 1, &rel, sizeof(rel));
}

unsigned long prepare_detour(struct jump_probe *op, u8 jump[MAX_JUMP])
{
	u8 *buffer = __detours_start, *call = buffer + (detour_template_call - detour_template);
	unsigned long size = detour_template_end - detour_template;
	s32 rel = (u8 *)detour_called - (call + 5);

	text_poke(buffer, detour_template, size);
	text_poke(buffer + (detour_template_value - detour_template), &op, sizeof(op));
	text_poke(call + 1, &rel, sizeof(rel));
	text_poke(buffer + size, op->kp.addr, REGION);
	make_jump(jump, buffer + size + REGION, op->kp.addr + REGION);
	text_poke(buffer + size + REGION, jump, RELATIVEJUMP_SIZE);
	op->detour = buffer;
	op->moved = REGION;
	make_jump(jump, op->kp.addr, buffer);
	return RELATIVEJUMP_SIZE;
}
#endif
