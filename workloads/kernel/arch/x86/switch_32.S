/* Changing from one task's stack to another's. */
#include "frame.h"

	.text
/* struct task_struct *__switch_to(prev, next, sp_offset): returns the task switched away from. */
FUNC __switch_to
	pushl %ebp
	pushl %ebx
	pushl %esi
	pushl %edi
	movl %esp, (%eax,%ecx)
	movl (%edx,%ecx), %esp
	popl %edi
	popl %esi
	popl %ebx
	popl %ebp
	ret
ENDFUNC __switch_to

/* Where a new task starts: ebx = function, esi = its argument, eax = the previous task. */
	.balign 16
FUNC kthread_entry
	call schedule_tail
	movl %esi, %eax
	call *%ebx
	call do_exit
	ud2
ENDFUNC kthread_entry
