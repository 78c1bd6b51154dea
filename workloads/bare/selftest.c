/*
 * Drives the hit path with probes that are set up by hand: single-stepped, boosted, optimized,
 * jprobes, return probes, nested hits, faults. Any difference from the unprobed result is a panic.
 */
#include <linux/era.h>
#include <linux/hit.h>
#include <linux/sched.h>
#include <linux/workload.h>
#include <asm/extable.h>

void say(const char *what, unsigned long v);
void try_user(void);
void *text_poke(void *addr, const void *src, unsigned long n);
void *memcpy(void *to, const void *from, size_t n);
int handler_count(struct kprobe *p, struct pt_regs *regs);
int handler_faulting(struct kprobe *p, struct pt_regs *regs);
void post_count(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int ret_count(struct kretprobe_instance *ri, struct pt_regs *regs);
unsigned long work_flags(unsigned long a, unsigned long b);
unsigned long work_call_first(unsigned long a, unsigned long b);
unsigned long work_recursive(unsigned long a, unsigned long b);
unsigned long work_faulting(unsigned long a, unsigned long b);
unsigned long work_cli_sti(unsigned long a, unsigned long b);
unsigned long work_indirect_call(unsigned long a, unsigned long b);
unsigned long work_short(unsigned long a, unsigned long b);
unsigned long bench_target(unsigned long a, unsigned long b);
unsigned long jprobe_arguments(unsigned long a, unsigned long b);
unsigned long work_values(unsigned long a, unsigned long b);
unsigned long values_9(unsigned long a, unsigned long b);
DECLARE_PER_CPU(unsigned long, handler_hits);

extern u8 __slots_start[], __detours_start[];

/* Offsets of instructions in functions of x86, and the address of free memory. */
#ifdef __x86_64__
#define POPF_AT 14	/* popf in work_flags */
#define CALL_AT 7	/* the first call in work_indirect_call */
#define REGION 5	/* whole instructions of bench_target, for a jump */
#define SPEED_TABLE 0xffff880001000000UL
#else
#define POPF_AT 13
#define CALL_AT 5
#define REGION 6
#define SPEED_TABLE 0xc1000000UL
#endif

static void check(const char *what, unsigned long got, unsigned long want)
{
	if (got == want)
		return;
	say(what, got);
	panic_at("wanted", want);
}

/* Copies a whole slot, as there is no decoder here: bytes behind the first instruction are not executed
   when it is stepped, and a boost writes its jump over them. */
static void arm(struct kprobe *p, int slot)
{
	u8 bp = BREAKPOINT_INSTRUCTION;

	p->opcode = *p->addr;
	p->ainsn.insn = __slots_start + slot * MAX_INSN_SIZE;
	text_poke(p->ainsn.insn, p->addr, MAX_INSN_SIZE - RELATIVEJUMP_SIZE);
	chain_push(&probe_table[hash_ptr(p->addr, HIT_HASH_BITS)], &p->hlist);
	text_poke(p->addr, &bp, 1);
}

static void disarm(struct kprobe *p)
{
	text_poke(p->addr, &p->opcode, 1);
	chain_leave(&p->hlist);
}

#if ERA_RETURN_TRAP
/* The kernel registers one probe: that of the return trampoline, a nop. */
int register_kprobe(struct kprobe *p)
{
	arm(p, 8);
	return 0;
}
#endif

/* One probe at the start of fn: results and hits over a few calls. */
static void try_probe(const char *name, bench_fn fn, unsigned long at,
		      kprobe_pre_handler_t pre, kprobe_post_handler_t post, int boostable,
		      int want_boostable)
{
	struct kprobe p = {
		.addr = (u8 *)fn + at, .pre_handler = pre, .post_handler = post,
	};
	unsigned long want[8], hits;

	if (!ERA_BOOST)
		want_boostable = boostable;
	for (int i = 0; i < 8; i++)
		want[i] = fn(i * 7, i + 3);
	p.ainsn.boostable = boostable;
	arm(&p, 3);
	percpu_write(handler_hits, 0);
	for (int i = 0; i < 8; i++)
		check(name, fn(i * 7, i + 3), want[i]);
	hits = percpu_read(handler_hits);
	disarm(&p);
	check("hits", hits, (pre == handler_count ? 8 : 0) + (post ? 8 : 0));
	check("boostable", p.ainsn.boostable, want_boostable);
	check("kprobe_running", (unsigned long)kprobe_running(), 0);
	say(name, hits);
}

static void try_retprobe(const char *name, bench_fn fn, int instances, unsigned long hits)
{
	static struct kretprobe_instance ri[16];
	struct kretprobe rp = {
		.kp = { .addr = (u8 *)fn, .pre_handler = return_probe_entered },
		.handler = ret_count,
	};
	unsigned long want = fn(12, 3);

	for (int i = 0; i < instances; i++)
		chain_push(&rp.free_instances, &ri[i].hlist);
	arm(&rp.kp, 4);
	percpu_write(handler_hits, 0);
	check(name, fn(12, 3), want);
	disarm(&rp.kp);
	check(name, percpu_read(handler_hits), hits);
	say(name, rp.nmissed);
}

/* A jprobe at the start of probed, which fn calls once. */
static void try_jprobe(const char *name, bench_fn fn, bench_fn probed)
{
	struct jprobe jp = {
		.kp = {
			.addr = (u8 *)probed, .pre_handler = jprobe_divert,
			.break_handler = jprobe_resume,
		},
		.entry = jprobe_arguments,
	};
	unsigned long want = fn(1234, 56);

	jp.kp.ainsn.boostable = -1;
	arm(&jp.kp, 9);
	percpu_write(handler_hits, 0);
	for (int i = 0; i < 3; i++)
		check(name, fn(1234, 56), want);
	disarm(&jp.kp);
	check(name, percpu_read(handler_hits), 3);
	check("kprobe_running", (unsigned long)kprobe_running(), 0);
	say(name, 3);
}

/* The probe's own handler hits a probe: counted, not called. */
static int handler_nested(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return bench_target(1, 2) == 0;
}

static void try_nested(void)
{
	struct kprobe inner = { .addr = (u8 *)bench_target, .pre_handler = handler_count };
	struct kprobe outer = { .addr = (u8 *)work_short, .pre_handler = handler_nested };

	arm(&inner, 5);
	arm(&outer, 6);
	percpu_write(handler_hits, 0);
	for (unsigned long i = 0; i < 4; i++)
		check("nested", work_short(i, 9), i);
	disarm(&outer);
	disarm(&inner);
	check("nested hits", percpu_read(handler_hits), 0);
	/* Kernels of 2005 take the nested breakpoint away and count nothing. */
	check("nested nmissed", inner.nmissed, ERA_NESTED_RUNS ? 4 : 0);
	say("nested", inner.nmissed);
}

#if ERA_OPTIMIZE
static void try_optimized(void)
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
static void try_optimized(void)
{
}
#endif

static void report(const char *name, bench_fn fn, unsigned long n, unsigned long table)
{
	say(name, fn(n, table));
}

/* One loop is chosen when the kernel is built, and runs long enough to be timed from outside. */
static void speed(void)
{
	unsigned long speed_alu(unsigned long n), speed_calls(unsigned long n);
	unsigned long speed_chase(unsigned long n, unsigned long *table);
	void speed_chase_init(unsigned long *table);
	unsigned long *table __unused = (unsigned long *)SPEED_TABLE;

#if defined(SPEED_ALU)
	report("alu", (bench_fn)(void *)speed_alu, SPEED_ALU, 0);
#elif defined(SPEED_CALLS)
	report("calls", (bench_fn)(void *)speed_calls, SPEED_CALLS, 0);
#elif defined(SPEED_CHASE)
	speed_chase_init(table);
	report("chase", (bench_fn)(void *)speed_chase, SPEED_CHASE, (unsigned long)table);
#else
	report("alu", (bench_fn)(void *)speed_alu, 1000, 0);
	report("calls", (bench_fn)(void *)speed_calls, 1000, 0);
	speed_chase_init(table);
	report("chase", (bench_fn)(void *)speed_chase, 1000, (unsigned long)table);
#endif
}

/* The offset of the instruction of the function that the exception table names. */
static unsigned long fault_at(bench_fn fn)
{
	extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];
	unsigned long start = (unsigned long)fn;

	for (const struct exception_table_entry *e = __start___ex_table; e < __stop___ex_table; e++) {
		if (e->insn >= start && e->insn < start + 64)
			return e->insn - start;
	}
	panic_at("no exception table entry", start);
}

