/*
 * Drives the hit path with probes that are set up by hand: single-stepped, boosted, optimized,
 * jprobes, return probes, nested hits, faults. Any difference from the unprobed result is a panic. A kernel without
 * Kprobes has user mode alone tested.
 */
#include "selftest.h"
#include <asm/extable.h>

void try_user(void);
int handler_faulting(struct kprobe *p, struct pt_regs *regs);
int ret_count(struct kretprobe_instance *ri, struct pt_regs *regs);
unsigned long work_recursive(unsigned long a, unsigned long b);
unsigned long work_faulting(unsigned long a, unsigned long b);
unsigned long work_short(unsigned long a, unsigned long b);
DECLARE_PER_CPU(unsigned long, handler_hits);

void check(const char *what, unsigned long got, unsigned long want)
{
	if (got == want)
		return;
	say(what, got);
	panic_at("wanted", want);
}

void arm(struct kprobe *p, int slot)
{
	kprobe_opcode_t bp = BREAKPOINT_INSTRUCTION;

	p->opcode = *p->addr;
	p->ainsn.insn = __slots_start + slot * SLOT_STRIDE;
	prepare_slot(p);
	chain_push(&probe_table[hash_ptr(p->addr, HIT_HASH_BITS)], &p->hlist);
	text_poke(p->addr, &bp, sizeof(bp));
}

