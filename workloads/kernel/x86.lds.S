/*
 * Layout of the x86 images. Virtual address = physical address + OFFSET. All code that a probe hit
 * executes lies in the sections .phase.*, one for each phase of the hit. They come before the rest of the
 * kernel, so that a hit's addresses, and with them its place in caches and predictors, do not depend
 * on how much else there is.
 */
#include <linux/era.h>

#ifdef __x86_64__
#define LOAD_OFFSET 0xffffffff80000000
#define USER_TEXT 0x400000
OUTPUT_FORMAT("elf64-x86-64")
#else
#define LOAD_OFFSET 0xc0000000
#define USER_TEXT 0x8048000
OUTPUT_FORMAT("elf32-i386")
#endif
ENTRY(_start)

PHDRS {
	low PT_LOAD FLAGS(7);
	user PT_LOAD FLAGS(5);
	user_data PT_LOAD FLAGS(6);
	text PT_LOAD FLAGS(7);
	percpu PT_LOAD FLAGS(6);
	bss PT_LOAD FLAGS(7);
	late PT_LOAD FLAGS(7);
}

OFFSET = LOAD_OFFSET;

SECTIONS {
	/*
	 * What belongs to user mode lies below the kernel, so that the rest is where it was without. First what the
	 * kernel executes for it, then the pages that user mode may reach, at addresses that are its own.
	 */
	. = OFFSET + 0x10000;
	.syscall.text : AT(ADDR(.syscall.text) - OFFSET) ALIGN(64) { *(.syscall.text) } :low
	.syscall.data : AT(ADDR(.syscall.data) - OFFSET) ALIGN(64) { *(.syscall.data) }
	. = ALIGN(4096);
	_user_at = . - OFFSET;
	.user.text USER_TEXT : AT(_user_at) { *(.user.text) } :user
	. = ALIGN(4096);
	.user.data : AT(_user_at + ADDR(.user.data) - USER_TEXT) { *(.user.data) } :user_data
	.user.bss : AT(_user_at + ADDR(.user.bss) - USER_TEXT) ALIGN(4096) { *(.bss.user) }
	ASSERT(. - USER_TEXT <= 0x80000, "no room below the kernel")

	. = OFFSET + 0x100000;
	_text = .;
	.phase.handler : AT(ADDR(.phase.handler) - OFFSET) ALIGN(64) { *(.phase.handler) } :text
	.workload : AT(ADDR(.workload) - OFFSET) ALIGN(64) { *(.workload) }
	. = ALIGN(64);
	__kprobes_text_start = .;
	__entry_text_start = .;
	.phase.entry : AT(ADDR(.phase.entry) - OFFSET) ALIGN(64) { *(.phase.entry) }
	.phase.return : AT(ADDR(.phase.return) - OFFSET) ALIGN(64) { *(.phase.return) }
	__entry_text_end = .;
	.phase.dispatch : AT(ADDR(.phase.dispatch) - OFFSET) ALIGN(64) {
		*(.phase.dispatch) *(.phase.dispatch.jprobe)
	}
	.phase.step : AT(ADDR(.phase.step) - OFFSET) ALIGN(64) { *(.phase.step) }
	.phase.kretprobe : AT(ADDR(.phase.kretprobe) - OFFSET) ALIGN(64) { *(.phase.kretprobe) }
	.phase.detour : AT(ADDR(.phase.detour) - OFFSET) ALIGN(64) {
		*(.phase.detour) *(.phase.detour.patching)
	}
	.phase.idle : AT(ADDR(.phase.idle) - OFFSET) ALIGN(64) { *(.phase.idle) }
	.phase.stop : AT(ADDR(.phase.stop) - OFFSET) ALIGN(64) { *(.phase.stop) }
	.kprobes.text : AT(ADDR(.kprobes.text) - OFFSET) ALIGN(64) { *(.kprobes.text) }
	__kprobes_text_end = .;
	.phase.irq : AT(ADDR(.phase.irq) - OFFSET) ALIGN(64) { *(.phase.irq) }
	.text : AT(ADDR(.text) - OFFSET) ALIGN(64) { *(.text.head) *(.text .text.*) }
	.native : AT(ADDR(.native) - OFFSET) ALIGN(64) {
		__native_start = .; *(.native) __native_end = .;
	}
	.workload.sites : AT(ADDR(.workload.sites) - OFFSET) ALIGN(64) { *(.workload.sites) *(.workload.many) }
	.workload.module : AT(ADDR(.workload.module) - OFFSET) ALIGN(64) {
		__module_text_start = .; *(.workload.module) __module_text_end = .;
	}
	. = ALIGN(64);
	_etext = .;

	.rodata : AT(ADDR(.rodata) - OFFSET) ALIGN(64) { *(.rodata .rodata.*) }
	__ex_table : AT(ADDR(__ex_table) - OFFSET) ALIGN(16) {
		__start___ex_table = .; KEEP(*(__ex_table)) __stop___ex_table = .;
	}
	.data : AT(ADDR(.data) - OFFSET) ALIGN(4096) { *(.data .data.*) }
#if ERA_UNIPROCESSOR
	/* One CPU: where the others take their copies from, it has the original. */
	.percpu : AT(ADDR(.percpu) - OFFSET) ALIGN(4096) {
		__per_cpu_load = .; __per_cpu_start = .; *(.percpu.first) *(.percpu)
	}
	.percpu_stacks (NOLOAD) : AT(ADDR(.percpu_stacks) - OFFSET) {
		*(.percpu_stacks) __per_cpu_end = .;
	} :bss
	. = ALIGN(4096);
#else
	. = ALIGN(4096);
	__per_cpu_load = .;
	_percpu_at = . - OFFSET;

	/* Linked at 0; each CPU gets a copy. Its stacks are part of it but not of the file. */
	.percpu 0 : AT(_percpu_at) {
		__per_cpu_start = .; *(.percpu.first) *(.percpu)
	} :percpu
	.percpu_stacks : AT(_percpu_at + ADDR(.percpu_stacks)) ALIGN(64) {
		*(.percpu_stacks) __per_cpu_end = .;
	} :percpu

#ifdef __i386__
	__per_cpu_align = ALIGNOF(.percpu_stacks);
#endif
	. = __per_cpu_load + __per_cpu_end;
	. = ALIGN(4096);
#endif
	.bss : AT(ADDR(.bss) - OFFSET) { *(.bss .bss.* COMMON) } :bss
	.slots (NOLOAD) : AT(ADDR(.slots) - OFFSET) ALIGN(4096) {
		__slots_start = .; . += 0x10000; __slots_end = .;
	} :bss
	.detours (NOLOAD) : AT(ADDR(.detours) - OFFSET) ALIGN(4096) {
		__detours_start = .; . += 0x7f000; __detours_end = .;
	} :bss

	/*
	 * What only some kernels execute, behind everything, so that all others have the addresses that
	 * they would have without it. Beyond _etext nothing can be probed.
	 */
	.phase.detour.late : AT(ADDR(.phase.detour.late) - OFFSET) ALIGN(4096) { *(.phase.detour.late) } :late
	.late : AT(ADDR(.late) - OFFSET) ALIGN(64) { *(.late.text) *(.late.data) } :late
	. = ALIGN(4096);
	_end = .;

	/DISCARD/ : { *(.comment) *(.note*) *(.eh_frame) }
}
