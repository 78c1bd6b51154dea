/*
 * A guest without a kernel, for tests of the board. Every CPU comes to _start with its number in r0 and the
 * address of its per-CPU data in r1. CPU 0 goes to the function whose address is in boot_main, the others
 * to that in other_main; the tests write both, and arg. r7 holds the CPU's number, r6 its per-CPU data.
 * Handlers change r8 to r12, which nothing else uses across an instruction that interrupts are on at, and
 * find the per-CPU data at their stack pointer.
 */
#define DISTRIBUTOR 0xf8000000
#define INTERFACE 0xf8001000
#define CONSOLE 0xf8002000
#define SYSTEM 0xf8003000
#define GENERATE 0xf00		/* registers of the distributor */
#define ENABLE 0x100
#define MASK 4			/* and of an interface */
#define ACKNOWLEDGE 0x0c
#define END 0x10
#define TIMER 30
#define AT_COUNT 0		/* per-CPU data */
#define AT_TICKS 4
#define AT_WOKEN 8
#define AT_OTHERS 12
#define AT_LAST 16

	.syntax unified
	.arch armv7-a
	.arm

.macro FUNC name
	.balign 64
	.globl \name
	.type \name, %function
\name:
.endm

.macro NATIVE name
	.balign 16
	.globl \name
	.type \name, %function
\name:
	udf #0
	.size \name, 16
.endm

.macro LA reg, name
	movw \reg, #:lower16:\name
	movt \reg, #:upper16:\name
.endm

.macro GET reg, name
	LA \reg, \name
	ldr \reg, [\reg]
.endm

