/*
 * Compares the guest's emulator of ppc64 instructions with the processor that executes this program. Each form is
 * executed and emulated from random states; registers, the sandbox and the next address must agree. The program is
 * linked without a library. It prints each disagreement and ends with 1 if there was one.
 */
#include <asm/hit.h>

/* Below 32 KiB, where an instruction reaches it without a base register. */
#define LOW 0x4000
#define LANDING 0x5000	/* where absolute branches go */
#define STATE_TOOK 288
#define STATE_TEMP 296
#define STATE_HOST 304

struct state {
	unsigned long gpr[32], ccr, xer, link, ctr, took, temp, host, back;
};
extern struct state low;
extern u32 slot[];

static unsigned char sandbox[1024] __attribute__((aligned(256)));

/* What the form is: its fixed bits, those that are drawn, and what else must hold. */
enum {
	MEMORY = 1,		/* RA with a displacement is an address */
	INDEXED = 2,		/* RA and RB are */
	BRANCH = 4,
	MAY_REFUSE = 8,		/* some of its words are not emulated */
	TO_XER = 16,
};

struct form {
	const char *name;
	u32 fixed, drawn;
	int flags;
};

#define XO(op) (31u << 26 | (op) << 1)
#define REGS 0x03fff800u
#define REGS_RC 0x03fff801u
#define D16 0x03ffffffu
#define ARITH(name, op) { name, XO(op), REGS_RC, 0 }
#define NEAR_D 0x03ff007cu	/* small displacements, multiples of four */
#define LOADS(name, op) { name, (unsigned)(op) << 26, 0x03ff007fu, MEMORY }, \
	{ name "u", (unsigned)((op) + 1) << 26, 0x03ff007fu, MEMORY | MAY_REFUSE }
#define LOADS_X(name, op) { name "x", XO(op), REGS, INDEXED }, \
	{ name "ux", XO((op) + 32), REGS, INDEXED | MAY_REFUSE }

