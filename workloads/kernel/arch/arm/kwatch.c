/*
 * Watchpoints on ARM. Both kinds of abort come before what they watch for. So the handler runs before it, then all
 * watchpoints of the CPU are off, and breakpoints stand at the instructions that may follow. Interrupts are off
 * meanwhile: their handlers would not be watched. An instruction whose successor is not known, or that needs what an
 * exclusive load has reserved, ends the watching of this CPU.
 */
#include <linux/guest.h>
#include <linux/kwatch.h>
#include <asm/kwatch.h>

void do_data_abort(struct pt_regs *frame);
void do_prefetch_abort(struct pt_regs *frame);

/* A bit that a CPU steps over something, and one that its interrupts were off before. */
enum { STEPS = 1, HAD_NO_INTERRUPTS = 2 };
static __kwatch_data u8 stepping[256] = { 0 };

static __kwatch_data char cannot_step[] = "Watchpoint: the instruction at %p cannot be stepped, this CPU watches no more.\n";

static __kwatch unsigned int selected_bytes(const struct kwatch *watch)
{
	return ((1U << watch->length) - 1) << (watch->addr & 3);
}

__kwatch struct register_range kwatch_registers(unsigned long addr, u8 length, u8 type)
{
	if (type == DR_RW_EXECUTE && length == 1 && !(addr & 3))
		return (struct register_range){ WATCHPOINTS, DEBUG_REGISTERS };
	if ((type == DR_RW_WRITE || type == DR_RW_READ) && (length == 1 || length == 2 || length == 4) && !(addr & (length - 1)))
		return (struct register_range){ 0, WATCHPOINTS };
	return (struct register_range){ 0, 0 };
}

/* The number of a register is a part of the instruction. */
#define SET_PAIR(n, value, control) \
	asm volatile("mcr p14, 0, %0, c0, c" #n ", " value "\n\tmcr p14, 0, %1, c0, c" #n ", " control \
		     : : "r"(addr), "r"(bits) : "memory"); break

static __kwatch void set_watchpoint(int nr, unsigned long addr, unsigned long bits)
{
	switch (nr) {
	case 0: SET_PAIR(0, "6", "7");
	case 1: SET_PAIR(1, "6", "7");
	case 2: SET_PAIR(2, "6", "7");
	case 3: SET_PAIR(3, "6", "7");
	}
}

static __kwatch void set_breakpoint(int nr, unsigned long addr, unsigned long bits)
{
	switch (nr) {
	case 0: SET_PAIR(0, "4", "5");
	case 1: SET_PAIR(1, "4", "5");
	case 2: SET_PAIR(2, "4", "5");
	case 3: SET_PAIR(3, "4", "5");
	case STEP_BEHIND: SET_PAIR(4, "4", "5");
	case STEP_TARGET: SET_PAIR(5, "4", "5");
	}
}

static __kwatch void break_at(int nr, unsigned long addr)
{
	set_breakpoint(nr, addr, ALL_BYTES << CONTROL_BYTES | CONTROL_PRIVILEGED | CONTROL_ENABLE);
}

/* Without a watchpoint the pair becomes zero. */
__kwatch void kwatch_set(int nr, const struct kwatch *watch)
{
	unsigned long control = 0, addr = watch ? watch->addr & ~3UL : 0, monitor;

	asm volatile("mrc p14, 0, %0, c0, c2, 2" : "=r"(monitor));
	asm volatile("mcr p14, 0, %0, c0, c2, 2" : : "r"(monitor | MONITOR_MODE));
	if (nr >= WATCHPOINTS) {
		if (watch)
			break_at(nr - WATCHPOINTS, addr);
		else
			set_breakpoint(nr - WATCHPOINTS, 0, 0);
	} else {
		if (watch)
			control = selected_bytes(watch) << CONTROL_BYTES | CONTROL_PRIVILEGED | CONTROL_ENABLE |
				  CONTROL_STORES | (watch->type == DR_RW_READ ? CONTROL_LOADS : 0);
		set_watchpoint(nr, addr, control);
	}
	asm volatile("isb" : : : "memory");
}

