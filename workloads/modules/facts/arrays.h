/* Several probes in one call. */

#if HAS_ARRAYS
static struct kprobe *list[3] = { &group[0], &group[1], &group[2] };
static struct kretprobe return_group[2];
static struct kretprobe *return_list[2] = { &return_group[0], &return_group[1] };

static void fill(const char *third)
{
	named(&group[0], "fact_plain");
	named(&group[1], "fact_other");
	named(&group[2], third);
}

static void call_all(const char *what)
{
	forget();
	fact_plain(1);
	fact_other(1);
	fact_traced(1);
	pr_info("fact array.%s %s\n", what, events[0] ? events : "none");
}

static void arrays_of_returns(void)
{
	returning(&return_group[0], "fact_plain");
	returning(&return_group[1], "fact_nowhere");
	FACT("array.returns-second-fails", register_kretprobes(return_list, 2));
	call_all("returns-called-after-failure");
	returning(&return_group[0], "fact_plain");
	returning(&return_group[1], "fact_other");
	FACT("array.returns", register_kretprobes(return_list, 2));
	call_all("returns-called");
	unregister_kretprobes(return_list, 2);
	call_all("returns-called-at-last");
	FACT("array.returns-none", register_kretprobes(return_list, 0));
}

static void arrays(void)
{
	int err;

	FACT("array.none", register_kprobes(list, 0));
	FACT("array.negative", register_kprobes(list, -1));
	fill("fact_traced");
	FACT("array.three", register_kprobes(list, 3));
	call_all("called");
	unregister_kprobes(list, 0);
	call_all("called-behind-nothing");
	unregister_kprobes(list, 2);
	call_all("two-left");
	unregister_kprobes(list + 2, 1);
	call_all("all-left");
	fill("fact_nowhere");
	FACT("array.third-fails", register_kprobes(list, 3));
	call_all("called-after-failure");
	FACT("array.first-keeps-address", group[0].addr == start_of(fact_plain));
	fill("fact_quiet");
	err = register_kprobes(list, 3);
	FACT("array.third-quiet", err);
	if (!err)
		unregister_kprobes(list, 3);
	fill("fact_traced");
	list[2] = &group[0];
	FACT("array.one-twice", register_kprobes(list, 3));
	call_all("called-after-one-twice");
	list[2] = &group[2];
	arrays_of_returns();
}
#else
static void arrays(void)
{
	ABSENT("array.three");
}
#endif
