/* What is in the structure of a probe behind a registration. */

static void registered_flags(struct kprobe *p, const char *what)
{
	int err = register_kprobe(p);

	pr_info("fact flags.%s %d %u\n", what, err, p->flags);
	if (!err)
		unregister_kprobe(p);
}

static void flags(void)
{
	registered_flags(named(&probe, "fact_plain"), "plain");
	registered_flags(named(&probe, "fact_traced"), "traced");
	registered_flags(located(&probe, middle), "middle");
	registered_flags(located(&probe, start_of(fact_plain)), "address");
	named(&probe, "fact_plain")->flags = ~2U;
	registered_flags(&probe, "garbage");
	named(&probe, "fact_plain")->nmissed = 7;
	registered_flags(&probe, "missed");
	FACT("flags.nmissed", probe.nmissed);
	named(&probe, "fact_plain")->flags = 2;
	registered_flags(&probe, "disabled");
	FACT("flags.kept-by-unregistering", probe.flags);
	named(&probe, "fact_plain");
	register_kprobe(&probe);
	FACT("flags.address-found", probe.addr == start_of(fact_plain));
	FACT("flags.name-kept", !strcmp(probe.symbol_name, "fact_plain"));
	FACT("flags.text-changed", !!memcmp(start_of(fact_plain), start_of(fact_other), sizeof(kprobe_opcode_t)));
	unregister_kprobe(&probe);
	returning(&return_probe, "fact_plain");
	return_probe.kp.pre_handler = count_hit;
	return_probe.kp.post_handler = count_post;
	register_kretprobe(&return_probe);
	FACT("flags.return", return_probe.kp.flags);
	FACT("flags.return-pre-handler", return_probe.kp.pre_handler == count_hit);
	FACT("flags.return-post-handler", return_probe.kp.post_handler == count_post);
	unregister_kretprobe(&return_probe);
}
