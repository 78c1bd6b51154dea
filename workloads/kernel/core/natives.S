/* Entry points of the simulator's functions; linux/native.h and linux/kprobes.h say what they do. */
#include <asm/native.h>

	.section .native, "ax"
	NATIVE sim_main
	NATIVE sim_cpu_online
	NATIVE sim_roi
	NATIVE sim_panic
	NATIVE sim_printk
	NATIVE kfree
	NATIVE register_kprobe
	NATIVE unregister_kprobe
	NATIVE register_kprobes
	NATIVE unregister_kprobes
	NATIVE register_kretprobe
	NATIVE unregister_kretprobe
	NATIVE register_kretprobes
	NATIVE unregister_kretprobes
	NATIVE enable_kprobe
	NATIVE disable_kprobe
	NATIVE enable_kretprobe
	NATIVE disable_kretprobe
	NATIVE register_jprobe
	NATIVE unregister_jprobe
	NATIVE register_jprobes
	NATIVE unregister_jprobes
	NATIVE sched_pick
	NATIVE sched_tick
	NATIVE sched_kick
	NATIVE sched_timer_count
	NATIVE schedule_timeout
	NATIVE rcu_quiescent
	NATIVE rcu_tasks_quiescent
	NATIVE stop_wait
	NATIVE stop_state
	NATIVE stop_run
	NATIVE native_thread
	NATIVE native_return
	NATIVE text_poke_note
#ifdef USERPROBES
	NATIVE user_page
	NATIVE user_table
	NATIVE register_kprobe_user
	NATIVE unregister_kprobe_user
	NATIVE insert_kprobe_user
	NATIVE insert_kprobe_userspace
	NATIVE remove_kprobe_user
#endif
