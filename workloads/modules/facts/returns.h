/* Return probes. */

static long returned;
static int irqs_at_return;

static int look_at_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	returned = regs_return_value(regs);
	irqs_at_return = !!irqs_disabled();
	return count_return(instance, regs);
}

static int change_result(struct kretprobe_instance *instance, struct pt_regs *regs)
{
#ifdef CONFIG_X86
	regs->ax = 77;
#else
	*argument(regs) = 77;
#endif
	return 0;
}

static void results(void)
{
	forget();
	returning(&return_probe, "fact_plain")->handler = look_at_return;
	FACT("return.register", register_kretprobe(&return_probe));
	FACT("return.result", fact_plain(1));
	FACT("return.seen", returned);
	FACT("return.calls", calls);
	FACT("return.interrupts-off", irqs_at_return);
	FACT("return.register-again", register_kretprobe(&return_probe));
	return_probe.kp.symbol_name = NULL;
	FACT("return.register-again-by-address", register_kretprobe(&return_probe));
	fact_plain(1);
	FACT("return.calls-afterwards", calls);
	unregister_kretprobe(&return_probe);
	fact_plain(1);
	FACT("return.calls-unregistered", calls);
	returning(&return_probe, "fact_plain")->handler = change_result;
	register_kretprobe(&return_probe);
	FACT("return.changed", fact_plain(1));
	unregister_kretprobe(&return_probe);
	returning(&return_probe, "fact_plain")->handler = NULL;
	register_kretprobe(&return_probe);
	FACT("return.no-handler", fact_plain(1));
	unregister_kretprobe(&return_probe);
}

static void most_active(int n, const char *what)
{
	forget();
	returning(&return_probe, "fact_deep")->maxactive = n;
	register_kretprobe(&return_probe);
	pr_info("fact return.maxactive-%s %d\n", what, return_probe.maxactive);
	fact_deep(3);
	pr_info("fact return.calls-%s %u\n", what, calls);
	pr_info("fact return.missed-%s %d %lu\n", what, return_probe.nmissed, return_probe.kp.nmissed);
	unregister_kretprobe(&return_probe);
}

static void sizes(size_t size, const char *what)
{
	returning(&return_probe, "fact_plain")->data_size = size;
	return_probe.maxactive = 2;
	pr_info("fact return.size-%s %d\n", what, try_return(&return_probe));
}

/* Two return probes at one function, told apart by their letters. */
static struct kretprobe second_return;

static int second_called(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	event('S');
	return 0;
}

static void two_returns(void)
{
	forget();
	register_kretprobe(returning(&return_probe, "fact_plain"));
	returning(&second_return, "fact_plain")->handler = second_called;
	FACT("return.second", register_kretprobe(&second_return));
	FACT("return.result-of-two", fact_plain(1));
	TEXT_FACT("return.order-of-two", events);
	unregister_kretprobe(&return_probe);
	forget();
	fact_plain(1);
	TEXT_FACT("return.order-of-one", events);
	unregister_kretprobe(&second_return);
}

/* The probe goes while its function runs. */
PLAIN long fact_unregisters(long n)
{
	unregister_kretprobe(&return_probe);
	return n + 5;
}

#if HAS_ENTRY_HANDLERS
static long kept;
static int refuses, same_probe;

static int at_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	entries++;
	event('E');
	*(long *)instance->data = 1234;
	return refuses;
}

static int behind_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	kept = *(long *)instance->data;
#if SINCE(5, 11, 0)
	same_probe = get_kretprobe(instance) == &return_probe;
#else
	same_probe = instance->rp == &return_probe;
#endif
	return count_return(instance, regs);
}

static void entry_handlers(void)
{
	forget();
	refuses = 0;
	returning(&return_probe, "fact_plain")->handler = behind_entry;
	return_probe.entry_handler = at_entry;
	return_probe.data_size = sizeof(long);
	return_probe.maxactive = 2;
	register_kretprobe(&return_probe);
	fact_plain(1);
	TEXT_FACT("return.entry-order", events);
	FACT("return.data-kept", kept);
	FACT("return.probe-known", same_probe);
	refuses = 1;
	forget();
	fact_plain(1);
	fact_plain(1);
	fact_plain(1);
	TEXT_FACT("return.refused", events);
	FACT("return.missed-behind-refusals", return_probe.nmissed);
	refuses = 0;
	forget();
	fact_plain(1);
	TEXT_FACT("return.behind-refusals", events);
	unregister_kretprobe(&return_probe);
	forget();
	returning(&return_probe, "fact_deep")->entry_handler = at_entry;
	return_probe.data_size = sizeof(long);
	return_probe.maxactive = 1;
	register_kretprobe(&return_probe);
	fact_deep(3);
	TEXT_FACT("return.entry-without-instance", events);
	unregister_kretprobe(&return_probe);
}
#else
static void entry_handlers(void)
{
	ABSENT("return.entry-order");
}
#endif

static void returns(void)
{
	results();
	most_active(0, "default");
	most_active(-3, "negative");
	most_active(1, "one");
	most_active(2, "two");
	most_active(3, "three");
	sizes(8, "small");
	sizes(4096, "page");
	sizes(4097, "more");
	sizes(1 << 20, "megabyte");
	two_returns();
	forget();
	register_kretprobe(returning(&return_probe, "fact_unregisters"));
	FACT("return.result-of-unregistered", fact_unregisters(1));
	FACT("return.calls-of-unregistered", calls);
	forget();
	register_kretprobe(returning(&return_probe, "fact_traced"));
	FACT("return.result-traced", fact_traced(1));
	FACT("return.calls-traced", calls);
	unregister_kretprobe(&return_probe);
	entry_handlers();
}
