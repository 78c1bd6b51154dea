/* What handlers are called with, and what they may do. */

static long seen_ip, seen_after, seen_flags;
static int irqs_before, irqs_after;

/* How far behind the probe, if it is near. */
static long distance(struct kprobe *p, struct pt_regs *regs)
{
	long n = (long)instruction_pointer(regs) - (long)p->addr;

	return n > -64 && n < 64 ? n : 999;
}

static int look(struct kprobe *p, struct pt_regs *regs)
{
	seen_ip = distance(p, regs);
	irqs_before = !!irqs_disabled();
	return 0;
}

static void look_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seen_after = distance(p, regs);
	seen_flags = flags;
	irqs_after = !!irqs_disabled();
}

static void look_at(const char *symbol, const char *what)
{
	named(&probe, symbol)->pre_handler = look;
	probe.post_handler = look_after;
	register_kprobe(&probe);
	fact_plain(1);
	fact_traced(1);
	unregister_kprobe(&probe);
	pr_info("fact handler.ip-%s %ld\n", what, seen_ip);
	pr_info("fact handler.interrupts-off-%s %d\n", what, irqs_before);
	pr_info("fact handler.interrupts-off-after-%s %d\n", what, irqs_after);
	pr_info("fact handler.flags-after-%s %ld\n", what, seen_flags);
}

/* The first argument of a function. */
static unsigned long *argument(struct pt_regs *regs)
{
#if defined(__x86_64__)
	return &regs->di;
#elif defined(CONFIG_X86)
	return (unsigned long *)&regs->ax;
#elif defined(__powerpc64__)
	return &regs->gpr[3];
#else
	return (unsigned long *)&regs->ARM_r0;
#endif
}

static int change_argument(struct kprobe *p, struct pt_regs *regs)
{
	*argument(regs) = 41;
	return 0;
}

#if SINCE(4, 19, 0)
/* Execution goes on in another function. */
static int divert(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)fact_other);
	return 1;
}

static void diversions(void)
{
	/* A handler behind the instruction keeps jumps away, behind which nobody is diverted. */
	named(&probe, "fact_plain")->pre_handler = divert;
	probe.post_handler = count_post;
	register_kprobe(&probe);
	FACT("handler.diverts", fact_plain(1));
	FACT("handler.diverts-again", fact_plain(2));
	unregister_kprobe(&probe);
	named(&probe, "fact_traced")->pre_handler = divert;
	register_kprobe(&probe);
	FACT("handler.diverts-traced", fact_traced(1));
	unregister_kprobe(&probe);
}
#else
static void diversions(void)
{
	ABSENT("handler.diverts");
	ABSENT("handler.diverts-again");
	ABSENT("handler.diverts-traced");
}
#endif

static void handlers(void)
{
	forget();
	named(&probe, "fact_plain")->post_handler = count_post;
	register_kprobe(&probe);
	FACT("handler.result", fact_plain(1));
	unregister_kprobe(&probe);
	TEXT_FACT("handler.order", events);
	forget();
	named(&probe, "fact_traced")->post_handler = count_post;
	register_kprobe(&probe);
	FACT("handler.result-traced", fact_traced(1));
	unregister_kprobe(&probe);
	TEXT_FACT("handler.order-traced", events);
	named(&probe, "fact_plain")->pre_handler = NULL;
	register_kprobe(&probe);
	FACT("handler.none", fact_plain(1));
	unregister_kprobe(&probe);
	look_at("fact_plain", "plain");
	look_at("fact_traced", "traced");
	named(&probe, "fact_plain")->pre_handler = change_argument;
	register_kprobe(&probe);
	FACT("handler.changes-argument", fact_plain(1));
	unregister_kprobe(&probe);
	forget();
	register_kprobe(located(&probe, middle));
	FACT("handler.result-middle", fact_middle(1));
	FACT("handler.hits-middle", hits);
	unregister_kprobe(&probe);
	diversions();
}
