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
#else
#define POPF_AT 13
#define CALL_AT 5
#endif

/* Whole instructions of bench_target, for a jump. A traced one begins with a nop that has room for it. */
#if defined(__x86_64__) || defined(FENTRY)
#define REGION 5
#else
#define REGION 6
#endif

#if ERA_COPY_TRAPS || ERA_OPTIMIZE
/* A jump or a call from one place to another. */
static void make_branch(u8 *branch, u8 opcode, const u8 *from, const u8 *to)
{
	s32 rel = to - (from + RELATIVEJUMP_SIZE);

	*branch = opcode;
	memcpy(branch + 1, &rel, sizeof(rel));
}
#endif

#if ERA_COPY_TRAPS
typedef unsigned long emulation(const struct arch_specific_insn *a, struct pt_regs *regs, unsigned long behind);
emulation emulate_pushf, emulate_popf, emulate_cli, emulate_ret, emulate_call, emulate_call_reg;

/* Bytes of a ModRM byte and what belongs to it (SDM vol. 2, section 2.1.5). */
static unsigned int operand_bytes(const u8 *modrm)
{
	unsigned int mod = modrm[0] >> 6, rm = modrm[0] & 7, n = 1;

	if (mod == 3)
		return n;
	if (rm == 4) {
		n++;
		if (mod == 0 && (modrm[1] & 7) == 5)
			n += 4;
	}
	if (mod == 0)
		return rm == 5 ? n + 4 : n;
	return n + (mod == 1 ? 1 : 4);
}

/* Bytes of the instruction, of those that compilers put where the self-test has probes. */
static unsigned int size_of(const u8 *code)
{
	const u8 *at = code;

	if (*at == 0x66)
		at++;
	if ((*at & 0xf0) == 0x40)
		at++;
	switch (*at++) {
	case 0x50 ... 0x5f:	/* push, pop */
		break;
	case 0x0f:		/* nop, loads of bytes and words, imul */
		if (*at != 0x1f && *at != 0xaf && (*at & 0xf6) != 0xb6)
			panic_at("no size of the instruction", (unsigned long)code);
		at += 1 + operand_bytes(at + 1);
		break;
	case 0x01: case 0x03: case 0x29: case 0x2b: case 0x31: case 0x33:	/* add, sub, xor */
	case 0x39: case 0x3b: case 0x63: case 0x85: case 0x89: case 0x8b: case 0x8d: /* cmp, test, mov, lea */
		at += operand_bytes(at);
		break;
	case 0x83: case 0xc1:	/* arithmetic and shifts with a byte */
		at += operand_bytes(at) + 1;
		break;
	case 0x81:		/* arithmetic with four */
		at += operand_bytes(at) + 4;
		break;
	case 0xb8 ... 0xbf:	/* mov of four */
		at += 4;
		break;
	default:
		panic_at("no size of the instruction", (unsigned long)code);
	}
	return at - code;
}

/* Size and function of what is emulated, as registering finds them. 0: there is a copy. */
static unsigned int emulated(struct arch_specific_insn *a, const u8 *code)
{
	a->displacement = 0;
	switch (code[0]) {
	case 0x9c: a->emulate = emulate_pushf; return 1;
	case 0x9d: a->emulate = emulate_popf; return 1;
	case 0xfa: a->emulate = emulate_cli; return 1;
	case 0xc3: a->emulate = emulate_ret; return 1;
	case 0xe8:
		memcpy(&a->displacement, code + 1, sizeof(a->displacement));
		a->emulate = emulate_call;
		return 5;
	case 0xff:
		if (code[1] >> 3 != 0x1a)	/* /2 of a register */
			return 0;
		a->operand = code[1] & 7;
		a->emulate = emulate_call_reg;
		return 2;
	}
	return 0;
}

/* A copy with a breakpoint behind it, and one with a jump back. */
void prepare_slot(struct kprobe *p)
{
	struct arch_specific_insn *a = &p->ainsn;
	u8 *boosted = a->insn + MAX_INSN_SIZE, bp = BREAKPOINT_INSTRUCTION, jump[RELATIVEJUMP_SIZE];

	a->size = emulated(a, p->addr);
	if (a->size)
		return;
	a->size = size_of(p->addr);
	text_poke(a->insn, p->addr, a->size);
	text_poke(a->insn + a->size, &bp, sizeof(bp));
	make_branch(jump, RELATIVEJUMP_OPCODE, boosted + a->size, p->addr + a->size);
	text_poke(boosted, p->addr, a->size);
	text_poke(boosted + a->size, jump, sizeof(jump));
}
#else
void prepare_slot(struct kprobe *p)
{
	text_poke(p->ainsn.insn, p->addr, SLOT_BYTES);
}
#endif

#ifdef FENTRY
void make_entry_call(u8 call[ENTRY_NOP_SIZE], const u8 *entry)
{
	extern const u8 entry_trampoline[];

	make_branch(call, 0xe8, entry, entry_trampoline);
}
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
unsigned long prepare_detour(struct jump_probe *op, u8 jump[MAX_JUMP])
{
	u8 *buffer = __detours_start, *call = buffer + (detour_template_call - detour_template);
	unsigned long size = detour_template_end - detour_template;
	s32 rel = (u8 *)detour_called - (call + 5);

	text_poke(buffer, detour_template, size);
	text_poke(buffer + (detour_template_value - detour_template), &op, sizeof(op));
	text_poke(call + 1, &rel, sizeof(rel));
	text_poke(buffer + size, op->kp.addr, REGION);
	make_branch(jump, RELATIVEJUMP_OPCODE, buffer + size + REGION, op->kp.addr + REGION);
	text_poke(buffer + size + REGION, jump, RELATIVEJUMP_SIZE);
	op->detour = buffer;
	op->moved = REGION;
	make_branch(jump, RELATIVEJUMP_OPCODE, op->kp.addr, buffer);
	return RELATIVEJUMP_SIZE;
}
#endif