static void disarm(struct kprobe *p)
{
	text_poke(p->addr, &p->opcode, sizeof(p->opcode));
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

/* Calls out of 8 that execute the probed instruction. */
static unsigned long reached = 8;

void try_probe(const char *name, bench_fn fn, unsigned long at,
	       kprobe_pre_handler_t pre, kprobe_post_handler_t post, int boostable,
	       int want_boostable)
{
	struct kprobe p = {
		.addr = code_at(fn, at), .pre_handler = pre, .post_handler = post,
	};
	unsigned long want[8], hits;

	if (!LEARNS)
		want_boostable = boostable;
	for (int i = 0; i < 8; i++)
		want[i] = fn(i * 7, i + 3);
	BOOSTABLE(&p) = boostable;
	arm(&p, 3);
	percpu_write(handler_hits, 0);
	for (int i = 0; i < 8; i++)
		check(name, fn(i * 7, i + 3), want[i]);
	hits = percpu_read(handler_hits);
	disarm(&p);
	check("hits", hits, (pre == handler_count ? reached : 0) + (post ? reached : 0));
	check("boostable", BOOSTABLE(&p), want_boostable);
	check("kprobe_running", (unsigned long)kprobe_running(), 0);
	say(name, hits);
}

/* What registering makes of instances: they are free. */
static void free_instances(struct kretprobe *rp, struct kretprobe_instance *ri, int instances)
{
#if ERA_RETHOOK
	static struct return_hook hook;

	hook = (struct return_hook){ .rp = rp, .instances = instances };
	rp->hook = &hook;
	for (int i = 0; i < instances; i++) {
		ri[i].hook = &hook;
		ri[i].readers = 1;
		ri[i].hlist.next = hook.pool;
		hook.pool = &ri[i].hlist;
	}
#else
	for (int i = 0; i < instances; i++)
		chain_push(&rp->free_instances, &ri[i].hlist);
#endif
}

static void try_retprobe(const char *name, bench_fn fn, int instances, unsigned long hits)
{
	static struct kretprobe_instance ri[16];
	struct kretprobe rp = {
		.kp = { .addr = code_at(fn, 0), .pre_handler = return_probe_entered },
		.handler = ret_count,
	};
	unsigned long want = fn(12, 3);

	free_instances(&rp, ri, instances);
	arm(&rp.kp, 4);
	percpu_write(handler_hits, 0);
	check(name, fn(12, 3), want);
	disarm(&rp.kp);
	check(name, percpu_read(handler_hits), hits);
	say(name, rp.nmissed);
}

#if !ERA_COPY_TRAPS
/*
 * Calls fn with as many arguments as a jprobe may have. It spoils them until fn runs, and what lay there for fewer
 * would be the caller's.
 */
static unsigned long call_with_nine(bench_fn fn, unsigned long a, unsigned long b)
{
	unsigned long (*nine)(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
			      unsigned long, unsigned long, unsigned long, unsigned long) = (void *)fn;

	return nine(a, b, 0, 0, 0, 0, 0, 0, 0);
}
#endif

void try_jprobe(const char *name __unused, bench_fn fn __unused, bench_fn probed __unused)
{
#if !ERA_COPY_TRAPS
	struct jprobe jp = {
		.kp = {
			.addr = code_at(probed, 0), .pre_handler = jprobe_divert,
			.break_handler = jprobe_resume,
		},
		.entry = JPROBE,
	};
	unsigned long want = fn(1234, 56);

	BOOSTABLE(&jp.kp) = -1;
	arm(&jp.kp, 9);
	percpu_write(handler_hits, 0);
	for (int i = 0; i < 3; i++)
		check(name, call_with_nine(fn, 1234, 56), want);
	disarm(&jp.kp);
	check(name, percpu_read(handler_hits), 3);
	check("kprobe_running", (unsigned long)kprobe_running(), 0);
	say(name, 3);
#endif
}

/* The probe's own handler hits a probe: counted, not called. */
static int handler_nested(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return bench_target(1, 2) == 0;
}

static void try_nested(void)
{
	struct kprobe inner = {
		.addr = code_at(bench_target, 0), .pre_handler = handler_count,
	};
	struct kprobe outer = {
		.addr = code_at(work_short, 0), .pre_handler = handler_nested,
	};
	unsigned long want[4];

	for (unsigned long i = 0; i < 4; i++)
		want[i] = work_short(i, 9);
	arm(&inner, 5);
	arm(&outer, 6);
	percpu_write(handler_hits, 0);
	for (unsigned long i = 0; i < 4; i++)
		check("nested", work_short(i, 9), want[i]);
	disarm(&outer);
	disarm(&inner);
	check("nested hits", percpu_read(handler_hits), 0);
	/* Kernels of 2005 take the nested breakpoint away and count nothing. */
	check("nested nmissed", inner.nmissed, ERA_NESTED_RUNS ? 4 : 0);
	say("nested", inner.nmissed);
}

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

/* The offset of the first instruction of the function that the exception table names, and how many it names. */
static unsigned long fault_at(bench_fn fn, unsigned long *n)
{
	extern const struct exception_table_entry __start___ex_table[], __stop___ex_table[];
	unsigned long start = (unsigned long)code_at(fn, 0), first = 0;

	*n = 0;
	for (const struct exception_table_entry *e = __start___ex_table; e < __stop___ex_table; e++) {
		if (e->insn < start || e->insn >= start + 128)
			continue;
		if (!(*n)++)
			first = e->insn - start;
	}
	if (!*n)
		panic_at("no exception table entry", start);
	return first;
}

/* A compiler may have made two loads of the one that faults: then each is executed by every other call. */
static void try_fault(void)
{
	unsigned long loads, at = fault_at(work_faulting, &loads);

	reached = 8 / loads;
	try_probe("fault in step", work_faulting, at, handler_count, NULL, -1, -1);
	reached = 8;
	try_probe("fault in handler", bench_target, 0, handler_faulting, NULL, -1, -1);
}

/* A probe with a detour is hit by its breakpoint, until the jump is written, and by the jump from then on. */
static void try_optimized(void)
{
#if ERA_OPTIMIZE
	unsigned long want = bench_target(5, 6), size;
	struct jump_probe op = { .kp = {
		.addr = code_at(bench_target, 0), .pre_handler = group_before,
	} };
	struct kprobe child = { .addr = op.kp.addr, .pre_handler = handler_count };
	u8 saved[MAX_JUMP], jump[MAX_JUMP];

	op.kp.list = (struct list_head){ &op.kp.list, &op.kp.list };
	ring_append(&op.kp.list, &child.list);
	memcpy(saved, op.kp.addr, sizeof(saved));
	size = prepare_detour(&op, jump);
	op.kp.flags = KPROBE_FLAG_OPTIMIZED;
	percpu_write(handler_hits, 0);
	arm(&op.kp, 7);
	check("pending", bench_target(5, 6), want);
	text_poke(op.kp.addr, jump, size);
	for (int i = 0; i < 4; i++)
		check("optimized", bench_target(5, 6), want);
	text_poke(op.kp.addr, saved, size);
	chain_leave(&op.kp.hlist);
	check("optimized hits", percpu_read(handler_hits), 5);
	say("optimized", 5);
#endif
}

/* The probed function begins with a call of the trampoline. */
static void try_entry(void)
{
#ifdef FENTRY
	struct kprobe p = {
		.addr = code_at(bench_target, 0), .pre_handler = handler_count, .post_handler = post_count,
	};
	unsigned long want = bench_target(5, 6);
	u8 saved[ENTRY_NOP_SIZE], call[ENTRY_NOP_SIZE];

	memcpy(saved, p.addr, sizeof(saved));
	make_entry_call(call, p.addr);
	chain_push(&probe_table[hash_ptr(p.addr, HIT_HASH_BITS)], &p.hlist);
	text_poke(p.addr, call, sizeof(call));
	percpu_write(handler_hits, 0);
	for (int i = 0; i < 4; i++)
		check("entry", bench_target(5, 6), want);
	text_poke(p.addr, saved, sizeof(saved));
	chain_leave(&p.hlist);
	check("entry hits", percpu_read(handler_hits), 8);
	check("kprobe_running", (unsigned long)kprobe_running(), 0);
	say("entry", 4);
#endif
}

static void try_probes(void)
{
	try_probe("step", bench_target, 0, handler_count, NULL, -1, -1);
	try_probe("boost", bench_target, 0, handler_count, NULL, MAY_BOOST, LEARNT);
	try_probe("post", bench_target, 0, handler_count, post_count, -1, -1);
	try_instructions();
	try_fault();
	try_retprobe("return", bench_target, 1, 1);
	try_retprobe("recursive return", work_recursive, 16, 13);
	try_retprobe("too few instances", work_recursive, 4, 4);
	try_jprobe("jprobe", bench_target, bench_target);
	try_nested();
	try_optimized();
	try_entry();
}

void selftest(void)
{
	if (HAS_KPROBES)
		try_probes();
	try_user();
	speed();
}
