/* Structures that are used again, and text that goes. */

/* The header of threads is included without use, as modules do. */
#include <linux/kthread.h>
#include <linux/completion.h>

/* It goes when the module has begun. */
static __attribute__((noipa, section(".init.text"))) notrace long fact_early(long n)
{
	ROOM;
	return n + 1;
}

static struct kprobe early, early_second, late;
static struct kretprobe early_return;
static DECLARE_COMPLETION(reached);

static int reach(struct kprobe *p, struct pt_regs *regs)
{
	complete(&reached);
	return 0;
}

static void uses(void)
{
	named(&probe, "fact_plain");
	unregister_kprobe(&probe);
	FACT("life.unregister-unregistered", probe.addr == NULL);
	FACT("life.register", register_kprobe(&probe));
	FACT("life.register-again", register_kprobe(&probe));
	probe.symbol_name = NULL;
	FACT("life.register-again-by-address", register_kprobe(&probe));
	forget();
	fact_plain(1);
	FACT("life.hits", hits);
	unregister_kprobe(&probe);
	FACT("life.address-kept", probe.addr == start_of(fact_plain));
	FACT("life.flags-kept", probe.flags);
	FACT("life.used-again", register_kprobe(&probe));
	probe.symbol_name = "fact_plain";
	unregister_kprobe(&probe);
	FACT("life.used-again-with-both", register_kprobe(&probe));
	probe.addr = NULL;
	FACT("life.used-again-with-name", register_kprobe(&probe));
	fact_plain(1);
	FACT("life.hits-again", hits);
	unregister_kprobe(&probe);
	unregister_kprobe(&probe);
	FACT("life.unregister-twice", probe.addr == NULL);
}

static void text_of_init(void)
{
	FACT("life.init-text", register_kprobe(named(&early, "fact_early")));
	FACT("life.init-text-second", register_kprobe(named(&early_second, "fact_early")));
	FACT("life.init-text-return", register_kretprobe(returning(&early_return, "fact_early")));
	forget();
	FACT("life.init-text-result", fact_early(1));
	TEXT_FACT("life.init-text-events", events);
	FACT("life.init-text-flags", early.flags);
}

/* A probe that stays until the module goes. */
static void stays(void)
{
	named(&late, "fact_plain")->pre_handler = reach;
	FACT("life.late", register_kprobe(&late));
	FACT("life.done-at-first", completion_done(&reached));
	fact_plain(1);
	FACT("life.done", completion_done(&reached));
	FACT("life.waited", wait_for_completion_timeout(&reached, 10) > 0);
}

static void gone(void)
{
	FACT("gone.flags", early.flags);
	FACT("gone.flags-return", early_return.kp.flags);
#if HAS_SWITCHES
	FACT("gone.disabled", kprobe_disabled(&early));
	FACT("gone.enable", enable_kprobe(&early));
	FACT("gone.disable", disable_kprobe(&early_second));
	FACT("gone.flags-disabled", early_second.flags);
#else
	ABSENT("gone.disabled");
#endif
	FACT("gone.by-name", at_symbol("fact_early", 0));
	FACT("gone.by-address", at_address(early.addr, 0));
	unregister_kprobe(&early);
	unregister_kprobe(&early_second);
	unregister_kretprobe(&early_return);
	FACT("gone.unregistered", early.addr != NULL);
}

static void end_of_life(void)
{
	gone();
	fact_plain(1);
	FACT("exit.late-reached", completion_done(&reached));
	unregister_kprobe(&late);
	FACT("exit.own-function", at_symbol("fact_plain", 0));
	FACT("exit.own-return", return_at("fact_plain", NULL, 0));
	FACT("exit.function-of-kernel", at_symbol("schedule", 0));
}
