package phases

import "kprobesim/image"

// row gives functions a phase. A name that ends in * stands for all that begin so; a whole name is stronger.
type row struct {
	phase image.Phase
	names string
}

// anybody is the phase of functions that count for the code before them.
const anybody = image.PhaseCount + 100

// table is the one place that knows names. Names are facts of the kernel; which step they are is by what they do.
var table = [...]row{
	{
		image.PhaseEntry,
		// From the vector to the code that looks for probes, for breakpoints, debug exceptions and calls of ftrace.
		"asm_exc_int3 exc_int3 error_entry sync_regs fixup_bad_iret irqentry_nmi_enter irqentry_enter irqentry_enter_from_user_mode " +
			"ct_nmi_enter ct_irq_enter rcu_nmi_enter enter_from_user_mode paranoid_entry asm_exc_debug exc_debug exc_debug_user exc_debug_kernel " +
			"xen_error_entry native_sync_regs poke_int3_handler smp_text_poke_int3_handler " +
			"noist_exc_debug handle_exception common_exception switch_to_kernel_cr3 " +
			"ftrace_caller ftrace_regs_caller ftrace_caller_op_ptr ftrace_regs_caller_op_ptr ftrace_call ftrace_regs_call __fentry__ " +
			"local_db_save local_db_restore",
	},
	{
		image.PhaseReturn,
		// The ways out of both, and to user mode also that of system calls.
		"error_return paranoid_exit irqentry_nmi_exit irqentry_exit irqentry_exit_to_user_mode ct_nmi_exit ct_irq_exit rcu_nmi_exit " +
			"restore_regs_and_return_to_kernel restore_all_kernel restore_all common_interrupt_return native_iret native_irq_return_iret " +
			"early_xen_iret_patch swapgs_restore_regs_and_return_to_usermode restore_regs_and_return_to_usermode exit_to_user_mode_prepare " +
			"exit_to_user_mode irq_return restore_all_switch_stack resume_kernel ret_from_exception asm_iret_error native_irq_return_ldt " +
			"ftrace_caller_end ftrace_regs_caller_end ftrace_regs_caller_jmp ftrace_epilogue ftrace_stub " +
			"raw_irqentry_exit_cond_resched irqentry_exit_cond_resched handle_exception_return ret_to_user",
	},
	{
		image.PhaseDispatch,
		"do_int3 do_int3_user kprobe_int3_handler get_kprobe setup_singlestep kprobe_running aggr_pre_handler aggr_post_handler " +
			"kprobe_ftrace_handler ftrace_ops_assist_func ftrace_ops_list_func arch_ftrace_ops_list_func ftrace_ops_test " +
			"ftrace_test_recursion_trylock kprobes_inc_nmissed_count setup_detour_execution reenter_kprobe " +
			"notify_die atomic_notifier_call_chain notifier_call_chain raw_notifier_call_chain kprobe_exceptions_notify " +
			"uprobe_pre_sstep_notifier uprobe_post_sstep_notifier arch_uprobe_exception_notify uprobe_notify_resume handle_swbp " +
			"find_uprobe find_active_uprobe find_active_uprobe_rcu get_uprobe put_uprobe __find_uprobe handler_chain is_trap_insn " +
			"is_swbp_insn arch_uprobe_ignore get_trap_insn_addr uprobe_get_swbp_addr uprobe_get_trap_addr get_utask uprobe_deny_signal " +
			"handle_singlestep " +
			"hw_breakpoint_exceptions_notify hw_breakpoint_handler hw_breakpoint_pmu_read perf_bp_event debug_read_clear_dr6",
	},
	{
		image.PhaseStep,
		// What stands for the displaced instruction.
		"kprobe_emulate_call kprobe_emulate_ret kprobe_emulate_jmp kprobe_emulate_jcc kprobe_emulate_loop kprobe_emulate_call_indirect " +
			"kprobe_emulate_jmp_indirect kprobe_emulate_ifmodifiers kprobe_emulate_* kprobe_post_process resume_singlestep prepare_singlestep resume_execution " +
			"pre_ssout xol_get_insn_slot xol_take_insn_slot xol_free_insn_slot get_xol_area __create_xol_area arch_uprobe_copy_ixol " +
			"arch_uprobe_pre_xol arch_uprobe_post_xol arch_uprobe_skip_sstep arch_uprobe_xol_was_trapped default_pre_xol_op default_post_xol_op " +
			"emulate_push_stack branch_emulate_op branch_post_xol_op push_emulate_op branch_setup_xol_ops " +
			"user_enable_single_step user_disable_single_step enable_step enable_single_step set_task_blockstep is_setting_trap_flag " +
			"uprobe_emulate_* default_abort_op " +
			// The copy of a user's instruction into its slot, and the end of the signals' wait for the step.
			"copy_to_page recalc_sigpending",
	},
	{
		image.PhaseRethook,
		"arch_rethook_trampoline arch_rethook_trampoline_callback rethook_trampoline_handler kretprobe_rethook_handler " +
			"pre_handler_kretprobe rethook_try_get rethook_hook arch_rethook_prepare rethook_recycle arch_rethook_fixup_return rethook_find_ret_addr " +
			"__rethook_find_ret_addr kretprobe_trampoline __kretprobe_trampoline trampoline_handler __kretprobe_trampoline_handler " +
			"prepare_uretprobe handle_trampoline handle_uretprobe_chain arch_uretprobe_hijack_return_addr get_trampoline_vaddr " +
			"free_ret_instance cleanup_return_instances arch_uretprobe_is_alive free_rethook_node_rcu",
	},
	{
		image.PhaseDetour,
		"optimized_callback opt_pre_handler optprobe_template_*",
	},
	{
		image.PhaseEvent,
		"kprobe_dispatcher kretprobe_dispatcher kprobe_trace_func __kprobe_trace_func kretprobe_trace_func __kretprobe_trace_func " +
			"kprobe_perf_func kretprobe_perf_func kretprobe_entry_handler trace_kprobe_* process_fetch_insn process_fetch_insn_bottom " +
			"trace_kprobe_run_command uprobe_dispatcher uretprobe_dispatcher uprobe_trace_func uretprobe_trace_func __uprobe_trace_func " +
			"uprobe_buffer_* prepare_uprobe_buffer get_uprobe_buffer " +
			"trace_event_buffer_reserve trace_event_buffer_commit trace_event_buffer_lock_reserve trace_event_ignore_this_pid trace_event_* " +
			"trace_buffered_event_* trace_function* __trace_event_discard_commit event_triggers_call event_triggers_post_call event_trigger_* " +
			"trace_buffer_lock_reserve trace_buffer_unlock_commit* trace_buffer_* __buffer_unlock_commit tracing_gen_ctx_irq_test " +
			"tracing_gen_ctx* tracing_record_* tracing_generic_* trace_clock_local trace_clock ftrace_now " +
			"sched_clock native_sched_clock cyc2ns_read_begin cyc2ns_read_end sched_clock_cpu " +
			"ring_buffer_* __rb_* rb_commit rb_reserve_next_event __rb_reserve_next rb_move_tail rb_handle_head_page rb_wakeups rb_wake_up_* " +
			"rb_update_write_stamp rb_time_* rb_event_* rb_is_* rb_head_page_* rb_end_commit rb_set_* rb_tail_page_update rb_add_* rb_check_* " +
			"rb_start_commit rb_user_* rb_nesting_* rb_advance_* rb_reset_* rb_hammer_* rb_inc_* rb_iter_* rb_irq_work* rb_set_commit_to_write " +
			"irq_work_queue __irq_work_queue_local fetch_store_* trace_probe_* " +
			"perf_trace_* perf_swevent_* perf_tp_* __perf_event_overflow perf_event_overflow perf_output_* perf_event_output* " +
			"__perf_event_account_interrupt __perf_event_header__init_id perf_event_header__init_id perf_prepare_sample __perf_output_begin perf_event_* perf_callchain*",
	},
	{
		anybody,
		"__x86_return_thunk __SCT_* __x86_indirect_thunk_* __x86_indirect_* zen_untrain_ret retbleed_return_thunk srso_* entry_ibpb entry_untrain_ret " +
			"__rcu_read_lock __rcu_read_unlock rcu_is_watching rcu_read_lock_* rcu_dynticks_* rcu_preempt_* " +
			"__kmap_local_page_prot kunmap_local_indexed page_address " +
			"memcpy memset memcmp __memcpy __memset memcpy_orig memcpy_erms memset_orig memset_erms __memcpy_* " +
			"preempt_count_add preempt_count_sub __preempt_count_* preempt_schedule_notrace preempt_schedule_notrace_thunk " +
			"debug_smp_processor_id __this_cpu_preempt_check this_cpu_cmpxchg16b_emu cmpxchg8b_emu atomic64_* " +
			"_raw_spin_lock _raw_spin_unlock _raw_spin_lock_irqsave _raw_spin_unlock_irqrestore _raw_read_lock _raw_read_unlock " +
			"_raw_spin_* _raw_read_* __x86_restore_* within_error_injection_list " +
			"__kernel_text_address kernel_text_address in_task_stack get_stack_info copy_from_kernel_nofault copy_from_kernel_nofault_allowed " +
			"pv_native_set_debugreg pv_native_get_debugreg perf_exclude_event fpregs_assert_state_consistent amd_clear_divider " +
			"mtree_load mas_* mt_find down_read up_read down_read_trylock mutex_lock mutex_unlock __cond_resched __check_object_size check_stack_object " +
			"check_heap_object _copy_to_user _copy_from_user find_vma kfree kmalloc_trace __kmalloc __kmem_cache_alloc_node __kmem_cache_free " +
			"kmem_cache_alloc kmem_cache_free kmem_cache_alloc_trace memcg_slab_post_alloc_hook should_failslab slab_* __slab_* " +
			"copy_from_user_nofault __copy_user_* copy_user_* core_kernel_text search_exception_tables",
	},
}
