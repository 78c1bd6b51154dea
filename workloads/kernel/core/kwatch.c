/*
 * Watchpoints: who has which debug register, and the handler's call. All of it lies at the end of the image, and
 * nothing is listened to before the first watchpoint: kernels without one are not moved.
 */
#include <linux/guest.h>
#include <linux/kwatch.h>
#include <asm/kwatch.h>

#define EBUSY 16
#define EINVAL 22
#define ENOSYS 38
#define MANY_CPUS 256

/* 0: the kernel is built without watchpoints. Written by the simulator. */
__kwatch_data int switch_kwatch = 1;
__kwatch_data struct kwatch kwatch_list[DEBUG_REGISTERS] = { { 0, 0, 0, NULL } };

static __kwatch_data spinlock_t registers_lock = SPIN_LOCK_UNLOCKED;
static __kwatch_data u8 owners[DEBUG_REGISTERS] = { 0 };
static __kwatch_data int listening = 0;
/* Handlers that run, a bit for each register. Only the CPU itself looks at its own. */
static __kwatch_data u8 kwatch_in_progress[MANY_CPUS] = { 0 };

/* The last free one of a range. Debuggers of tasks count from the first one. */
static __kwatch int last_free(struct register_range range)
{
	int nr = range.end;

	while (--nr >= range.first)
		if (!owners[nr])
			return nr;
	return -1;
}

static __kwatch int take(struct register_range range, int flag)
{
	unsigned long irqs = lock_quietly(&registers_lock);
	int nr = last_free(range);

	if (nr >= 0)
		owners[nr] = flag;
	unlock_quietly(&registers_lock, irqs);
	return nr;
}

__kwatch __used int dr_alloc(int regnum, int flag)
{
	if (regnum == DR_ANY)
		return take((struct register_range){ 0, DEBUG_REGISTERS }, flag);
	if (regnum < 0 || regnum >= DEBUG_REGISTERS)
		return -EINVAL;
	return take((struct register_range){ regnum, regnum + 1 }, flag) < 0 ? -EBUSY : regnum;
}

__kwatch __used int dr_free(int regnum)
{
	if (regnum < 0 || regnum >= DEBUG_REGISTERS || !owners[regnum])
		return -EINVAL;
	owners[regnum] = 0;
	return 0;
}

/* On every CPU: its register becomes what the list has. */
static __kwatch void set_here(void *arg)
{
	int nr = (long)arg;

	kwatch_set(nr, kwatch_active(nr) ? &kwatch_list[nr] : NULL);
}

static __kwatch void set_everywhere(int nr)
{
	on_each_cpu(set_here, (void *)(long)nr);
}

/* From the first watchpoint on. */
static __kwatch void listen(void)
{
	unsigned long irqs = lock_quietly(&registers_lock);

	if (!listening)
		kwatch_listen();
	listening = 1;
	unlock_quietly(&registers_lock, irqs);
}

__kwatch __used int register_kwatch(unsigned long addr, u8 length, u8 type, kwatch_handler_t handler)
{
	struct register_range range;
	int nr;

	if (!switch_kwatch)
		return -ENOSYS;
	range = kwatch_registers(addr, length, type);
	if (!handler || range.first == range.end)
		return -EINVAL;
	nr = take(range, DR_ALLOC_GLOBAL);
	if (nr < 0)
		return -1;
	listen();
	/* A CPU that sees the handler compares with the address, which may still be that of the watchpoint before. */
	kwatch_list[nr] = (struct kwatch){ addr, length, type, ORDERS_FOR_SEARCH ? NULL : handler };
	if (ORDERS_FOR_SEARCH) {
		atomic_publish();
		WRITE_VOLATILE(kwatch_list[nr].handler, handler);
	}
	set_everywhere(nr);
	return nr;
}

/* Behind the cross call no handler of the watchpoint runs, since handlers run with interrupts off. */
__kwatch __used void unregister_kwatch(int debugreg)
{
	if (debugreg < 0 || debugreg >= DEBUG_REGISTERS || owners[debugreg] != DR_ALLOC_GLOBAL)
		return;
	WRITE_VOLATILE(kwatch_list[debugreg].handler, NULL);
	set_everywhere(debugreg);
	dr_free(debugreg);
}

__kwatch void kwatch_hit(int nr, struct pt_regs *regs)
{
	u8 *running = &kwatch_in_progress[smp_processor_id()];
	kwatch_handler_t handler = READ_VOLATILE(kwatch_list[nr].handler);
	u8 bit = 1 << nr;

	if (!handler || (*running & bit))
		return;
	*running |= bit;
	handler(&kwatch_list[nr], regs);
	*running &= ~bit;
}