/* Counts in the data that a register points at. */
.macro COUNT base, at
	ldr r12, [\base, #\at]
	add r12, r12, #1
	str r12, [\base, #\at]
.endm

	.section .vectors, "ax"
	b .			/* reset */
	b .
	b .
	b .
	b .
	b .
	b arrived
	b .

arrived:
	sub lr, lr, #4
	LA r8, INTERFACE
	ldr r9, [r8, #ACKNOWLEDGE]
	ubfx r10, r9, #0, #10
	cmp r10, #TIMER
	beq 2f
	cmp r10, #16
	blo 1f
	COUNT sp, AT_OTHERS
	b 3f
1:	COUNT sp, AT_COUNT
	str r9, [sp, #AT_LAST]
	b 3f
2:	COUNT sp, AT_TICKS
	GET r11, period
	mcr p15, 0, r11, c14, c2, 0	/* CNTP_TVAL */
3:	str r9, [r8, #END]
	movs pc, lr

	.section .native, "ax"
	.balign 64
	NATIVE sim_main
	NATIVE native_return
	NATIVE report		/* of one value */

	.text
	.globl _start
_start:
	mov r7, r0
	mov r6, r1
	cps #0x12
	mov sp, r6
	cps #0x13
	LA r0, stack_end
	add sp, r6, r0
	mrc p15, 0, r0, c1, c0, 0
	orr r0, r0, #0x2000		/* high vectors */
	mcr p15, 0, r0, c1, c0, 0
	isb
	LA r4, DISTRIBUTOR
	LA r5, INTERFACE
	mov r0, #0xf0
	str r0, [r5, #MASK]
	mov r0, #1
	str r0, [r5]
	mov r1, #1 << TIMER
	str r1, [r4, #ENABLE]
	cmp r7, #0
	LA r3, other_main
	bne 1f
	LA r3, boot_main
	str r0, [r4]
1:	ldr pc, [r3]

/* Starts arg CPUs and waits until they have said that they run. */
FUNC start_others
	mov r3, #0
	LA r2, SYSTEM
	sub r0, r3, #1
	str r0, [r2, #0x34]
	LA r0, _start
	str r0, [r2, #0x30]
	GET r1, arg
1:	add r3, r3, #1
	cmp r3, r1
	bhi 3f
	mov r0, #0x10000
	lsl r0, r0, r3
	str r0, [r4, #GENERATE]
	LA r2, online
2:	ldr r0, [r2]
	cmp r0, r3
	blo 2b
	b 1b
3:	bx lr

FUNC say_online
	LA r2, online
1:	ldrex r0, [r2]
	add r0, r0, #1
	strex r1, r0, [r2]
	cmp r1, #0
	bne 1b
	dmb
	bx lr

/* Another CPU that is ready and sleeps between interrupts. The first is the one that started it. */
FUNC ready
	bl say_online
	cpsie i
1:	wfi
	COUNT r6, AT_WOKEN
	b 1b

/* The same, and interrupts are off while it sleeps. */
FUNC masked
	bl say_online
1:	wfi
	COUNT r6, AT_WOKEN
	cpsie i
	nop
	cpsid i
	b 1b

/* Another CPU that is ready and computes for ever. */
FUNC busy
	bl say_online
	cpsie i
	mov r2, #0
1:	add r2, r2, #1
	eor r3, r3, r2
	b 1b

/* Another CPU that sleeps while its timer runs. */
FUNC ticking
	bl say_online
	GET r0, period
	mcr p15, 0, r0, c14, c2, 0
	mov r0, #1
	mcr p15, 0, r0, c14, c2, 1
	b ready + 4

/* Boots, tells how many CPUs run, ends. */
FUNC boot_count
	bl start_others
	GET r0, online
	bl report
	bl sim_main

/* Sends an interrupt to every other CPU, one after the other, and waits for each. */
FUNC boot_ipis
	bl start_others
	GET r3, pause
4:	subs r3, r3, #1
	bne 4b
	mov r2, #1
1:	mov r0, #0x10000
	lsl r0, r0, r2
	orr r0, r0, r2
	str r0, [r4, #GENERATE]
	GET r3, pause
2:	subs r3, r3, #1
	bne 2b
	add r2, r2, #1
	GET r1, arg
	cmp r2, r1
	bls 1b
	bl sim_main

/* Sends one interrupt with the word in arg2 when the others have settled, and waits. */
FUNC boot_send
	bl start_others
	cpsie i
	mov r2, #2
	GET r0, arg2
1:	GET r3, pause
2:	subs r3, r3, #1
	bne 2b
	subs r2, r2, #1
	strne r0, [r4, #GENERATE]
	bne 1b
	bl sim_main

/* Starts the others and computes. */
FUNC boot_busy
	bl start_others
1:	b 1b

/* Prints a line. */
FUNC boot_print
	LA r2, CONSOLE
	LA r3, text
1:	ldrb r0, [r3], #1
	cmp r0, #0
	beq 3f
2:	ldr r1, [r2, #0x18]
	tst r1, #0x20
	bne 2b
	strb r0, [r2]
	b 1b
3:	bl sim_main

/*
 * Accesses registers as the list at arg2 says: kind, address, value. Loads leave what they found in the third
 * word. Kind 0 ends.
 */
FUNC boot_list
	bl start_others
	cpsie i
	GET r5, arg2
1:	ldm r5!, {r0, r1, r2}
	add pc, pc, r0, lsl #3
	nop
	b 9f			/* 0 */
	nop
	ldr r2, [r1]		/* 1 */
	b 8f
	str r2, [r1]		/* 2 */
	b 1b
	ldrb r2, [r1]		/* 3 */
	b 8f
	strb r2, [r1]		/* 4 */
	b 1b
	ldrh r2, [r1]		/* 5 */
	b 8f
	strh r2, [r1]		/* 6 */
	b 1b
	wfi			/* 7 */
	b 1b
	cpsid i			/* 8 */
	b 1b
	cpsie i			/* 9 */
	b 1b
	ldrd r2, r3, [r1]	/* 10 */
	b 8f
	strd r2, r3, [r1]	/* 11 */
	b 1b
8:	str r2, [r5, #-4]
	b 1b
9:	bl sim_main

	.data
	.balign 64
	.globl boot_main, other_main, arg, arg2, online, period, pause
boot_main: .word 0
other_main: .word 0
arg: .word 0
arg2: .word 0
period: .word 0x7fffffff
pause: .word 2000
	.balign 64
online: .word 0
	.balign 64
text: .asciz "hello, world.\n"

	.section .percpu, "aw"
	.globl count, ticks, woken, others, last
count: .word 0
ticks: .word 0
woken: .word 0
others: .word 0
last: .word 0
	.balign 16
	.skip 2048
stack_end:
	.globl stack_end

	.section .bss.boot, "aw", %nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:
