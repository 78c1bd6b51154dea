/*
 * Brings a partition that begins at real address 0x100 into the state in which the guest kernel expects a CPU:
 * the page table by calls of the hypervisor, the segments, translation on. run.sh puts this behind the vectors, and a
 * branch to it in place of the system reset vector. The CPU's copy of the per-CPU data goes to 48 MiB.
 */
#include <asm/function.h>
#include <asm/percpu.h>
#include <asm/ptrace.h>

#define H_ENTER 8
#define LINEAR 0xc000
#define SLOTS_SEGMENT 0xd000
#define COPY 0x3000000
/* Of a page table of at least 2 MiB: the number of its groups, less one. */
#define GROUPS 0x3fff

/* An entry (Operating Environment Architecture, Page Table): valid, and the rights of a page. */
#define KERNEL_PAGE 0x190	/* referenced, changed, coherent; the supervisor's by the segment's key */
#define USER_PAGE 0x192

/* Numbers of segments, from 1. */
#define VSID(n) (n)

.macro LOAD64 reg, value
	lis \reg, (\value) >> 48
	ori \reg, \reg, (\value) >> 32 & 0xffff
	sldi \reg, \reg, 32
	oris \reg, \reg, (\value) >> 16 & 0xffff
	ori \reg, \reg, (\value) & 0xffff
.endm

/* slbmte: the entry n for the segment of an address. */
.macro SEGMENT n, address, vsid
	LOAD64 4, (\address) | 0x8000000 | \n
	LOAD64 3, (\vsid) << 12 | 0x400
	slbmte 3, 4
.endm

	.section .boot, "ax"
	.globl boot
boot:
	/* r14: page in its segment, r15: real address, r16: how many, r17: segment, r18: rights. */
	li 14, 0
	li 15, 0
	lis 16, 0x4000 >> 16
	ori 16, 16, 0x4000		/* 64 MiB by pages of 4 KiB */
	li 17, VSID(1)
	li 18, KERNEL_PAGE
	bl enter_pages
	li 14, 0
	li 15, 0
	li 16, 0x1000			/* and the first 16 MiB of them for slots */
	li 17, VSID(2)
	li 18, KERNEL_PAGE
	bl enter_pages
	li 14, 0			/* user mode begins with its segment */
	lis 15, _user_at@h
	ori 15, 15, _user_at@l
	li 16, 128
	li 17, VSID(3)
	li 18, USER_PAGE
	bl enter_pages

	slbia
	SEGMENT 0, 0xc000000000000000, VSID(1)
	SEGMENT 1, 0xd000000000000000, VSID(2)
	SEGMENT 2, 0x10000000, VSID(3)

	/* The CPU's copy of its data, without the stacks behind it, which need no first value. */
	lis 5, _percpu_at@h
	ori 5, 5, _percpu_at@l
	lis 6, COPY >> 16
	li 7, 0x1000 / 8
	mtctr 7
	addi 5, 5, -8
	addi 6, 6, -8
1:	ldu 0, 8(5)
	stdu 0, 8(6)
	bdnz 1b

	li 3, 0
	LOAD64 4, 0xc000000000000000 + COPY - PERCPU_LINKED
	LOAD_ADDRESS 5, ._start
	mtsrr0 5
	LOAD64 6, 0x8000000000001032	/* 64 bits, machine check, translation, recoverable */
	mtsrr1 6
	rfid

/*
 * H_ENTER(flags, place, entry): the hash of segment and page names a group of eight places, of which the
 * hypervisor takes a free one.
 */
enter_pages:
	mflr 31
2:	xor 5, 17, 14
	andi. 5, 5, GROUPS
	sldi 5, 5, 3
	srdi 6, 14, 11
	sldi 8, 17, 5
	or 6, 6, 8
	sldi 6, 6, 7
	ori 6, 6, 1
	or 7, 15, 18
	li 4, 0
	li 3, H_ENTER
	sc 1
	cmpdi 3, 0
3:	bne 3b				/* nothing can be told yet: it hangs here */
	addi 14, 14, 1
	addi 15, 15, 0x1000
	addi 16, 16, -1
	cmpdi 16, 0
	bne 2b
	mtlr 31
	blr
