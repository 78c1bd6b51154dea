/* Disabling, enabling, and who is registered. */

#if HAS_SWITCHES
static void disabled_hits(const char *what)
{
	forget();
	fact_plain(1);
	pr_info("fact switch.hits-%s %u\n", what, hits);
}

static void switches(void)
{
	named(&probe, "fact_plain");
	FACT("switch.enable-unregistered", enable_kprobe(&probe));
	FACT("switch.disable-unregistered", disable_kprobe(&probe));
	register_kprobe(&probe);
	FACT("switch.disabled-at-first", kprobe_disabled(&probe));
	disabled_hits("at-first");
	FACT("switch.enable-enabled", enable_kprobe(&probe));
	FACT("switch.disable", disable_kprobe(&probe));
	FACT("switch.flags", probe.flags);
	FACT("switch.disabled", kprobe_disabled(&probe));
	disabled_hits("disabled");
	FACT("switch.disable-again", disable_kprobe(&probe));
	FACT("switch.enable", enable_kprobe(&probe));
	FACT("switch.flags-enabled", probe.flags);
	disabled_hits("enabled");
	unregister_kprobe(&probe);
	disabled_hits("unregistered");
	named(&probe, "fact_plain")->flags = KPROBE_FLAG_DISABLED;
	FACT("switch.register-disabled", register_kprobe(&probe));
	FACT("switch.registered-disabled", kprobe_disabled(&probe));
	disabled_hits("registered-disabled");
	FACT("switch.enable-later", enable_kprobe(&probe));
	disabled_hits("enabled-later");
	unregister_kprobe(&probe);
	FACT("switch.enable-left", enable_kprobe(&probe));
	returning(&return_probe, "fact_plain");
	FACT("switch.return-unregistered", disable_kretprobe(&return_probe));
	register_kretprobe(&return_probe);
	FACT("switch.return-disable", disable_kretprobe(&return_probe));
	forget();
	fact_plain(1);
	FACT("switch.returns-disabled", calls);
	FACT("switch.return-enable", enable_kretprobe(&return_probe));
	fact_plain(1);
	FACT("switch.returns-enabled", calls);
	unregister_kretprobe(&return_probe);
}
#else
static void switches(void)
{
	ABSENT("switch.disable");
	ABSENT("switch.enable");
}
#endif
