package workloads

// Function is one function of the guest that is worth probing. Each takes two unsigned longs and
// returns one that depends on nothing else.
type Function struct {
	Name string
	Text string
}

// Functions returns the functions worth probing, the usual target first.
func Functions() []Function {
	return []Function{
		{"bench_target", "an ordinary small function on which every kind of probe is possible"},
		{"work_read", "a read path: checks, an indirect call, a lock with interrupts off, copies"},
		{"work_checksum", "internet checksum of up to 256 bytes"},
		{"work_hash_lookup", "look-up in a chained hash table"},
		{"work_list_walk", "walk of a doubly linked list"},
		{"work_switch", "a switch compiled to a jump table"},
		{"work_locked_update", "a short critical section"},
		{"work_recursive", "recursion up to twelve deep"},
		{"work_faulting", "reads bad memory and goes on through the exception table"},
		{"work_divide", "division and multiplication"},
		{"work_atomic", "locked read-modify-write instructions"},
		{"work_frame", "starts with push, mov, push"},
		{"work_tight_loop", "a loop whose back edge lands inside the first five bytes"},
		{"work_rip_relative", "starts with operands relative to the instruction pointer"},
		{"work_call_first", "starts with a call"},
		{"work_short", "four bytes long"},
		{"work_jcc_first", "starts with a conditional jump"},
		{"work_flags", "pushes and pops the flags"},
		{"work_tail", "leaves by a jump to another function"},
		{"work_indirect_call", "calls through a register and through memory"},
		{"work_dense", "one-byte instructions in the first five bytes"},
		{"work_cli_sti", "switches interrupts off and on"},
		{"work_string", "fills its stack with a string instruction"},
		{"work_far", "far returns, and on i386 far calls and jumps"},
		{"work_values", "calls functions of no, six and nine arguments, some on the stack"},
	}
}
