package workloads

import "slices"

// Function is one function of the guest that is worth probing. Each takes two unsigned longs and
// returns one that depends on nothing else.
type Function struct {
	Name string
	Text string
	ISAs []string // instruction sets that have it; empty: all, it is written in C
}

// Functions returns the functions of the image that are worth probing, the usual target first.
func (im *Image) Functions() []Function {
	return slices.DeleteFunc(functions(), func(f Function) bool {
		return len(f.ISAs) > 0 && !slices.Contains(f.ISAs, im.ISA)
	})
}

// ISAsOf returns the instruction sets that have a function which is not in all of them, nil for other names.
func ISAsOf(name string) []string {
	var isas []string
	for _, f := range functions() {
		if f.Name == name {
			isas = append(isas, f.ISAs...)
		}
	}
	return isas
}

// Driver returns the function that a loop calls for another one to be called: the guest's own way to it, where it needs
// arguments of its own.
func Driver(name string) string {
	switch name {
	case "do_fork", "_do_fork", "kernel_clone":
		return "fork_work"
	}
	return name
}

// functions lists the functions of all instruction sets. Functions whose first instructions have a certain shape
// are assembly, in the folder work of the architecture.
func functions() []Function {
	x86, ppc, arm := []string{"i386", "x86_64"}, []string{"ppc64"}, []string{"arm"}
	return []Function{
		{Name: "bench_target", Text: "an ordinary small function on which every kind of probe is possible"},
		{Name: "work_read", Text: "a read path: checks, an indirect call, a lock with interrupts off, copies"},
		{Name: "work_checksum", Text: "internet checksum of up to 256 bytes"},
		{Name: "work_hash_lookup", Text: "look-up in a chained hash table"},
		{Name: "work_list_walk", Text: "walk of a doubly linked list"},
		{Name: "work_switch", Text: "a switch compiled to a jump table"},
		{Name: "work_locked_update", Text: "a short critical section"},
		{Name: "work_recursive", Text: "recursion up to twelve deep"},
		{Name: "work_faulting", Text: "reads bad memory and goes on through the exception table"},
		{Name: "work_divide", Text: "division and multiplication"},
		{Name: "work_atomic", Text: "locked read-modify-write instructions"},
		{Name: "work_frame", Text: "starts with push, mov, push", ISAs: x86},
		{Name: "work_tight_loop", Text: "a loop whose back edge lands inside the first five bytes", ISAs: x86},
		{Name: "work_rip_relative", Text: "starts with operands relative to the instruction pointer", ISAs: x86},
		{Name: "work_call_first", Text: "starts with a call", ISAs: x86},
		{Name: "work_short", Text: "four bytes long", ISAs: x86},
		{Name: "work_jcc_first", Text: "starts with a conditional jump", ISAs: x86},
		{Name: "work_flags", Text: "pushes and pops the flags", ISAs: x86},
		{Name: "work_tail", Text: "leaves by a jump to another function", ISAs: x86},
		{Name: "work_indirect_call", Text: "calls through a register and through memory", ISAs: x86},
		{Name: "work_dense", Text: "one-byte instructions in the first five bytes", ISAs: x86},
		{Name: "work_cli_sti", Text: "switches interrupts off and on", ISAs: x86},
		{Name: "work_string", Text: "fills its stack with a string instruction", ISAs: x86},
		{Name: "work_far", Text: "far returns, and on i386 far calls and jumps", ISAs: x86},
		{Name: "work_frame", Text: "starts with mflr and makes a frame", ISAs: ppc},
		{Name: "work_tight_loop", Text: "a loop whose back edge lands on the second instruction", ISAs: ppc},
		{Name: "work_short", Text: "one instruction and the return", ISAs: ppc},
		{Name: "work_jcc_first", Text: "starts with a conditional branch", ISAs: ppc},
		{Name: "work_flags", Text: "reads and writes the condition register and the carry", ISAs: ppc},
		{Name: "work_tail", Text: "leaves by a branch to another function", ISAs: ppc},
		{Name: "work_indirect_call", Text: "calls through a descriptor and the count register", ISAs: ppc},
		{Name: "work_cli_sti", Text: "switches interrupts off and on", ISAs: ppc},
		{Name: "work_trap_first", Text: "starts with a trap that is not taken", ISAs: ppc},
		{Name: "work_update", Text: "starts with a store that moves its base", ISAs: ppc},
		{Name: "work_multiple", Text: "loads several words with one instruction", ISAs: ppc},
		{Name: "work_counted", Text: "counts down in the count register", ISAs: ppc},
		{Name: "work_frame", Text: "starts with a store of registers below the stack pointer", ISAs: arm},
		{Name: "work_tight_loop", Text: "a loop whose back edge lands on the second instruction", ISAs: arm},
		{Name: "work_pc_relative", Text: "starts with a load relative to the program counter", ISAs: arm},
		{Name: "work_call_first", Text: "has a call for its second instruction", ISAs: arm},
		{Name: "work_short", Text: "one instruction and the return", ISAs: arm},
		{Name: "work_jcc_first", Text: "starts with a conditional branch", ISAs: arm},
		{Name: "work_conditions", Text: "has instructions whose condition holds, and others", ISAs: arm},
		{Name: "work_flags", Text: "reads and writes the flags, and the carry", ISAs: arm},
		{Name: "work_tail", Text: "leaves by a branch to another function", ISAs: arm},
		{Name: "work_indirect_call", Text: "calls through a register, and by a load of the program counter", ISAs: arm},
		{Name: "work_cli_sti", Text: "switches interrupts off and on", ISAs: arm},
		{Name: "work_update", Text: "starts with a store that moves the stack pointer", ISAs: arm},
		{Name: "work_multiple", Text: "starts with a store of ten registers below the stack pointer", ISAs: arm},
		{Name: "work_pairs", Text: "stores and loads pairs of registers", ISAs: arm},
		{Name: "work_multiply", Text: "long multiplication, and arithmetic that saturates", ISAs: arm},
		{Name: "bench_nop", Text: "no operation and the return, of the published benchmark", ISAs: arm},
		{Name: "bench_row", Text: "stores and loads registers that lie in a row", ISAs: arm},
		{Name: "bench_wide", Text: "stores and loads registers from the first to the link register", ISAs: arm},
		{Name: "bench_near_pair", Text: "stores and loads two registers of such a row", ISAs: arm},
		{Name: "bench_far_pair", Text: "stores and loads the first register and the link register", ISAs: arm},
		{Name: "work_values", Text: "calls functions of no, six and nine arguments, some on the stack"},
	}
}
