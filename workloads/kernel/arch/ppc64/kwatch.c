/*
 * Watchpoints on ppc64. The data storage interrupt comes before the access. So the handler runs before it, then the
 * register is off while the instruction is stepped. Interrupts are off meanwhile: their handlers would not be
 * watched. A probe's copy may be what is stepped, and a probe's handler may meet the word: these listeners come
 * before those of Kprobes, which takes every trace interrupt within a hit for its own.
 */
#include <linux/guest.h>
#include <linux/kwatch.h>
#include <linux/notifier.h>
#include <asm/hcall.h>
#include <asm/kwatch.h>

#define BEFORE_KPROBES 0x7fffffff
#define NUMBER_WATCHPOINT 4
#define SIGTRAP 5

void do_data_storage(struct pt_regs *frame);
void do_page_fault(struct pt_regs *frame);

/* What a CPU steps for a watchpoint, and what the interrupted state had: its own place alone is looked at. */
enum { STEPS = 1, HAD_INTERRUPTS = 2, HAD_STEP = 4 };
static __kwatch_data u8 stepping[256] = { 0 };

static __kwatch_data char dabr_match[] = "dabr_match";
static __kwatch_data char cannot_step[] = "Watchpoint: the instruction at %p cannot be stepped, this CPU watches no more.\n";

/* There is no register for addresses of instructions. */
__kwatch struct register_range kwatch_registers(unsigned long addr, u8 length, u8 type)
{
	int fits = length && length <= DABR_BYTES && !(length & (length - 1)) && !(addr & (length - 1));

	return (struct register_range){ 0, fits && (type == DR_RW_WRITE || type == DR_RW_READ) };
}

__kwatch void kwatch_set(int nr __unused, const struct kwatch *watch)
{
	unsigned long value = 0;

	if (watch)
		value = (watch->addr & -DABR_BYTES) | DABR_TRANSLATION | DABR_WRITES |
			(watch->type == DR_RW_READ ? DABR_READS : 0);
	hypervisor_call(H_SET_DABR, value, 0);
}

/* Bytes that a load or store moves; a doubleword for what is seldom. Updating forms differ from others by a bit. */
static __kwatch unsigned long bytes_moved(u32 word)
{
	unsigned int op = word >> 26;

	if (op == 31) {
		switch (word >> 1 & 0x3df) {
		case 87: case 215: /* lbzx, stbx */
			return 1;
		case 279: case 343: case 407: case 790: case 918: /* lhzx, lhax, sthx, lhbrx, sthbrx */
			return 2;
		case 20: case 23: case 150: case 151: case 341: case 534: case 662:
			return 4; /* lwarx, lwzx, stwcx., stwx, lwax, lwbrx, stwbrx */
		}
		return 8;
	}
	if (op >= 40 && op < 46)
		return 2;
	if (op >= 32 && op < 48)
		return op < 40 && (op & 2) ? 1 : 4;
	return op == 58 && (word & 2) ? 4 : 8; /* lwa; ld, std */
}

/* lwarx, ldarx, stwcx., stdcx.: the way out of an exception takes the reservation away. */
static __kwatch int needs_reservation(u32 word)
{
	unsigned int extended = word >> 1 & 0x3ff;

	return word >> 26 == 31 && (extended == 20 || extended == 84 || extended == 150 || extended == 214);
}

/* The register watches a doubleword, of which the watchpoint may be a part. */
static __kwatch int is_watched(const struct kwatch *watch, unsigned long at, u32 word)
{
	return at < watch->addr + watch->length && watch->addr < at + bytes_moved(word);
}

static __kwatch int before_access(struct pt_regs *regs)
{
	u32 word = *(u32 *)regs->nip;

	if (is_watched(&kwatch_list[0], regs->dar, word))
		kwatch_hit(0, regs);
	kwatch_set(0, NULL);
	if (needs_reservation(word)) {
		klog(cannot_step, regs->nip);
		return NOTIFY_STOP;
	}
	stepping[smp_processor_id()] = STEPS | (regs->msr & MSR_EE ? HAD_INTERRUPTS : 0) | (regs->msr & MSR_SE ? HAD_STEP : 0);
	regs->msr = (regs->msr & ~MSR_EE) | MSR_SE;
	return NOTIFY_STOP;
}

/* Somebody who stepped before is told of the step. */
static __kwatch int behind_access(struct pt_regs *regs)
{
	u8 *here = &stepping[smp_processor_id()], was = *here;

	if (!was)
		return NOTIFY_DONE;
	*here = 0;
	kwatch_set(0, kwatch_active(0) ? &kwatch_list[0] : NULL);
	if (was & HAD_INTERRUPTS)
		regs->msr |= MSR_EE;
	return was & HAD_STEP ? NOTIFY_DONE : NOTIFY_STOP;
}

static __kwatch int watch_exception(struct notifier_block *self __unused, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (user_mode(regs))
		return NOTIFY_DONE;
	if (event == DIE_DABR_MATCH)
		return before_access(regs);
	return event == DIE_SSTEP ? behind_access(regs) : NOTIFY_DONE;
}

static __kwatch_data struct notifier_block kwatch_nb = { watch_exception, NULL, BEFORE_KPROBES };

__kwatch void kwatch_listen(void)
{
	register_die_notifier(&kwatch_nb);
}

/* A data storage interrupt: a watched access, or one that is not allowed. */
__kwatch __used void do_data_storage(struct pt_regs *frame)
{
	if ((frame->dsisr & DSISR_DABRMATCH) &&
	    notify_die(DIE_DABR_MATCH, dabr_match, frame, frame->dsisr, NUMBER_WATCHPOINT, SIGTRAP) == NOTIFY_STOP)
		return;
	do_page_fault(frame);
}
