package measuring

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/distro/attaching"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Order says what to measure: probes, which are set up in the order of the fields, and a loop.
type Order struct {
	// Optimize lets the kernel replace breakpoints by jumps (the file kprobes-optimization). The measurement then waits
	// until it has done so with each probe that it marks.
	Optimize bool
	// Events are lines for kprobe_events, such as "p do_sys_openat2" and "r:name do_sys_openat2". One without a name gets
	// one. Each is enabled.
	Events []string
	// UserEvents are lines for uprobe_events. A place "/init:SYMBOL+OFFSET" is one of the program itself, whose
	// function user_function the workload "function" calls.
	UserEvents []string
	Modules    []Module
	Watchpoint *Watchpoint // nil for none
	// Attach is attached behind them, on a Lab of BootAttaching; nil for nothing. Attached, if it is not nil, is told what
	// came of it, before the loop.
	Attach   *attaching.Attachment
	Attached func(*attaching.Attached)
	arming   *Arming // where Arm adds up what attaching takes; nil to measure none
	Workload string  // one of Workloads
	// Busy is the loop that every CPU but the first runs for ever, from before the probes are set up; "" where they have
	// nothing to do. A machine of one CPU has no use for it.
	Busy string
	// Warm and Calls are how often the loop of the workload runs before the region of interest, with the cost model, and
	// in it.
	Warm, Calls int
}

// Module is a kernel module to be inserted.
type Module struct {
	Name   string
	File   []byte // the object file, without debugging information if it is large
	Params string // "name=value ..."
	// Hits names a parameter of the module that tells how often its probe was hit; "" where it has none.
	Hits string
}

// Watchpoint is a breakpoint of the processor's registers for debugging, opened by perf_event_open(2). Its hits are
// counted, and no record is written.
type Watchpoint struct {
	Symbol string // of the kernel, or of the program as "/init:SYMBOL"; "" for Addr
	Addr   uint64 // an offset to the symbol
	Access Access
	Size   int // bytes that are watched: 1, 2, 4 or 8; 0 for a word
}

// Access says what a watchpoint waits for, numbered as in linux/hw_breakpoint.h.
type Access uint32

// Accesses.
const (
	ReadWrite Access = 3
	Write     Access = 2
	Execute   Access = 4
)

// workloads are the loops of the program, in its order: the system call getppid; open and close of a file; read of one byte of
// a file; a call of a function in user mode; a store to the word watched_word; nothing. Some are there on a Lab of BootAttaching
// alone: the system call prctl, by which the program takes a name; a static probe, which is on the way where somebody listens. Of
// x86-64 alone are calls of functions that begin with a nop of 5 and of 10 bytes, and a static probe that is such a one.
var workloads = [...]string{
	"getppid", "open", "read", "function", "store", "empty", "rename", "listened", "nop5", "nop10", "listened-nop10",
}

// needs has the symbols without which a program lacks a loop.
var needs = map[string]string{
	"rename": "listeners", "listened": "listeners", "nop5": "user_nop5", "nop10": "user_nop10", "listened-nop10": "static_nop10",
}

// numberOf is the number of a loop.
func (p *program) numberOf(workload string) (int, error) {
	i := slices.Index(workloads[:], workload)
	if i < 0 {
		return 0, fmt.Errorf("workload %q: write one of %s", workload, strings.Join(workloads[:], ", "))
	}
	if _, ok := p.symbols[needs[workload]]; !ok && needs[workload] != "" {
		return 0, fmt.Errorf("workload %q: the program for this kernel has no such loop; it needs a point that attaches something, or a kernel of x86-64", workload)
	}
	return i, nil
}

// Watch makes the observer of a region of interest. It is told of every instruction of it, or of runs of them if it is a
// cpus.BlockObserver. Watch is called when the region begins; neither may change the machine. A nil Watch is none.
type Watch func(m *sim.Machine) cpus.Observer

// Region holds what was measured.
type Region struct {
	Ticks        clock.Ticks
	Instructions uint64
	Counters     cpus.Counters // differences over the region, of the first CPU, on which the loop runs
	// Interrupted is the part of Ticks that went to interrupts, such as the timer's.
	Interrupted clock.Ticks
	// Breakpoints and Debug are how many exceptions there were of both kinds that probes cause.
	Breakpoints, Debug uint64
	// Planted are the addresses of the program's text at which the kernel has put a breakpoint, in order, and Called those at which
	// it has put a call in place of a nop.
	Planted, Called []uint64
	List            []Listed  // the kernel's list of probes behind the region
	Probes          []Counted // those that the order set up, in its order
	// Hits is how often the probe with the fewest hits was hit in Warm and Calls iterations, as the kernel or the
	// module counts them; 0 without a probe.
	Hits uint64
	// Counted is how often a program of BPF counted itself in the region; Counts reports whether it does.
	Counted uint64
	Counts  bool
	Loaded  []Loaded // the modules in memory
	Console string
}

// Listed is a line of the kernel's list of probes.
type Listed struct {
	Addr                        uint64
	Kind                        string // "k" for a kprobe, "r" for a return probe
	Place                       string // symbol+offset
	Ftrace, Optimized, Disabled bool
}

// Counted is a probe with its hits in all iterations, and those that the kernel missed.
type Counted struct {
	Name         string
	Hits, Missed uint64
}

// Loaded is a module in the kernel's memory.
type Loaded struct {
	Name       string
	Addr, Size uint64
}
