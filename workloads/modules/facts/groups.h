/* Several probes at one address. */

static void add_to_group(int n, const char *symbol, int post)
{
	named(&group[n], symbol)->post_handler = post ? count_post : NULL;
	if (register_kprobe(&group[n]))
		pr_info("fact group.%d refused\n", n);
}

static void called(const char *what)
{
	forget();
	fact_plain(1);
	pr_info("fact group.%s %s\n", what, events[0] ? events : "none");
}

static void groups(void)
{
	int i;

	add_to_group(0, "fact_plain", 0);
	called("one");
	add_to_group(1, "fact_plain", 0);
	called("two");
	add_to_group(2, "fact_plain", 0);
	called("three");
	FACT("group.flags", group[1].flags);
	FACT("group.register-again", register_kprobe(&group[1]));
#if HAS_SWITCHES
	FACT("group.disable", disable_kprobe(&group[1]));
	FACT("group.flags-disabled", group[1].flags);
	FACT("group.flags-of-others", group[0].flags);
	called("one-disabled");
	disable_kprobe(&group[0]);
	disable_kprobe(&group[2]);
	called("all-disabled");
	FACT("group.enable", enable_kprobe(&group[2]));
	called("one-enabled");
	enable_kprobe(&group[0]);
	enable_kprobe(&group[1]);
	called("enabled");
#else
	ABSENT("group.disable");
#endif
	unregister_kprobe(&group[1]);
	called("middle-left");
	add_to_group(1, "fact_plain", 1);
	called("post-joined");
	unregister_kprobe(&group[0]);
	called("first-left");
	add_to_group(0, "fact_plain", 1);
	called("two-posts");
	FACT("group.return", register_kretprobe(returning(&return_probe, "fact_plain")));
	called("return-joined");
	unregister_kretprobe(&return_probe);
	for (i = 0; i < 3; i++)
		unregister_kprobe(&group[i]);
	called("empty");
	add_to_group(0, "fact_traced", 1);
	add_to_group(1, "fact_traced", 0);
	forget();
	fact_traced(1);
	TEXT_FACT("group.traced", events);
	unregister_kprobe(&group[0]);
	unregister_kprobe(&group[1]);
}
