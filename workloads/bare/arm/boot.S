/*
 * Brings a board whose memory begins at 2 GiB into the state in which the guest kernel expects a CPU: the page
 * tables, translation on. run.sh puts this behind the pages of the vectors. Nothing here depends on where
 * it is executed. Tables go to 16 MiB behind the beginning of memory, the CPU's copy of the per-CPU data to 48 MiB.
 */
#include <asm/function.h>

#define MEMORY 0x80000000
#define TABLES (MEMORY + 0x1000000)
#define LINEAR 0xc0000000
#define MODULES 0xbf000000
#define COPY 0x3000000

/* Entries (ARM ARM, B3.5.1): memory that is cached and shared; what user mode may use, too; devices. Domain 0. */
#define SECTION 0x11c0e		/* TEX 1, C, B, S, rights of the kernel alone with bit 10 */
#define KERNEL_SECTION ((SECTION & ~0xc00) | 0x400)
#define KERNEL_PAGE 0x45e	/* the same by 4 KiB */
#define USER_PAGE 0x47e
#define DEVICE_PAGE 0x17	/* shared device, never executed, rights of the kernel */
#define TABLE 1

.macro LOAD reg, value
	movw \reg, #(\value) & 0xffff
	movt \reg, #(\value) >> 16
.endm

/* count sections of 1 MiB from an address on. */
.macro SECTIONS at, physical, count
	LOAD r1, TABLES + ((\at) >> 20) * 4
	LOAD r2, (\physical) | KERNEL_SECTION
	mov r3, #\count
1:	str r2, [r1], #4
	add r2, r2, #0x100000
	subs r3, r3, #1
	bne 1b
.endm

/* A table for the MiB of an address, the n-th one behind the first. r1 is the entry of the address in it. */
.macro SECOND at, n
	LOAD r1, TABLES + ((\at) >> 20) * 4
	LOAD r2, (TABLES + 0x4000 + (\n) * 0x400) | TABLE
	str r2, [r1]
	LOAD r1, TABLES + 0x4000 + (\n) * 0x400 + (((\at) >> 12) & 0xff) * 4
.endm

.macro DEVICE physical
	LOAD r2, (\physical) | DEVICE_PAGE
	str r2, [r1], #4
.endm

	.section .boot, "ax"
	.globl boot
boot:
	cpsid if, #0x13
	/* No entry leads anywhere at first. */
	LOAD r1, TABLES
	LOAD r3, 0x2000
	mov r2, #0
1:	str r2, [r1], #4
	subs r3, r3, #1
	bne 1b

	SECTIONS MEMORY, MEMORY, 1
	SECTIONS MODULES, MEMORY, 14
	SECTIONS LINEAR, MEMORY, 64
	SECOND 0xffff0000, 0
	LOAD r2, MEMORY | KERNEL_PAGE
	str r2, [r1]
	SECOND 0x10000000, 1
	LOAD r2, MEMORY | USER_PAGE
	movw r0, #:lower16:_user_at
	movt r0, #:upper16:_user_at
	add r2, r2, r0
	mov r3, #128
1:	str r2, [r1], #4
	add r2, r2, #0x1000
	subs r3, r3, #1
	bne 1b
	SECOND 0xf8000000, 2
	DEVICE 0x2c001000
	DEVICE 0x2c002000
	DEVICE 0x1c090000
	DEVICE 0x1c010000

	/* The CPU's copy of its data, without the stacks behind it, which need no first value. */
	movw r0, #:lower16:_percpu_at
	movt r0, #:upper16:_percpu_at
	add r0, r0, #MEMORY
	LOAD r1, MEMORY + COPY
	mov r3, #0x1000
1:	ldr r2, [r0], #4
	str r2, [r1], #4
	subs r3, r3, #4
	bne 1b

	/* Domain 0 is a client, and there is one table. */
	mov r0, #1
	mcr p15, 0, r0, c3, c0, 0
	mov r0, #0
	mcr p15, 0, r0, c2, c0, 2
	LOAD r1, TABLES
	mcr p15, 0, r1, c2, c0, 0
	mcr p15, 0, r0, c8, c7, 0
	mcr p15, 0, r0, c7, c5, 0
	dsb
	isb
	mrc p15, 0, r0, c1, c0, 0
	LOAD r1, 0x1805			/* translation, both caches, branch prediction */
	orr r0, r0, r1
	mcr p15, 0, r0, c1, c0, 0
	isb
	mov r0, #0
	LOAD r1, LINEAR + COPY
	LOAD_ADDRESS r2, _start
	bx r2
