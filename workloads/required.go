package workloads

import (
	"errors"
	"fmt"
)

// Need is one use that Go code makes of the guest by name, and the symbols for it.
type Need struct {
	For   string
	Names []string
}

// Required returns the symbols that Go code looks up in every image, whatever its instruction set and era
// are. What only some kernels have is not among them: the templates of detours, protocols that change text
// behind breakpoints, the functions of preemption, the locks of return probes, and the record of a hit, which CPUs have or share.
func Required() []Need {
	return []Need{
		{"booting", []string{
			"_text", "_etext", "_end", "boot_stack_top", "start_kernel", "sim_main", "sim_cpu_online",
			"native_return", "__per_cpu_load", "__per_cpu_start", "__per_cpu_end",
		}},
		{"scheduling", []string{
			"kthread_setup", "native_thread", "native_thread_loop", "schedule", "sched_pick", "sched_tick",
			"sched_timer_arm", "timer_start", "timer_stop", "current_task", "idle_task", "cpu_in_idle",
		}},
		{"several CPUs", []string{
			"smp_boot_cpu", "smp_send_kicks", "on_each_cpu", "stop_begin", "stopper_thread",
			"irq_disable_save", "irq_restore", "rcu_wanted",
		}},
		{"user mode", []string{"user_init", "user_thread", "user_stacks", "syscall_entry"}},
		{"registering probes", []string{
			"kernel_era", "probe_table", "switch_boost",
			"switch_disarmed", "switch_jumps", "__kprobes_text_start",
			"__kprobes_text_end", "__entry_text_start", "__entry_text_end", "__start___ex_table",
			"__stop___ex_table", "__slots_start", "__slots_end", "__detours_start", "__detours_end",
			"__module_text_start", "__module_text_end",
		}},
		{"handling hits", []string{
			"group_before", "group_after", "group_fault", "group_break", "return_probe_entered",
			"kretprobe_trampoline",
		}},
		{"changing text", []string{
			"text_poke", "text_poke_patch", "text_poke_note", "text_poke_stopped",
		}},
		{"measuring", []string{
			"bench_loop", "bench_loop_roi", "bench_target", "handler_empty", "ret_empty", "timer_interrupt_entry",
			"busy_thread", "busy_over", "barrier_wait", "catch_up", "sys_work_fn", "user_work", "user_busy",
			"user_over",
		}},
		{"searching for races", []string{"race_call", "race_returned", "user_race"}},
	}
}

// Missing names every required symbol that an image does not have; has tells whether it has one. It
// returns nil when nothing is missing.
func Missing(has func(name string) bool) error {
	var errs []error
	for _, n := range Required() {
		for _, name := range n.Names {
			if !has(name) {
				errs = append(errs, fmt.Errorf("no symbol %s, which %s needs: build it from the sources "+
					"of this version", name, n.For))
			}
		}
	}
	return errors.Join(errs...)
}
