/*
 * A guest without a kernel, for tests of machines with many CPUs. Every CPU comes to _start with its
 * number in rdi and the address of its per-CPU data in rsi. CPU 0 goes to the function whose address
 * is in boot_main, the others to that in other_main; the tests write both, and arg.
 * r12 holds the CPU's number, rbx its per-CPU data. In interrupt handlers gs gives the latter.
 */
#define APIC 0xffffffffff5fd000
#define EOI 0xb0
#define SVR 0xf0
#define ICR_LOW 0x300
#define ICR_HIGH 0x310

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
	ud2
	.size \name, 16
.endm

	.section .native, "ax"
	.balign 64
	NATIVE sim_main
	NATIVE native_return
	NATIVE report		/* of one value */
	NATIVE away		/* invokes hand_over */

	.text
	.globl _start
_start:
	leaq stack_end(%rsi), %rsp
	movq %rdi, %r12
	movq %rsi, %rbx
	lgdt gdt_ptr
	movl $0x18, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %eax, %eax
	movl %eax, %fs
	movl %eax, %gs
	movl $0xc0000101, %ecx
	movl %ebx, %eax
	movq %rbx, %rdx
	shrq $32, %rdx
	wrmsr
	lidt idt_ptr
	movq $APIC, %rbp
	movl $0x1ff, SVR(%rbp)
	testq %r12, %r12
	jnz 1f
	jmp *boot_main
1:	jmp *other_main

/* rax: low half of the interrupt command register, rdx: destination. */
FUNC send
	shll $24, %edx
	movl %edx, ICR_HIGH(%rbp)
	movl %eax, ICR_LOW(%rbp)
	ret

/* INIT, start-up, start-up to all others, then waits until arg of them have said that they run. */
FUNC start_others
	movl $0xc4500, ICR_LOW(%rbp)
	movl $0xc4608, ICR_LOW(%rbp)
	movl $0xc4608, ICR_LOW(%rbp)
1:	pause
	movq online, %rax
	cmpq arg, %rax
	jb 1b
	ret

/* Another CPU that is ready and sleeps between interrupts. */
FUNC ready
	lock incq online
	sti
1:	hlt
	jmp 1b

/* Another CPU that is ready and computes for ever, on its own data. */
FUNC busy
	lock incq online
	sti
	movl $1, %ecx
1:	addq %rcx, %rax
	xorq %rax, %rdx
	addq $3, count(%rbx)
	addq count(%rbx), %rsi
	incq %rcx
	jmp 1b

/* Another CPU that is ready and computes with interrupts disabled. */
FUNC deaf
	lock incq online
1:	incq %rcx
	jmp 1b

/* Boots, tells how many CPUs run, ends. */
FUNC boot_count
	call start_others
	movq online, %rdi
	call report
	call sim_main
	ud2

/* Boots, sends vector 0x40 to every other CPU in turn, and waits until each has taken it. */
FUNC boot_ipis
	call start_others
	movl $1, %r13d
1:	movl $0x40, %eax
	movl %r13d, %edx
	call send
	incl %r13d
	cmpq arg, %r13
	jbe 1b
2:	pause
	movq taken, %rax
	cmpq arg, %rax
	jb 2b
	call sim_main

/* Boots, sends two NMIs at once to CPU 1 and waits until it has taken both. */
FUNC boot_nmis
	call start_others
	movl $0x400, %eax
	movl $1, %edx
	call send
	movl $0x400, %eax
	movl $1, %edx
	call send
1:	pause
	cmpq $2, taken
	jb 1b
	movq deepest, %rdi
	call report
	call sim_main

/* Boots, then throws a ball to CPU 1 and back, arg2 times. */
FUNC boot_ball
	call start_others
	xorl %ecx, %ecx
1:	movq $1, ball
2:	pause
	cmpq $0, ball
	jne 2b
	incq %rcx
	cmpq arg2, %rcx
	jb 1b
	movq %rcx, %rdi
	call report
	call sim_main

FUNC catch_ball
	lock incq online
1:	pause
	cmpq $1, ball
	jne 1b
	movq $0, ball
	jmp 1b

/* Boots and calls a native function whose guest function comes back on CPU 1. */
FUNC boot_away
	call start_others
	call away
	movq %rax, %rdi		/* on CPU 1 now, with the stack of CPU 0 */
	call report
	call sim_main
	ud2

/* Leaves its stack to whoever takes it and sleeps on another. */
FUNC hand_over
	pushq %r13
	movq %rsp, mailbox
	leaq stack_end-2048(%rbx), %rsp
1:	hlt
	jmp 1b

FUNC take_over
	lock incq online
1:	pause
	movq mailbox, %rax
	testq %rax, %rax
	jz 1b
	movq %rax, %rsp
	popq %r13
	movl $77, %eax
	ret

/* All add to one word arg2 times, with lock or without, or to their own. */
.macro COUNTER name, prefix, operand
FUNC \name
	lock incq online
	movq arg2, %rcx
1:	\prefix incq \operand
	decq %rcx
	jnz 1b
	lock incq done
	testq %r12, %r12
	jz 3f
2:	hlt
	jmp 2b
3:	pause
	movq done, %rax
	cmpq arg, %rax
	jbe 3b
	movq shared, %rdi
	call report
	call sim_main
