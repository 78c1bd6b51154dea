/* Hits while a handler runs. */

static struct kprobe inner;

static int call_probed(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	fact_other(1);
	return 0;
}

static int call_itself(struct kprobe *p, struct pt_regs *regs)
{
	if (!hits++)
		fact_plain(1);
	return 0;
}

static int call_itself_traced(struct kprobe *p, struct pt_regs *regs)
{
	if (!hits++)
		fact_traced(1);
	return 0;
}

static void call_probed_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	fact_other(1);
}

static int call_probed_at_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	fact_other(1);
	return 0;
}

static int count_inner(struct kprobe *p, struct pt_regs *regs)
{
	posts++;
	return 0;
}

static void nested(kprobe_pre_handler_t before, kprobe_post_handler_t after, const char *symbol, const char *what)
{
	forget();
	named(&inner, "fact_other")->pre_handler = count_inner;
	register_kprobe(&inner);
	named(&probe, symbol)->pre_handler = before;
	probe.post_handler = after;
	register_kprobe(&probe);
	if (!strcmp(symbol, "fact_traced"))
		fact_traced(1);
	else
		fact_plain(1);
	pr_info("fact nested.hits-%s %u %u\n", what, hits, posts);
	pr_info("fact nested.missed-%s %lu %lu\n", what, probe.nmissed, inner.nmissed);
	unregister_kprobe(&probe);
	unregister_kprobe(&inner);
}

static void nested_group(void)
{
	forget();
	add_to_group(0, "fact_other", 0);
	add_to_group(1, "fact_other", 0);
	named(&probe, "fact_plain")->pre_handler = call_probed;
	register_kprobe(&probe);
	fact_plain(1);
	FACT("nested.missed-of-first", group[0].nmissed);
	FACT("nested.missed-of-second", group[1].nmissed);
	unregister_kprobe(&probe);
	fact_other(1);
	FACT("nested.missed-behind", group[0].nmissed);
	TEXT_FACT("nested.called-behind", events);
	unregister_kprobe(&group[0]);
	unregister_kprobe(&group[1]);
}

static void nesting(void)
{
	nested(call_probed, NULL, "fact_plain", "pre");
	nested(NULL, call_probed_after, "fact_plain", "post");
	nested(call_itself, NULL, "fact_plain", "itself");
	nested(call_probed, NULL, "fact_traced", "pre-traced");
	nested(call_itself_traced, NULL, "fact_traced", "itself-traced");
	nested_group();
	forget();
	named(&inner, "fact_other")->pre_handler = count_inner;
	register_kprobe(&inner);
	returning(&return_probe, "fact_plain")->handler = call_probed_at_return;
	register_kretprobe(&return_probe);
	fact_plain(1);
	FACT("nested.hits-return", posts);
	FACT("nested.missed-return", inner.nmissed);
	unregister_kretprobe(&return_probe);
	forget();
	register_kretprobe(returning(&return_probe, "fact_other"));
	named(&probe, "fact_plain")->pre_handler = call_probed;
	unregister_kprobe(&inner);
	register_kprobe(&probe);
	fact_plain(1);
	FACT("nested.returns-in-pre", calls);
	FACT("nested.missed-of-return", return_probe.nmissed);
	FACT("nested.missed-of-its-kprobe", return_probe.kp.nmissed);
	unregister_kprobe(&probe);
	unregister_kretprobe(&return_probe);
}