/* Aborts lead to this file in any case. */
__kwatch void kwatch_listen(void)
{
}

/* Registers that a load or store of several has. */
static __kwatch unsigned int registers_of(u32 word)
{
	unsigned int n = 0;

	for (u32 list = word & 0xffff; list; list &= list - 1)
		n++;
	return n;
}

/* Bytes that a load or store moves (ARM ARM, A5). */
static __kwatch unsigned long bytes_moved(u32 word)
{
	switch (word >> 25 & 7) {
	case 2: case 3:
		return word & 1 << 22 ? 1 : 4;
	case 4:
		return 4 * registers_of(word);
	}
	if ((word & 0xf0) == 0x90) { /* swp, and exclusive ones of 4, 8, 1 and 2 bytes */
		if (!(word & 1 << 23))
			return word & 1 << 22 ? 1 : 4;
		return (word >> 21 & 3) == 1 ? 8 : (word >> 21 & 3) == 0 ? 4 : (word >> 21 & 3) == 2 ? 1 : 2;
	}
	if ((word & 0xf0) == 0xb0)
		return 2;
	if (word & 1 << 20)
		return word & 1 << 5 ? 2 : 1; /* signed */
	return 8; /* ldrd, strd */
}

static __kwatch int is_exclusive(u32 word)
{
	return (word & 0x0f8000f0) == 0x01800090;
}

static __kwatch unsigned long *reg(struct pt_regs *regs, unsigned int n)
{
	return &regs->uregs[n & 15];
}

/* A word that goes to the program counter. The watchpoints are off. */
static __kwatch unsigned long loaded_target(struct pt_regs *regs, u32 word)
{
	unsigned long base = *reg(regs, word >> 16), offset = word & 0xfff;

	if ((word >> 25 & 7) == 4) { /* ldm: the last of the words */
		unsigned long n = registers_of(word);

		if (word & 1 << 23)
			return *(unsigned long *)(base + 4 * (word & 1 << 24 ? n : n - 1));
		return *(unsigned long *)(word & 1 << 24 ? base - 4 : base);
	}
	if (word & 1 << 25)
		offset = *reg(regs, word) << (word >> 7 & 31);
	if ((word >> 16 & 15) == 15)
		base += 8;
	if (word & 1 << 24)
		base += word & 1 << 23 ? offset : -offset;
	return *(unsigned long *)base;
}

/* Where an instruction may lead beside the next one: 0 for nowhere, 1 for what is not known. */
static __kwatch unsigned long target_of(struct pt_regs *regs, u32 word)
{
	if (word >> 28 == 15)
		return 1;
	switch (word >> 25 & 7) {
	case 5:
		return regs->ARM_pc + 8 + ((s32)(word << 8) >> 6);
	case 4:
		return (word & (1 << 20 | 1 << 15)) == (1 << 20 | 1 << 15) ? loaded_target(regs, word) : 0;
	case 2: case 3:
		if ((word & 0x0e000010) == 0x06000010 || !(word & 1 << 20) || (word >> 12 & 15) != 15)
			return 0;
		return word & 1 << 25 && word & 0x60 ? 1 : loaded_target(regs, word);
	case 0: case 1:
		if ((word & 0x0fffffd0) == 0x012fff10) /* bx, blx */
			return *reg(regs, word) & ~1UL;
		if ((word & 0x0ffffff0) == 0x01a0f000) /* mov pc */
			return *reg(regs, word);
		return (word >> 12 & 15) == 15 && (word & 0x01900000) != 0x01100000 && (word & 0x90) != 0x90 &&
		       (word & 0x0fb00000) != 0x03200000;
	}
	return 0;
}

/*
 * Off goes every register that may be armed, also that of a watchpoint which is being taken away: its interrupt has
 * not reached this CPU, and would never do so if the instruction went on to abort with interrupts off.
 */
