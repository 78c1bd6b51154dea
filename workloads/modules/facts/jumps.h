/* What stands in the text when the optimizer has had its time. */

#include <linux/delay.h>

/* Milliseconds. Kernels since 4.14 wait until no task can be in the text. */
#define PATIENCE (SINCE(4, 14, 0) ? 2000 : 50)

static void stands(const char *what, long (*function)(long))
{
	msleep(PATIENCE);
	pr_info("fact jump.%s %d\n", what, first_byte(start_of(function)));
}

/* Kernels 4.11 and 4.12 of ppc64 come back through a jump, too. Its detour takes the module's table of contents for the
   kernel's, and the kernel dies. */
#if defined(__powerpc64__) && SINCE(4, 11, 0) && !SINCE(4, 13, 0)
static void return_behind_jump(void)
{
	ABSENT("jump.return");
}
#else
static void return_behind_jump(void)
{
	register_kretprobe(returning(&return_probe, "fact_plain"));
	stands("return", fact_plain);
	forget();
	FACT("jump.return-result", fact_plain(1));
	FACT("jump.return-calls", calls);
	unregister_kretprobe(&return_probe);
}
#endif

static void jumps(void)
{
	stands("none", fact_plain);
	named(&probe, "fact_plain")->pre_handler = look;
	register_kprobe(&probe);
	stands("plain", fact_plain);
	fact_plain(1);
	FACT("jump.ip", seen_ip);
	FACT("jump.interrupts-off", irqs_before);
	named(&inner, "fact_plain")->post_handler = count_post;
	register_kprobe(&inner);
	stands("post-joined", fact_plain);
	unregister_kprobe(&inner);
	stands("post-left", fact_plain);
#ifdef CONFIG_X86
	/* In a kernel without frame pointers it is the second instruction. */
	located(&inner, (char *)start_of(fact_plain) + 1);
	register_kprobe(&inner);
	stands("probe-behind", fact_plain);
	forget();
	fact_plain(1);
	FACT("jump.hits-behind", hits);
	unregister_kprobe(&inner);
	stands("probe-behind-left", fact_plain);
#endif
#if HAS_SWITCHES
	disable_kprobe(&probe);
	stands("disabled", fact_plain);
	enable_kprobe(&probe);
	stands("enabled", fact_plain);
#endif
	unregister_kprobe(&probe);
	stands("unregistered", fact_plain);
	register_kprobe(named(&probe, "fact_traced"));
	stands("traced", fact_traced);
	unregister_kprobe(&probe);
	return_behind_jump();
}
