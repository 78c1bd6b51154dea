/*
 * A guest without a kernel, for tests of the board. Every CPU comes to _start with its number in r3 and the
 * address of its per-CPU data in r4. CPU 0 goes to the function whose address is in boot_main, the others
 * to that in other_main; the tests write both, and arg. r30 holds the CPU's number, r31 its per-CPU data.
 * Handlers stay in real mode, where the upper four bits of an address do not count. They change r3 to r9,
 * and r18 to r20.
 */
#define H_PUT_TERM_CHAR 0x58
#define H_EOI 0x64
#define H_CPPR 0x68
#define H_IPI 0x6c
#define H_XIRR 0x74
#define H_CEDE 0xe0
#define START_CPU 1
#define STOP_SELF 2
#define QUERY_CPU 3

.macro FUNC name
	.balign 64
	.globl \name
	.type \name, @function
\name:
.endm

.macro NATIVE name
	.balign 16
	.globl \name
	.type \name, @function
\name:
	trap
	.size \name, 16
.endm

.macro LA reg, name
	lis \reg, \name@highest
	ori \reg, \reg, \name@higher
	sldi \reg, \reg, 32
	oris \reg, \reg, \name@high
	ori \reg, \reg, \name@l
.endm

.macro GET reg, name
	LA \reg, \name
	ld \reg, 0(\reg)
.endm

/* A call whose number is not in r3 yet. RTAS has a number that li cannot load. */
.macro CALL number
	li 3, \number
	sc 1
.endm
.macro RTAS
	lis 3, 1
	addi 3, 3, -0x1000
	sc 1
.endm

.macro COUNT name
	ld 9, \name@l(31)
	addi 9, 9, 1
	std 9, \name@l(31)
.endm

	.section .vectors, "ax"
	.org 0x500
	mfsrr0 18		/* calls change both */
	mfsrr1 19
	CALL H_XIRR
	mr 20, 4
	mr 4, 30
	li 5, 0xff
	CALL H_IPI
	COUNT count
	mr 4, 20
	CALL H_EOI
	mtsrr0 18
	mtsrr1 19
	rfid

	.org 0x900
	GET 9, period
	mtdec 9
	COUNT ticks
	rfid

	.section .native, "ax"
	.balign 64
	NATIVE sim_main
	NATIVE native_return
	NATIVE report		/* of one value */

	.text
	.globl _start
_start:
	mr 30, 3
	mr 31, 4
	LA 1, stack_end
	add 1, 1, 31
	li 4, 0xff
	CALL H_CPPR
	GET 5, boot_main
	cmpdi 30, 0
	beq 1f
	GET 5, other_main
1:	mtctr 5
	bctr

/* Fills the argument block that r10 is the address of, and calls. */
FUNC rtas
	stw 3, 0(10)		/* token */
	stw 4, 4(10)		/* arguments */
	stw 5, 8(10)		/* results */
	stw 6, 12(10)
	clrldi 4, 10, 4
	RTAS
	blr

/* Starts arg CPUs and waits until they have said that they run. */
FUNC start_others
	mflr 29
	GET 28, arg
	li 27, 1
1:	cmpd 27, 28
	bgt 2f
	li 3, START_CPU
	li 4, 3
	li 5, 1
	mr 6, 27
	LA 10, block
	bl rtas
	addi 27, 27, 1
	b 1b
2:	GET 9, online
	cmpd 9, 28
	blt 2b
	mtlr 29
	blr

FUNC say_online
	LA 10, online
1:	ldarx 9, 0, 10
	addi 9, 9, 1
	stdcx. 9, 0, 10
	bne 1b
	blr

/* Another CPU that is ready and sleeps between interrupts. */
FUNC ready
	bl say_online
1:	CALL H_CEDE
	COUNT woken
	b 1b

/* Another CPU that is ready and computes for ever. */
FUNC busy
	bl say_online
	mfmsr 5
	ori 5, 5, 0x8000
	mtmsrd 5, 1
1:	addi 22, 22, 1
	xor 23, 23, 22
	b 1b

/* Another CPU that stops itself. */
FUNC leaving
	bl say_online
	li 3, STOP_SELF
	li 4, 0
	li 5, 0
	addi 10, 31, own_block@l
	bl rtas
	trap

/* Another CPU that sleeps with its decrementer running. */
FUNC ticking
	bl say_online
	GET 9, period
	mtdec 9
	b ready

/* Boots, tells how many CPUs run, ends. */
FUNC boot_count
	bl start_others
	GET 3, online
	bl report
	bl sim_main

/* Starts CPU 1, waits until it has stopped, starts it again, tells how often it ran. */
FUNC boot_again
	li 26, 2
	li 25, 0
1:	bl start_others
	addi 25, 25, 1
	LA 10, online		/* counts from zero in every round, so that start_others waits */
	li 9, 0
	std 9, 0(10)
2:	li 3, QUERY_CPU
	li 4, 1
	li 5, 2
	li 6, 1
	LA 10, block
	bl rtas
	lwz 9, 20(10)
	cmpwi 9, 0
	bne 2b
	cmpd 25, 26
	blt 1b
	mr 3, 25
	bl report
	bl sim_main

/* Sends an interrupt to every other CPU, one after the other, and waits for each. */
FUNC boot_ipis
	bl start_others
	li 26, 1
1:	mr 4, 26
	li 5, 4
	CALL H_IPI
	GET 9, pause
	mtctr 9
2:	bdnz 2b
	addi 26, 26, 1
	GET 9, arg
	cmpd 26, 9
	ble 1b
	bl sim_main

/* Starts the others and computes. */
FUNC boot_busy
	bl start_others
1:	b 1b

/* Prints a line. */
FUNC boot_print
	li 4, 0
	li 5, 14
	LA 10, text
	ld 6, 0(10)
	ld 7, 8(10)
	CALL H_PUT_TERM_CHAR
	bl report
	bl sim_main

/* Makes a call, whose registers are in a list, and tells what it returns. */
FUNC boot_call
	bl start_others
	LA 10, list
	ld 3, 0(10)
	ld 4, 8(10)
	ld 5, 16(10)
	ld 6, 24(10)
	sc 1
	mr 24, 4
	mr 25, 5
	bl report
	mr 3, 24
	bl report
	mr 3, 25
	bl report
	bl sim_main

/* Makes the calls of a list of four registers each, until one that is all ones. */
FUNC boot_abuse
	bl start_others
	GET 24, arg2
1:	ld 3, 0(24)
	cmpdi 3, -1
	beq 2f
	ld 4, 8(24)
	ld 5, 16(24)
	ld 6, 24(24)
	addi 24, 24, 32
	sc 1
	b 1b
2:	bl sim_main

	.data
	.balign 128
	.globl boot_main, other_main, arg, arg2, online, period, pause, block, list
boot_main: .quad 0
other_main: .quad 0
arg: .quad 0
arg2: .quad 0
period: .quad 0x7fffffff
pause: .quad 2000
	.balign 128
online: .quad 0
	.balign 128
block: .skip 128
list: .skip 64
text: .ascii "hello, world.\n\n\n"

	.section .percpu, "aw"
	.globl count, ticks, woken, own_block
count: .quad 0
ticks: .quad 0
woken: .quad 0
	.balign 16
own_block: .skip 128
	.balign 16
	.skip 2048
stack_end:
	.globl stack_end

	.section .bss.boot, "aw", @nobits
	.balign 16
	.skip 256
	.globl boot_stack_top
boot_stack_top:
