/*
 * Changing several bytes of code while other CPUs may execute them, without stopping the machine: a
 * breakpoint goes over the first byte, then the bytes behind it are changed, then the first one.
 * After each of the three every CPU synchronizes, so that none holds bytes from before the last
 * step. A CPU that hits the breakpoint in the meantime goes on in the detour.
 *
 * Kernels have changed jumps in this way since 3.12. Their do_int3 calls the handler of the patch by name.
 * Here it is a notifier, which the simulator chooses before boot: a kernel that stops the machine instead
 * has none, and its hits cost what they cost in 2.6.34.
 *
 * The file also handles a breakpoint that is gone by the time its exception is handled.
 */
#include <linux/notifier.h>
#include <linux/smp.h>
#include <asm/kprobes.h>
#include <linux/native.h>
#include <asm/processor.h>
#include <asm/text.h>

struct notifier_block *volatile text_poke_listener;
int text_poke_unsynced;
int text_poke_stopped;

/* The patch under way; there is one at a time. */
static struct {
	unsigned long ip;	/* where the breakpoint's exception returns to, 0 for no patch */
	unsigned long detour;
} patching;

static __kprobes void sync_this_cpu(void *patch)
{
	sync_core();
	text_poke_note((unsigned long)patch, PATCH_SYNC, NULL);
}

/* Every CPU has done with what it began before the step. */
__kprobes void text_poke_sync(unsigned long patch, int step)
{
	if (!(text_poke_unsynced & 1 << step))
		on_each_cpu(sync_this_cpu, (void *)patch);
}

__stop void text_poke_leave_stop(void)
{
	if (text_poke_stopped)
		sync_this_cpu((void *)(unsigned long)text_poke_stopped);
}

__kprobes __used void text_poke_bp(unsigned char *addr, const unsigned char *src, unsigned long n,
				   void *detour, unsigned long patch)
{
	static const unsigned char breakpoint = BREAKPOINT_INSTRUCTION;

	WRITE_VOLATILE(patching.detour, (unsigned long)detour);
	WRITE_VOLATILE(patching.ip, (unsigned long)addr + 1);
	text_poke_patch(addr, &breakpoint, 1, patch, PATCH_BREAKPOINT);
	text_poke_sync(patch, 0);
	text_poke_patch(addr + 1, src + 1, n - 1, patch, PATCH_TAIL);
	text_poke_sync(patch, 1);
	text_poke_patch(addr, src, 1, patch, PATCH_FIRST);
	text_poke_sync(patch, 2);
	WRITE_VOLATILE(patching.ip, 0);
}

/*
 * #BP, before kprobes: NOTIFY_STOP, with the detour in regs, when the breakpoint is the patch's. The
 * address is read again after the detour: where a jump is taken away the breakpoint stays, so the patch
 * may end meanwhile and the next one begin.
 */
static __patching int poke_notify(struct notifier_block *self __unused, unsigned long event,
				  void *data)
{
	struct die_args *args = data;
	unsigned long ip, detour;

	if (event != DIE_INT3 || likely(!(ip = READ_VOLATILE(patching.ip))))
		return NOTIFY_DONE;
	if (user_mode(args->regs) || args->regs->ip != ip)
		return NOTIFY_DONE;
	detour = READ_VOLATILE(patching.detour);
	if (READ_VOLATILE(patching.ip) != ip)
		return NOTIFY_DONE;
	args->regs->ip = detour;
	return NOTIFY_STOP;
}

struct notifier_block text_poke_nb = {
	.notifier_call = poke_notify,
	.priority = 0x7fffffff,
};

/*
 * #BP, the last notifier: the breakpoint belongs to no probe. Another CPU may have removed it and its
 * probe after kprobes read the text and before it looked the probe up. Then the instruction that is there
 * now is executed. 2.6.33 and 2.6.34 read the text first (ERA_RECHECK_FIRST), so that this lookup race is
 * open in them, and the exception is fatal. This notifier is ours.
 */
static __patching int vanished_notify(struct notifier_block *self __unused, unsigned long event,
				      void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || user_mode(args->regs))
		return NOTIFY_DONE;
	if (READ_VOLATILE(*(kprobe_opcode_t *)(args->regs->ip - 1)) == BREAKPOINT_INSTRUCTION)
		return NOTIFY_DONE;
	args->regs->ip--;
	return NOTIFY_STOP;
}

static struct notifier_block vanished_nb = {
	.notifier_call = vanished_notify,
	.priority = -0x7fffffff,
};

void text_poke_init(void)
{
	register_die_notifier(&vanished_nb);
	if (unlikely(text_poke_listener))
		register_die_notifier(text_poke_listener);
}