static __kwatch void watch_here(int on)
{
	for (int nr = 0; nr < DEBUG_REGISTERS; nr++)
		if (on ? kwatch_active(nr) : kwatch_list[nr].length != 0)
			kwatch_set(nr, on ? &kwatch_list[nr] : NULL);
}

/* The instruction is executed now, with breakpoints behind it. */
static __kwatch void step_over(struct pt_regs *regs)
{
	u32 word = *(u32 *)regs->ARM_pc;
	unsigned long target;

	watch_here(0);
	target = target_of(regs, word);
	if (target == 1 || is_exclusive(word)) {
		klog(cannot_step, regs->ARM_pc);
		return;
	}
	break_at(STEP_BEHIND, regs->ARM_pc + 4);
	if (target)
		break_at(STEP_TARGET, target);
	asm volatile("isb" : : : "memory");
	stepping[smp_processor_id()] = STEPS | (regs->ARM_cpsr & PSR_I_BIT ? HAD_NO_INTERRUPTS : 0);
	regs->ARM_cpsr |= PSR_I_BIT;
}

/* Returns whether the CPU has been stepping. */
static __kwatch int stepped(struct pt_regs *regs)
{
	u8 *here = &stepping[smp_processor_id()], was = *here;

	if (!was)
		return 0;
	*here = 0;
	set_breakpoint(STEP_BEHIND, 0, 0);
	set_breakpoint(STEP_TARGET, 0, 0);
	if (!(was & HAD_NO_INTERRUPTS))
		regs->ARM_cpsr &= ~PSR_I_BIT;
	watch_here(1);
	return 1;
}

/* Calls the handlers of all watchpoints of one kind that some bytes belong to. */
static __kwatch void call_handlers(struct pt_regs *regs, int first, int end, unsigned long at, unsigned long bytes)
{
	for (int nr = first; nr < end; nr++) {
		const struct kwatch *w = &kwatch_list[nr];

		/* Its address was stored before its handler. */
		if (kwatch_active(nr) && (atomic_observe(), 1) && at < w->addr + w->length && w->addr < at + bytes)
			kwatch_hit(nr, regs);
	}
}

__kwatch __used void kwatch_data_abort(struct pt_regs *frame)
{
	unsigned long status, at;

	asm volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
	if ((status & FSR_STATUS) != FSR_DEBUG) {
		do_data_abort(frame);
		return;
	}
	asm volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(at));
	call_handlers(frame, 0, WATCHPOINTS, at, bytes_moved(*(u32 *)frame->ARM_pc));
	step_over(frame);
}

/*
 * A watchpoint is being taken away whose register is still armed here: it goes at once. Returns whether there was
 * one.
 */
static __kwatch int was_watched(unsigned long at)
{
	int was = 0;

	for (int nr = WATCHPOINTS; nr < DEBUG_REGISTERS; nr++) {
		if (kwatch_list[nr].length && !kwatch_active(nr) && kwatch_list[nr].addr == at) {
			kwatch_set(nr, NULL);
			was = 1;
		}
	}
	return was;
}

/* The instruction behind a stepped one may be watched itself. bkpt has the same status, and nobody takes it. */
__kwatch __used void kwatch_prefetch_abort(struct pt_regs *frame)
{
	unsigned long status, behind;
	int watched = 0;

	asm volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(status));
	if ((status & FSR_STATUS) != FSR_DEBUG) {
		do_prefetch_abort(frame);
		return;
	}
	behind = stepped(frame);
	for (int nr = WATCHPOINTS; nr < DEBUG_REGISTERS; nr++)
		watched |= kwatch_active(nr) && kwatch_list[nr].addr == frame->ARM_pc;
	if (!watched && !behind) {
		if (!was_watched(frame->ARM_pc))
			do_prefetch_abort(frame);
		return;
	}
	if (watched) {
		call_handlers(frame, WATCHPOINTS, DEBUG_REGISTERS, frame->ARM_pc, 1);
		step_over(frame);
	}
}