static const struct form forms[] = {
	{ "mulli", 7u << 26, D16, 0 }, { "subfic", 8u << 26, D16, 0 }, { "addic", 12u << 26, D16, 0 },
	{ "addic.", 13u << 26, D16, 0 }, { "addi", 14u << 26, D16, 0 }, { "addis", 15u << 26, D16, 0 },
	{ "cmpli", 10u << 26, 0x03bfffffu, 0 }, { "cmpi", 11u << 26, 0x03bfffffu, 0 },
	{ "rlwimi", 20u << 26, D16, 0 }, { "rlwinm", 21u << 26, D16, 0 }, { "rlwnm", 23u << 26, D16, 0 },
	{ "ori", 24u << 26, D16, 0 }, { "oris", 25u << 26, D16, 0 }, { "xori", 26u << 26, D16, 0 },
	{ "xoris", 27u << 26, D16, 0 }, { "andi.", 28u << 26, D16, 0 }, { "andis.", 29u << 26, D16, 0 },
	{ "rldicl", 30u << 26, 0x03ffffe3u, 0 }, { "rldicr", 30u << 26 | 4, 0x03ffffe3u, 0 },
	{ "rldic", 30u << 26 | 8, 0x03ffffe3u, 0 }, { "rldimi", 30u << 26 | 12, 0x03ffffe3u, 0 },
	{ "rldcl", 30u << 26 | 16, 0x03ffffe1u, 0 }, { "rldcr", 30u << 26 | 18, 0x03ffffe1u, 0 },
	{ "cmp", XO(0), 0x03bff800u, 0 }, { "cmpl", XO(32), 0x03bff800u, 0 },
	ARITH("subfc", 8), ARITH("mulhdu", 9), ARITH("addc", 10), ARITH("mulhwu", 11), ARITH("subf", 40),
	ARITH("mulhd", 73), ARITH("mulhw", 75), { "neg", XO(104), 0x03ff0001u, 0 }, ARITH("subfe", 136),
	ARITH("adde", 138), { "subfze", XO(200), 0x03ff0001u, 0 }, { "addze", XO(202), 0x03ff0001u, 0 },
	{ "subfme", XO(232), 0x03ff0001u, 0 }, ARITH("mulld", 233), { "addme", XO(234), 0x03ff0001u, 0 },
	ARITH("mullw", 235), ARITH("add", 266),
	{ "divdu", XO(457), REGS_RC, MAY_REFUSE }, { "divwu", XO(459), REGS_RC, MAY_REFUSE },
	{ "divd", XO(489), REGS_RC, MAY_REFUSE }, { "divw", XO(491), REGS_RC, MAY_REFUSE },
	ARITH("and", 28), ARITH("andc", 60), ARITH("nor", 124), ARITH("eqv", 284), ARITH("xor", 316),
	ARITH("orc", 412), ARITH("or", 444), ARITH("nand", 476),
	ARITH("slw", 24), ARITH("srw", 536), ARITH("sraw", 792), ARITH("srawi", 824), ARITH("sld", 27),
	ARITH("srd", 539), ARITH("srad", 794), { "sradi", XO(826), 0x03fff803u, 0 },
	{ "cntlzw", XO(26), 0x03ff0001u, 0 }, { "cntlzd", XO(58), 0x03ff0001u, 0 },
	{ "extsh", XO(922), 0x03ff0001u, 0 }, { "extsb", XO(954), 0x03ff0001u, 0 },
	{ "extsw", XO(986), 0x03ff0001u, 0 },
	{ "mcrf", 19u << 26, 0x039c0000u, 0 }, { "crnor", 19u << 26 | 33 << 1, REGS, 0 },
	{ "crandc", 19u << 26 | 129 << 1, REGS, 0 }, { "crxor", 19u << 26 | 193 << 1, REGS, 0 },
	{ "crnand", 19u << 26 | 225 << 1, REGS, 0 }, { "crand", 19u << 26 | 257 << 1, REGS, 0 },
	{ "creqv", 19u << 26 | 289 << 1, REGS, 0 }, { "crorc", 19u << 26 | 417 << 1, REGS, 0 },
	{ "cror", 19u << 26 | 449 << 1, REGS, 0 }, { "isync", 19u << 26 | 150 << 1, 0, 0 },
	{ "mfcr", XO(19), 0x03e00000u, 0 }, { "mtcrf", XO(144), 0x03eff000u, 0 },
	{ "mfxer", XO(339) | 1 << 16, 0x03e00000u, 0 }, { "mflr", XO(339) | 8 << 16, 0x03e00000u, 0 },
	{ "mfctr", XO(339) | 9 << 16, 0x03e00000u, 0 }, { "mtxer", XO(467) | 1 << 16, 0x03e00000u, TO_XER },
	{ "mtlr", XO(467) | 8 << 16, 0x03e00000u, 0 }, { "mtctr", XO(467) | 9 << 16, 0x03e00000u, 0 },
	{ "dcbt", XO(278), REGS & 0x001fffffu, 0 }, { "sync", XO(598), 0, 0 }, { "lwsync", XO(598) | 1 << 21, 0, 0 },
	{ "eieio", XO(854), 0, 0 },
	LOADS("lwz", 32), LOADS("lbz", 34), LOADS("stw", 36), LOADS("stb", 38), LOADS("lhz", 40), LOADS("lha", 42),
	LOADS("sth", 44),
	{ "lmw", 46u << 26, NEAR_D, MEMORY | MAY_REFUSE }, { "stmw", 47u << 26, NEAR_D, MEMORY },
	{ "ld", 58u << 26, NEAR_D, MEMORY }, { "ldu", 58u << 26 | 1, NEAR_D, MEMORY | MAY_REFUSE },
	{ "lwa", 58u << 26 | 2, NEAR_D, MEMORY }, { "std", 62u << 26, NEAR_D, MEMORY },
	{ "stdu", 62u << 26 | 1, NEAR_D, MEMORY | MAY_REFUSE },
	LOADS_X("ld", 21), LOADS_X("lwz", 23), LOADS_X("lbz", 87), LOADS_X("std", 149), LOADS_X("stw", 151),
	LOADS_X("stb", 215), LOADS_X("lhz", 279), LOADS_X("lwa", 341), LOADS_X("lha", 343), LOADS_X("sth", 407),
	{ "lwbrx", XO(534), REGS, INDEXED }, { "stwbrx", XO(662), REGS, INDEXED },
	{ "lhbrx", XO(790), REGS, INDEXED }, { "sthbrx", XO(918), REGS, INDEXED },
	{ "b", 18u << 26 | 8, 1, BRANCH }, { "ba", 18u << 26 | LANDING | 2, 1, BRANCH },
	{ "bc", 16u << 26 | 8, 0x03ff0001u, BRANCH }, { "bca", 16u << 26 | LANDING | 2, 0x03ff0001u, BRANCH },
	{ "bclr", 19u << 26 | 16 << 1, 0x03ff0001u, BRANCH },
	{ "bcctr", 19u << 26 | 528 << 1 | 4 << 21, 0x037f0001u, BRANCH },
};