.endm
	COUNTER count_locked, lock, shared
	COUNTER count_plain, , shared
	COUNTER count_own, , count(%rbx)

FUNC boot_locked
	call start_others
	jmp count_locked
FUNC boot_plain
	call start_others
	jmp count_plain
FUNC boot_own
	call start_others
	jmp count_own

/* CPU 0 rewrites the immediate operand of CPU 1's loop, arg2 times, and waits each time until the
   loop has returned the new value. */
FUNC boot_patch
	call start_others
	movl $1, %ecx
1:	movl %ecx, patched+1
2:	pause
	cmpq %rcx, shared
	jne 2b
	incl %ecx
	cmpq arg2, %rcx
	jb 1b
	movq shared, %rdi
	call report
	call sim_main

FUNC run_patched
	lock incq online
1:	xorl %edx, %edx
	incl %edx
patched:
	movl $0, %eax		/* in the middle of a block */
	incl %edx
	movq %rax, shared
	jmp 1b

/* Boots; then all CPUs sleep and nothing wakes them. */
FUNC boot_sleep
	call start_others
	cli
1:	hlt
	jmp 1b

/* Boots and computes, while the others do what they do. */
FUNC boot_busy
	call start_others
	jmp busy

/* Another CPU that is ready and sleeps between the ticks of its own timer, every arg2 counts. */
FUNC ticking
	movl $0xb, 0x3e0(%rbp)
	movl $0x20040, 0x320(%rbp)
	movq arg2, %rax
	movl %eax, 0x380(%rbp)
	jmp ready

/* Boots, sends the interrupt whose command is arg2 to destination 1, waits until a CPU has taken it. */
FUNC boot_send
	call start_others
	movq arg2, %rax
	movl $1, %edx
	call send
1:	pause
	cmpq $0, taken
	je 1b
	call sim_main

/* Another CPU that is ready and, when it is the last of 256, has a logical destination. */
FUNC logical
	cmpq $255, %r12
	jne ready
	movl $0x1000000, 0xd0(%rbp)
	jmp ready

/* Another CPU that is ready, with a lower priority the higher its number. */
FUNC ranked
	movl $4, %eax
	subl %r12d, %eax
	shll $4, %eax
	movl %eax, 0x80(%rbp)
	jmp ready

/* Boots and writes registers of the local APIC from the list at arg2: offset and value, to offset 0. */
FUNC boot_abuse
	call start_others
	sti
	movq arg2, %r14
1:	movq (%r14), %rax
	movq 8(%r14), %rdx
	testq %rax, %rax
	jz 2f
	movl %edx, (%rbp,%rax)
	movl (%rbp,%rax), %edx
	addq $16, %r14
	jmp 1b
2:	call sim_main
	ud2

/* Boots and sends CPU 1 a vector that has no gate. */
FUNC boot_nogate
	call start_others
	movl $0x55, %eax
	movl $1, %edx
	call send
1:	pause
	jmp 1b

/* Boots, resets CPU 1 and starts it again. */
FUNC boot_again
	call start_others
	movl $0x4500, %eax
	movl $1, %edx
	call send
	incq arg
	movl $0x4608, %eax
	movl $1, %edx
	call send
1:	pause
	movq online, %rax
	cmpq arg, %rax
	jb 1b
	movq online, %rdi
	call report
	call sim_main

FUNC on_irq
	pushq %rax
	incq %gs:count
	lock incq taken
	movq $APIC, %rax
	movl $0, EOI(%rax)
	popq %rax
	iretq

/* Takes a while, so that the second NMI comes within. */
FUNC on_nmi
	pushq %rcx
	lock incq depth
	movq depth, %rcx
	cmpq deepest, %rcx
	jbe 1f
	movq %rcx, deepest
1:	movl $3000, %ecx
2:	decl %ecx
	jnz 2b
	lock decq depth
	lock incq taken
	popq %rcx
	iretq

	.data
	.balign 64
	.globl boot_main, other_main, arg, arg2
boot_main: .quad 0
other_main: .quad 0
arg: .quad 0
arg2: .quad 0
	.balign 64
online: .quad 0
	.balign 64
taken: .quad 0
done: .quad 0
	.balign 64
	.globl shared, ball, mailbox
shared: .quad 0
	.balign 64
ball: .quad 0
	.balign 64
mailbox: .quad 0
depth: .quad 0
deepest: .quad 0
	.balign 16
gdt:
	.quad 0, 0
	.quad 0x00af9b000000ffff
	.quad 0x00cf93000000ffff
gdt_ptr:
	.word . - gdt - 1
	.quad gdt

/* The linker cannot split an address into the pieces of a gate, so the script computes them. */
.macro GATE name
	.word \name\()_low, 0x10, 0x8e00, \name\()_mid
	.long 0xffffffff, 0
.endm
	.balign 16
idt:
	.skip 2 * 16
	GATE on_nmi
	.skip (0x40 - 3) * 16
	GATE on_irq
	.skip (256 - 0x41) * 16
idt_ptr:
	.word . - idt - 1
	.quad idt

	.section .percpu, "aw"
	.globl count
count: .quad 0
	.skip 4096 - 8
stack_end:

	.section .bss.boot, "aw", @nobits
	.skip 64
	.globl boot_stack_top
boot_stack_top:
