/* Annotations: where code goes, what the compiler may assume. */
#ifndef _LINUX_COMPILER_H
#define _LINUX_COMPILER_H

#include <asm/cache.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((noinline))
#define __always_inline inline __attribute__((always_inline))
#define __noreturn __attribute__((noreturn))
#define __used __attribute__((used))
#define __unused __attribute__((unused))
#define __aligned(n) __attribute__((aligned(n)))
#define __section(name) __attribute__((section(name)))
#define ____cacheline_aligned __aligned(SMP_CACHE_BYTES)

#define barrier() asm volatile("" ::: "memory")
#define READ_VOLATILE(x) (*(volatile __typeof__(x) *)&(x))
#define WRITE_VOLATILE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

/*
 * Code of the probe hit path is laid out by phase, so that every simulated cycle can be booked
 * on one. All phases but that of the user handlers are refused as probe targets.
 */
#define __phase(name) __section(".phase." name) noinline
#define __dispatch __phase("dispatch")
/* The part of the dispatch that jprobes alone need, behind what all hits share. */
#define __jprobe __phase("dispatch.jprobe")
#define __step __phase("step")
#define __kretprobe __phase("kretprobe")
#define __detour __phase("detour")
/* Ways to the detour and back to text that has changed, behind what all hits share. */
#define __patching __phase("detour.patching")
#define __handler __phase("handler")
/* No part of a hit, but nothing to be probed either: what a probe's own text is changed by. */
#define __kprobes __section(".kprobes.text") noinline
/* The same and data for them, out of the way of kernels that do not use them. */
#define __kprobes_late __section(".late.text") noinline
/* Behind all text: no address of what is measured depends on it, on any instruction set. */
#define __last __section(".last.text") noinline __used
/* Mistakes that the search for races has to notice. They lie behind everything else. */
#define __wrong __section(".wrong.text") noinline __used __attribute__((no_instrument_function))
#define __patching_late __phase("detour.late")
#define __late_data __section(".late.data")
/* Interrupt handlers, the idle loop, and what all CPUs do while the machine is stopped. */
#define __irq __phase("irq")
#define __idle __phase("idle")
#define __stop __phase("stop")
/* Functions that are probed and the loops that call them. */
#define __workload __section(".workload") noinline
/* The same for several CPUs; apart, so that the others stay where they are. */
#define __many __section(".workload.many") noinline __used
/* The same in a module: its text may vanish and come back. */
#define __module __section(".workload.module") noinline
/* System calls and the ways into and out of user mode, what they read and write, and what runs in user
   mode. the linker script puts all of this below the kernel. */
#define __syscall __section(".syscall.text") noinline __used
#define __syscall_data __section(".syscall.data")
#define __user_text __section(".user.text") noinline __used
#define __user_data __section(".user.data")
#define __user_bss __section(".bss.user")

#endif
