/*
 * Watchpoints of the kernel, the third interface of 2004: a handler is called when an address is executed, written
 * or accessed, by a debug register of every CPU. Names and types are those of the patches of 2002 to 2007.
 */
#ifndef _LINUX_KWATCH_H
#define _LINUX_KWATCH_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/ptrace.h>

/* Types, with the numbers that the first processors with watchpoints have for them. */
#define DR_RW_EXECUTE 0
#define DR_RW_WRITE 1
#define DR_RW_IO 2
#define DR_RW_READ 3	/* and writes */

struct kwatch;
typedef void (*kwatch_handler_t)(struct kwatch *, struct pt_regs *);

struct kwatch {
	unsigned long addr;
	u8 length;		/* bytes: 1, 2, 4, and 8 where words have so many */
	u8 type;		/* DR_RW_ */
	kwatch_handler_t handler;
};

/*
 * Returns the number of the debug register, -1 when none is free, -EINVAL for what the registers cannot watch, and
 * -ENOSYS for a kernel without watchpoints. Interrupts are on: other CPUs are waited for.
 */
int register_kwatch(unsigned long addr, u8 length, u8 type, kwatch_handler_t handler);
void unregister_kwatch(int debugreg);

/*
 * Who has a register: the kernel's watchpoints, or the debugger of a task, which sets it when the task runs. A
 * register number takes that one, DR_ANY the last that is free. The result is the number, -EBUSY for one that the
 * other side has, -1 when none is free.
 */
#define DR_ANY -1
#define DR_ALLOC_GLOBAL 1
#define DR_ALLOC_LOCAL 2
int dr_alloc(int regnum, int flag);
int dr_free(int regnum);

#define __kwatch __section(".kwatch.text") noinline
#define __kwatch_data __section(".kwatch.data")

/* A range of registers, the end excluded. */
struct register_range {
	int first, end;
};

/* The part of the architecture. What it cannot watch has no registers. */
struct register_range kwatch_registers(unsigned long addr, u8 length, u8 type);
/* Has this CPU's register watch, or nothing for NULL. */
void kwatch_set(int nr, const struct kwatch *watch);
/* Listens to the exceptions of watchpoints from now on. */
void kwatch_listen(void);

extern struct kwatch kwatch_list[];
/* The register's watchpoint has been hit on this CPU. Its handler is called, but not inside of itself. */
void kwatch_hit(int nr, struct pt_regs *regs);
/* What has a handler. */
static __always_inline int kwatch_active(int nr)
{
	return READ_VOLATILE(kwatch_list[nr].handler) != NULL;
}

#endif