asm(".pushsection .landing, \"ax\"\n"
    "	b take\n"
    "	.popsection\n"
    "	.pushsection .lowdata, \"aw\"\n"
    "	.globl low\n"
    "low:	.skip 512\n"
    "	.popsection\n"
    "	.pushsection .runner, \"awx\"\n"
    "	.globl slot, run\n"
    /* Its caller knows of no call: neither the red zone nor the place for the link register is free. */
    "run:	mflr 0\n"
    "	std 0, 0x4000+312(0)\n"
    "	stdu 1, -1024(1)\n"
    "	.irp r, 2, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
    "	std \\r, 112+8*\\r(1)\n"
    "	.endr\n"
    "	std 1, 0x4000+304(0)\n"
    "	ld 0, 0x4000+256(0)\n	mtcrf 0xff, 0\n"
    "	ld 0, 0x4000+264(0)\n	mtxer 0\n"
    "	ld 0, 0x4000+272(0)\n	mtlr 0\n"
    "	ld 0, 0x4000+280(0)\n	mtctr 0\n"
    "	.irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
    "	ld \\r, 0x4000+8*\\r(0)\n"
    "	.endr\n"
    "slot:	.long 0\n"
    "	b pass\n"
    "take:	std 0, 0x4000+296(0)\n"
    "	li 0, 1\n"
    "	b save\n"
    "pass:	std 0, 0x4000+296(0)\n"
    "	li 0, 0\n"
    "save:	std 0, 0x4000+288(0)\n"
    "	.irp r, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
    "	std \\r, 0x4000+8*\\r(0)\n"
    "	.endr\n"
    "	ld 0, 0x4000+296(0)\n	std 0, 0x4000(0)\n"
    "	mfcr 0\n	std 0, 0x4000+256(0)\n"
    "	mfxer 0\n	std 0, 0x4000+264(0)\n"
    "	mflr 0\n	std 0, 0x4000+272(0)\n"
    "	mfctr 0\n	std 0, 0x4000+280(0)\n"
    "	ld 1, 0x4000+304(0)\n"
    "	.irp r, 2, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
    "	ld \\r, 112+8*\\r(1)\n"
    "	.endr\n"
    "	addi 1, 1, 1024\n"
    "	ld 0, 0x4000+312(0)\n"
    "	mtlr 0\n"
    "	blr\n"
    "	.popsection\n");

/* What the compiler may call. */
void *memcpy(void *to, const void *from, unsigned long n)
{
	while (n--)
		((volatile char *)to)[n] = ((const char *)from)[n];
	return to;
}

void *memset(void *to, int c, unsigned long n)
{
	while (n--)
		((volatile char *)to)[n] = c;
	return to;
}

static long system_call(long number, long a, long b, long c)
{
	register long r0 asm("r0") = number, r3 asm("r3") = a, r4 asm("r4") = b, r5 asm("r5") = c;

	asm volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
		     : : "cr0", "ctr", "xer", "memory", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
	return r3;
}

static void print(const char *text)
{
	long n = 0;

	while (text[n])
		n++;
	system_call(4, 1, (long)text, n);
}

static void print_hex(unsigned long v)
{
	char text[18] = " ";
	int i;

	for (i = 0; i < 16; i++)
		text[1 + i] = "0123456789abcdef"[v >> (60 - 4 * i) & 15];
	text[17] = 0;
	print(text);
}

/* xorshift64*, Vigna 2016. */
static unsigned long seed = 20051122;

static unsigned long draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dUL;
}

/* Numbers at an edge are as frequent as others. */
static unsigned long value(void)
{
	static const unsigned long edges[] = {
		0, 1, ~0UL, 1UL << 63, ~0UL >> 1, 1UL << 31, (1UL << 31) - 1, 1UL << 32, 0xffffffff80000000, 63, 32,
	};
	const unsigned long r = draw();

	return r & 1 ? edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))] : draw() >> (r >> 16 & 63);
}

