/* Probes that go to a function with the arguments of the probed one. */

#if HAS_JPROBES
static long seen_argument;

static long like_plain(long n)
{
	seen_argument = n;
	jprobe_return();
	return 0;
}

static struct jprobe jprobe, second_jprobe;

static struct jprobe *jprobe_at(struct jprobe *jp, const char *symbol)
{
	memset(jp, 0, sizeof(*jp));
	jp->kp.symbol_name = symbol;
	jp->entry = JPROBE_ENTRY(like_plain);
	return jp;
}

static void jprobes(void)
{
	FACT("jprobe.unknown", register_jprobe(jprobe_at(&jprobe, "fact_nowhere")));
	FACT("jprobe.register", register_jprobe(jprobe_at(&jprobe, "fact_plain")));
	FACT("jprobe.result", fact_plain(5));
	FACT("jprobe.argument", seen_argument);
	FACT("jprobe.second", register_jprobe(jprobe_at(&second_jprobe, "fact_plain")));
	forget();
	add_to_group(0, "fact_plain", 0);
	FACT("jprobe.result-with-kprobe", fact_plain(6));
	TEXT_FACT("jprobe.kprobe-called", events);
	unregister_kprobe(&group[0]);
	unregister_jprobe(&jprobe);
	FACT("jprobe.result-behind", fact_plain(7));
	FACT("jprobe.argument-behind", seen_argument);
}
#else
static void jprobes(void)
{
	ABSENT("jprobe.register");
}
#endif
