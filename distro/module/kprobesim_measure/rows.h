/* The rows: each kind of hit, with one to sixteen probes in a function, and handlers that do nothing or count. */
static const struct kind kinds[] = {
	{ "f", "f", &traced, false },
	{ "e", "e", &jumps, false },
	{ "k", "k", &steps, false },
	{ "b", "b", &steps, false },
	{ "o", "o", &wide, false },
	{ "rf", "f", &traced, true },
	{ "re", "e", &jumps, true },
	{ "rk", "k", &steps, true },
	{ "rb", "b", &steps, true },
	{ "ro", "o", &wide, true },
};

/* A row of the table, or why there is none. The kind ends where the kernel hits its probes otherwise. */
static bool say_probed(const struct kind *k, unsigned int n, bool counting, const struct spread *base)
{
	unsigned long want = (unsigned long)calls * n * (repeats + 1);
	const char *hit = hit_as(k, n);
	struct spread with;

	if (strcmp(hit, k->hit)) {
		say("absent %s hit as %s", k->name, hit);
		return false;
	}
	hits = 0;
	time_loop(k->site->loop, calls);
	with = spread_of_times();
	if (missed(n) || (counting && hits != want)) {
		say("absent %s %lu hits missed, %lu of %lu counted", k->name, missed(n), hits, want);
		return false;
	}
	say("row %s probes=%u handler=%s post=%d calls=%u hits=%u base=" SPREAD " with=" SPREAD, k->name, n,
	    counting ? "count" : "empty", !!entry_list[0]->post_handler, calls, calls * n, IN(*base), IN(with));
	return true;
}

static bool say_row(const struct kind *k, unsigned int n, bool counting)
{
	struct spread base;
	bool more;
	int err;

	time_loop(k->site->loop, calls);
	base = spread_of_times();
	err = set_up(k, n, counting);
	if (err) {
		say("absent %s error %d", k->name, -err);
		return false;
	}
	more = say_probed(k, n, counting, &base);
	if (take_away(k, n))
		return more;
	say("absent %s its text has not come back", k->name);
	return false;
}

static void say_kind(const struct kind *k)
{
	unsigned int n;

	for (n = 1; n <= MOST_PROBES; n *= 2)
		if (!say_row(k, n, false) || !say_row(k, n, true))
			return;
}

static void say_rows(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		say_kind(&kinds[i]);
}
