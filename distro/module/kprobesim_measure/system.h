/* What the figures depend on beside the probe. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

static const struct {
	const char *name;
	unsigned int feature;
} mitigations[] = {
#ifdef X86_FEATURE_PTI
	{ "pti", X86_FEATURE_PTI },
#endif
#ifdef X86_FEATURE_RETPOLINE
	{ "retpoline", X86_FEATURE_RETPOLINE },
#endif
#ifdef X86_FEATURE_RETPOLINE_LFENCE
	{ "retpoline-lfence", X86_FEATURE_RETPOLINE_LFENCE },
#endif
#ifdef X86_FEATURE_RETHUNK
	{ "return-thunks", X86_FEATURE_RETHUNK },
#endif
#ifdef X86_FEATURE_UNRET
	{ "untrained-returns", X86_FEATURE_UNRET },
#endif
#ifdef X86_FEATURE_ENTRY_IBPB
	{ "ibpb-on-entry", X86_FEATURE_ENTRY_IBPB },
#endif
#ifdef X86_FEATURE_KERNEL_IBRS
	{ "ibrs", X86_FEATURE_KERNEL_IBRS },
#endif
#ifdef X86_FEATURE_IBRS_ENHANCED
	{ "enhanced-ibrs", X86_FEATURE_IBRS_ENHANCED },
#endif
#ifdef X86_FEATURE_CALL_DEPTH
	{ "call-depth", X86_FEATURE_CALL_DEPTH },
#endif
#ifdef X86_FEATURE_INDIRECT_THUNK_ITS
	{ "aligned-thunks", X86_FEATURE_INDIRECT_THUNK_ITS },
#endif
};

static void say_mitigations(void)
{
	char list[256] = "";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mitigations); i++) {
		if (!boot_cpu_has(mitigations[i].feature))
			continue;
		strlcat(list, " ", sizeof(list));
		strlcat(list, mitigations[i].name, sizeof(list));
	}
	say("mitigations%s", *list ? list : " none");
}

/* A kernel that could not calibrate the counter says 0. It is then held against the kernel's clock. */
static unsigned int frequency(void)
{
	u64 begin, ticks, took;

	if (tsc_khz)
		return tsc_khz;
	begin = ktime_get_ns();
	ticks = rdtsc_ordered();
	while ((took = ktime_get_ns() - begin) < 50 * NSEC_PER_MSEC)
		cpu_relax();
	return div64_u64((rdtsc_ordered() - ticks) * NSEC_PER_MSEC, took);
}

static void say_system(void)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	say("kernel %s", init_utsname()->release);
	say("isa %s", IS_ENABLED(CONFIG_X86_64) ? "x86_64" : "i386");
	say("processor %s", c->x86_model_id[0] ? c->x86_model_id : c->x86_vendor_id);
	say("identity vendor=%s family=%u model=%u stepping=%u microcode=%#x", c->x86_vendor_id, c->x86, c->x86_model,
	    c->x86_stepping, c->microcode);
	say("cpus online=%u hypervisor=%d", num_online_cpus(), !!boot_cpu_has(X86_FEATURE_HYPERVISOR));
	say("tsc khz=%u constant=%d", frequency(), !!boot_cpu_has(X86_FEATURE_CONSTANT_TSC));
	say("config preemption=%d optprobes=%d ftrace=%d", IS_ENABLED(CONFIG_PREEMPTION), IS_ENABLED(CONFIG_OPTPROBES),
	    IS_ENABLED(CONFIG_KPROBES_ON_FTRACE));
	say_mitigations();
}