/* A state in which the word can be executed; 0 where there is none. */
static int prepare(const struct form *f, u32 word, struct state *s)
{
	const unsigned int rt = word >> 21 & 31, ra = word >> 16 & 31, rb = word >> 11 & 31;
	unsigned long i;

	for (i = 0; i < 32; i++)
		s->gpr[i] = value();
	s->ccr = (u32)draw();
	s->xer = draw() & 0xe0000000;
	s->link = s->ctr = value();
	for (i = 0; i < sizeof(sandbox); i++)
		sandbox[i] = draw();
	if (f->flags & TO_XER)
		s->gpr[rt] &= 0xe0000000;
	if (f->flags & BRANCH && (word >> 1 & 0x3ff) == 16)
		s->link = (draw() & 1 ? LANDING : (unsigned long)slot + 8) | (draw() & 3);
	if (f->flags & BRANCH && (word >> 1 & 0x3ff) == 528)
		s->ctr = (draw() & 1 ? LANDING : (unsigned long)slot + 8) | (draw() & 3);
	else if (f->flags & BRANCH && draw() & 1)
		s->ctr = draw() & 3;
	if (!(f->flags & (MEMORY | INDEXED)))
		return 1;
	s->gpr[ra] = (unsigned long)sandbox + 256 + (draw() & 127);
	if (f->flags & INDEXED)
		s->gpr[rb] = draw() & 127;
	return ra != 0 && (!(f->flags & INDEXED) || ra != rb);
}

extern void run_asm(void) asm("run");

static noinline void execute(u32 word)
{
	*(volatile u32 *)slot = word;
	asm volatile("dcbst 0, %0\n\tsync\n\ticbi 0, %0\n\tsync\n\tisync\n\t"
		     "bl run"
		     : : "r"(slot)
		     : "memory", "lr", "ctr", "xer", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "r0", "r3",
		       "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
}

static int differs(const char *what, unsigned long executed, unsigned long emulated)
{
	if (executed == emulated)
		return 0;
	print("  ");
	print(what);
	print_hex(executed);
	print(" emulated");
	print_hex(emulated);
	print("\n");
	return 1;
}

static int compare(const struct state *s, const struct pt_regs *r, u32 word)
{
	const int absolute = word >> 26 >= 16 && word >> 26 <= 18 && word & 2;
	unsigned long went = (unsigned long)slot + 4;
	int i, bad = 0;

	/* A branch that is taken leads to the landing, or to the second word behind it. */
	if (s->took)
		went = absolute || r->nip == LANDING ? LANDING : (unsigned long)slot + 8;
	for (i = 0; i < 32; i++)
		bad |= differs("register", s->gpr[i], r->gpr[i]);
	return bad | differs("cr", s->ccr, r->ccr) | differs("xer", s->xer, r->xer) | differs("lr", s->link, r->link) |
	       differs("ctr", s->ctr, r->ctr) | differs("next", went, r->nip);
}

/* 1: it was emulated, 0: not, -1: in another way. */
static int try(const struct form *f, u32 word)
{
	static unsigned char before[sizeof(sandbox)], after[sizeof(sandbox)];
	struct pt_regs r = { .nip = (unsigned long)slot };
	struct state s;
	unsigned long i;
	int bad;

	if (!prepare(f, word, &s))
		return 1;
	for (i = 0; i < 32; i++)
		r.gpr[i] = s.gpr[i];
	r.ccr = s.ccr;
	r.xer = s.xer;
	r.link = s.link;
	r.ctr = s.ctr;
	for (i = 0; i < sizeof(sandbox); i++)
		before[i] = sandbox[i];
	if (!emulate_displaced(&r, word))
		return 0;
	for (i = 0; i < sizeof(sandbox); i++) {
		after[i] = sandbox[i];
		sandbox[i] = before[i];
	}
	low = s;
	execute(word);
	bad = compare(&low, &r, word);
	for (i = 0; i < sizeof(sandbox); i++)
		bad |= differs("memory", sandbox[i], after[i]);
	return bad ? -1 : 1;
}

static int test(const struct form *f, int rounds)
{
	int i, done = 0, bad = 0;

	for (i = 0; i < rounds && bad < 3; i++) {
		const u32 word = f->fixed | ((u32)draw() & f->drawn);
		const int how = try(f, word);

		if (how < 0 || (!how && !(f->flags & MAY_REFUSE))) {
			bad++;
			print(f->name);
			print(how ? " differs:" : " is not emulated:");
			print_hex(word);
			print("\n");
		}
		done += how > 0;
	}
	if (!done) {
		print(f->name);
		print(": none of its words is emulated\n");
	}
	return bad || !done;
}

void start_c(void)
{
	unsigned long i;
	int bad = 0;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		bad |= test(&forms[i], ROUNDS);
	print(bad ? "" : "all forms agree\n");
	system_call(1, bad, 0, 0);
}

asm(".pushsection .opd, \"aw\"\n	.globl _start\n_start:	.quad enter, .TOC.@tocbase, 0\n	.popsection\n"
    "	.text\nenter:	stdu 1, -128(1)\n	bl .start_c\n");
