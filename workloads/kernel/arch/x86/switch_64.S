/* Changing from one task's stack to another's. */
#include "frame.h"

	.text
/* struct task_struct *__switch_to(prev, next, sp_offset): returns the task switched away from. */
FUNC __switch_to
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi,%rdx)
	movq (%rsi,%rdx), %rsp
	movq %rdi, %rax
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
ENDFUNC __switch_to

/* Where a new task starts: rbx = function, r12 = its argument, rax = the previous task. */
	.balign 16
FUNC kthread_entry
	movq %rax, %rdi
	call schedule_tail
	movq %r12, %rdi
	call *%rbx
	movq %rax, %rdi
	call do_exit
	ud2
ENDFUNC kthread_entry