void selftest(void)
{
	try_probe("step", bench_target, 0, handler_count, NULL, -1, -1);
	try_probe("boost", bench_target, 0, handler_count, NULL, 0, 1);
	try_probe("post", bench_target, 0, handler_count, post_count, -1, -1);
	try_probe("pushf", work_flags, 0, handler_count, NULL, -1, -1);
	try_probe("popf", work_flags, POPF_AT, handler_count, NULL, -1, -1);
	try_probe("cli", work_cli_sti, 1, handler_count, NULL, -1, -1);
	/* Not sti: qemu traps one instruction late there, which a processor does only after mov ss. */
	try_probe("ret", work_short, 3, handler_count, NULL, -1, 1);
	try_probe("call", work_call_first, 0, handler_count, NULL, -1, -1);
	try_probe("call *reg", work_indirect_call, CALL_AT, handler_count, NULL, -1, -1);
	try_probe("fault in step", work_faulting, fault_at(work_faulting), handler_count, NULL, -1, -1);
	try_probe("fault in handler", bench_target, 0, handler_faulting, NULL, -1, -1);
	try_retprobe("return", bench_target, 1, 1);
	try_retprobe("recursive return", work_recursive, 16, 13);
	try_retprobe("too few instances", work_recursive, 4, 4);
	try_jprobe("jprobe", bench_target, bench_target);
	try_jprobe("jprobe, arguments on the stack", work_values, values_9);
	try_nested();
	try_optimized();
	try_user();
	speed();
}
