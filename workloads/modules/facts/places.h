/* Where a probe may stand, and how its place is named. */

#include <linux/slab.h>

static int at_symbol(const char *symbol, unsigned int offset)
{
	named(&probe, symbol)->offset = offset;
	return try_probe(&probe);
}

static int at_address(void *addr, unsigned int offset)
{
	located(&probe, addr)->offset = offset;
	return try_probe(&probe);
}

static int return_at(const char *symbol, void *addr, unsigned int offset)
{
	returning(&return_probe, symbol);
	return_probe.kp.addr = addr;
	return_probe.kp.offset = offset;
	return try_return(&return_probe);
}

static long place_data = 1;

static void names_of_places(void)
{
	FACT("place.neither", at_symbol(NULL, 0));
	FACT("place.offset-alone", at_symbol(NULL, 16));
	named(&probe, "fact_plain")->addr = start_of(fact_plain);
	FACT("place.both", try_probe(&probe));
	FACT("place.unknown", at_symbol("fact_nowhere", 0));
	FACT("place.unknown-with-offset", at_symbol("fact_nowhere", 4));
	FACT("place.empty-name", at_symbol("", 0));
	FACT("place.symbol", at_symbol("fact_plain", 0));
	FACT("place.symbol-of-module", at_symbol("facts:fact_plain", 0));
	FACT("place.symbol-of-nobody", at_symbol("nobody:fact_plain", 0));
	FACT("place.address", at_address(start_of(fact_plain), 0));
	FACT("place.address-keeps", probe.addr == start_of(fact_plain));
	FACT("place.negative-offset", at_symbol("fact_plain", -0x40000000));
}

static void addresses(void)
{
	void *heap = kmalloc(64, GFP_KERNEL);
	long local = 1;

	FACT("place.low", at_address((void *)8, 0));
	FACT("place.low-page", at_address((void *)0x1000, 0));
	FACT("place.last", at_address((void *)-16L, 0));
	FACT("place.heap", at_address(heap, 0));
	FACT("place.stack", at_address(&local, 0));
	FACT("place.data", at_address(&place_data, 0));
	FACT("place.data-by-name", at_symbol("place_data", 0));
	kfree(heap);
}

static void functions(void)
{
	FACT("place.traced", at_symbol("fact_traced", 0));
	FACT("place.middle", at_address(middle, 0));
	FACT("place.quiet", at_symbol("fact_quiet", 0));
	FACT("place.schedule", at_symbol("schedule", 0));
	FACT("place.do-exit", at_symbol("do_exit", 0));
	FACT("place.switch", at_symbol("__switch_to", 0));
	FACT("place.notify-die", at_symbol("notify_die", 0));
	FACT("place.own-registration", at_symbol("register_kprobe", 0));
}

static void returns_at(void)
{
	FACT("return-place.neither", return_at(NULL, NULL, 0));
	FACT("return-place.both", return_at("fact_plain", start_of(fact_plain), 0));
	FACT("return-place.unknown", return_at("fact_nowhere", NULL, 0));
	FACT("return-place.low", return_at(NULL, (void *)8, 0));
	FACT("return-place.symbol", return_at("fact_plain", NULL, 0));
	FACT("return-place.address", return_at(NULL, start_of(fact_plain), 0));
	FACT("return-place.traced", return_at("fact_traced", NULL, 0));
	FACT("return-place.middle", return_at(NULL, middle, 0));
	FACT("return-place.plain-8", return_at("fact_plain", NULL, 8));
	FACT("return-place.quiet", return_at("fact_quiet", NULL, 0));
	FACT("return-place.schedule", return_at("schedule", NULL, 0));
	FACT("return-place.switch", return_at("__switch_to", NULL, 0));
	FACT("return-place.data", return_at(NULL, &place_data, 0));
}

static void places(void)
{
	fact_middle(0);
	names_of_places();
	addresses();
	functions();
	returns_at();
}
