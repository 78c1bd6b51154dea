// Package cpus is the contract between the simulated machine and the instruction sets: what an ISA
// is (a value), what a CPU does (run until there is something for the machine to do), what a machine
// description must say about one, and what an observer is told. The ISAs live in folders below.
package cpus

import (
	"debug/elf"
	"encoding/binary"

	"kprobesim/internal/clock"
	"kprobesim/internal/draw"
	"kprobesim/mmu"
)

// Number is a number by which processors differ: 0 up to Most.
type Number struct {
	Name string
	Most uint64
}

// AnswerTable is a table by which a processor answers. A machine description may give any of its rows.
type AnswerTable struct {
	Name    string
	Columns []Number
}

// ISA is an instruction set as a value.
type ISA struct {
	Name    string
	Bits    int
	Machine elf.Machine
	Order   binary.ByteOrder
	Classes []string // cost classes that a machine description prices
	// Inherited has classes that a description need not price: they have the price of another one. No class inherits from
	// itself, however far.
	Inherited map[string]string
	// Fusible are the operations that may be one with a conditional branch behind them, and Conditions what branches look at, a
	// condition and its opposite under one name.
	Fusible, Conditions []string
	Events              []string // events that a machine description must price
	// Spared has the events that a description need not price: each costs what another one before it does, or nothing
	// where that is "".
	Spared map[string]string
	Ports  []string // ports that a machine description must give an occupancy
	// Deliveries are the keys of a machine description for what no sequence of instructions describes: deliveries of exceptions,
	// and returns from them. They alone are fitted on figures that a kernel has measured.
	Deliveries []string
	// Processor are the numbers that tell processors of the instruction set apart beside what they cost: a
	// machine description must give them.
	Processor []Number
	// Answers are the tables by which processors answer, and CheckAnswers reports rows that no processor here can
	// live up to; nil where there are no tables.
	Answers      []AnswerTable
	CheckAnswers func(a Answers) []error
	// LockSyncs says that kernels take a lock by an instruction behind which nothing is executed that was fetched
	// before. Go that stands for code under a lock does the same.
	LockSyncs bool
	// TimerCycles is how many core cycles the timer that kernels use takes to count one, where it is a part
	// of the CPU; 0 where timers are the board's, which machine descriptions tell the clock of.
	TimerCycles int64
	// TimerHz is the number of counts of that timer in a second where its clock is not the core's; 0 elsewhere.
	TimerHz int64
	// StoresWait says that loads may go before older stores to other places, and nothing else may go before anything (TSO).
	StoresWait bool
	// WeakOrder says that loads and stores may go before any others that no barrier or dependency keeps in front of them.
	WeakOrder bool
	// CodeLine is the distance in bytes at which software keeps instruction caches in step with what was stored:
	// no line of a machine is shorter. It is 0 where these caches are always coherent.
	CodeLine int
	// Lines are a CPU's inputs beside the line of its interrupt controller: CPU.Signal takes an index.
	Lines []string
	// Exceptions are the names by which Counters.Exceptions counts, at most MaxExceptions.
	Exceptions []string
	// Tables builds page tables for an address space, from physical address at on; the result goes to
	// Bus.Root.
	Tables func(m *mmu.Memory, at uint64, maps []mmu.Mapping) (root uint64, err error)
	// New makes a CPU. The configuration must have passed Check.
	New func(n int, cfg *Config, bus Bus) CPU
	// GDB describes the registers to gdb.
	GDB GDB
	// Disasm prints one instruction; name resolves an address to a symbol and its start.
	Disasm func(code []byte, pc uint64, name func(uint64) (string, uint64)) (text string, n int)
}

// Bus connects a CPU with the machine around it.
type Bus struct {
	Memory *mmu.Memory
	// Directory keeps the caches of several CPUs coherent; nil means that this one is alone.
	Directory *mmu.Directory
	// First is the first CPU of the same machine, with which this one may share what does not show; nil
	// for the first itself.
	First CPU
	// Decoded, when not nil, passes decoded code on to the next machine.
	Decoded *Decoded
	// Device answers for physical addresses outside RAM; nil means nobody does.
	Device Device
	// Ports answers for I/O ports, by their number in place of an address; nil means nobody does.
	Ports Device
	// Interrupts is the CPU's interrupt controller; nil means that no interrupt ever comes.
	Interrupts Interrupts
	// Native holds the addresses [0], [1) whose fetch leaves guest execution, but not that by user mode.
	Native [2]uint64
	// Phase gives the phase of the code at an address, a number below MaxPhases by which time is counted.
	Phase func(pc uint64) uint8
	// Root is the physical address of the page tables that the CPU starts with.
	Root uint64
	// Marked is told of each mark that code sets, by its CPU and number, and says whether that CPU is to stop behind it. Nil
	// means that nobody asks.
	Marked func(cpu int, n uint64) (stop bool)
	// Predictor is the stream of what the branch predictor holds at the start, a sequence for each CPU; 0
	// is a predictor that has seen no branch.
	Predictor draw.Key
}

// Decoded passes the decoded code of a machine on to the next one of the same configuration and image, which looks whether the
// bytes are the same. Time does not depend on it. The machine before must not run any more. The zero value has none.
type Decoded struct{ Code any }

// Device is memory-mapped hardware.
type Device interface {
	Load(pa uint64, size int) uint64
	Store(pa uint64, size int, v uint64)
}

// Interrupts is a CPU's side of its interrupt controller: a line, and an answer to the CPU that takes
// what the line announces.
type Interrupts interface {
	// Pending reports whether the line is up.
	Pending() bool
	// Acknowledge takes the interrupt and returns what the controller passes on with it, which only the
	// ISA understands. CPUs of other ISAs leave that to the guest, which asks the controller's registers.
	Acknowledge() uint32
}

// Reason says why a CPU stopped running.
type Reason uint8

// Reasons to stop.
const (
	Limit    Reason = iota // the time limit was reached
	Native                 // the program counter is in the native range
	Halted                 // waiting for an interrupt
	Shutdown               // the CPU gives up for good
	Broken                 // an observer asked for it, or observed code is next
)

// Exit says why a CPU has stopped.
type Exit struct {
	Reason Reason
	Detail string // for Shutdown: what happened, with addresses
}

// Context is a CPU seen through its calling convention.
type Context interface {
	PC() uint64
	SP() uint64
	// Arg returns integer argument i of the function whose first instruction is next.
	Arg(i int) uint64
	// Return leaves that function with result v.
	Return(v uint64)
}

// Entry is a function as its caller sees it.
type Entry struct {
	PC  uint64 // its first instruction
	TOC uint64 // its table of contents, which ABIs with function descriptors keep in a register; else 0
}

// Caller lets the machine call guest functions from within a native one.
type Caller interface {
	// Call continues at fn as if it had been called from just before ret. It returns where the stack
	// pointer will be when the CPU stands at ret. The function's frame begins the given number of bytes
	// lower than it must.
	Call(fn Entry, ret, below uint64, args ...uint64) (back uint64)
	// Returned takes the result of a function entered by Call, once it stands at ret, and moves the
	// stack to sp, where it was before.
	Returned(sp uint64) uint64
}

// NoTime has instructions take no time, for a machine whose time passes by other rules: see CPU.Untimed.
const NoTime clock.Ticks = -1

// CPU executes guest instructions.
type CPU interface {
	Context
	Caller
	Probe
	Signals
	// Run executes until Now reaches limit or there is something for the machine to do.
	Run(limit clock.Ticks) Exit
	// Steps executes n instructions, or fewer when Now reaches limit or there is something for the
	// machine to do, and returns how many it executed. An instruction that raises an exception counts,
	// and its delivery belongs to it; the delivery of an interrupt belongs to the instruction behind
	// it. Timing is that of Run.
	Steps(n int, limit clock.Ticks) (int, Exit)
	Now() clock.Ticks
	// Advance lets time pass without executing: native work, or sleep.
	Advance(t clock.Ticks)
	// Untimed has the CPU execute without its cost model, from the next boundary between blocks of code to the
	// first one at or behind the time until. Meanwhile every instruction takes the time each, and so does the delivery
	// of an exception. Nothing else takes time but what the machine lets pass. What code does is the same. Caches,
	// predictors and the lines of other CPUs stay as they are. An each of 0, or an until that is over, brings the cost
	// model back. With cpus.NoTime instructions take none.
	Untimed(each, until clock.Ticks)
	// Interrupt makes the CPU look for a pending interrupt before its next instruction.
	Interrupt()
}

// Probe is the part of a CPU that measuring looks at, away from the path of execution.
type Probe interface {
	Counters() *Counters
	// Observe calls o after every instruction; nil stops it. Timing does not change.
	Observe(o Observer)
	// ObserveCode calls o after every instruction in the spans of addresses, ends excluded, and at will
	// after those near them. The other instructions run as fast as without an observer, unless o is to
	// have all of them: it is told of them one by one, or as it likes if it is a BlockObserver. Steps returns before it enters a span.
	ObserveCode(o Observer, spans [][2]uint64, all bool)
	// Break, called by an observer or a debugger, makes Run or Steps return behind the instruction that was observed.
	Break()
	// Debug has d told of stops in place of those before; nil ends that. Timing does not change.
	Debug(d Debugger, stops Stops)
	// Completed is the number of instructions so far.
	Completed() uint64
	// Counted is a copy of the counters that books nothing, so a debugger may ask for it at any time.
	Counted() Counters
	// Boot puts the CPU into the state in which the image's entry is reached.
	Boot(entry, stack uint64, args ...uint64)
	// SwitchExceptionStack says that the code from here on is in the middle of other exceptions than the code
	// before it, as behind a switch of tasks: their contexts, the outermost first. It returns what the
	// code before was in the middle of. Time does not depend on it, only what it is counted as.
	SwitchExceptionStack(to []uint8) (from []uint8)
	// ExceptionContext is the innermost exception that the code is in the middle of: NoException or its like.
	ExceptionContext() uint8
	// Translate gives the physical address of a virtual one without timing or side effects.
	Translate(va uint64) (pa uint64, ok bool)
	// Registers lists the architectural registers in the manual's order.
	Registers() []Register
}

// Refuser is a CPU that keeps a list of what its guest asked for and did not get, though the architecture has it: instructions,
// and registers, which kernels look for by the exception of those that are not there.
type Refuser interface {
	// Refusals are in the order in which they came first.
	Refusals() []Refusal
}

// Refusal is one thing that a guest asked for in vain.
type Refusal struct {
	Name  string
	PC    uint64 // where it was first asked for
	Count uint64
}

// Register is a named value for reports.
type Register struct {
	Name  string
	Value uint64
}

// Observer is told of every instruction.
type Observer interface {
	Step(s *Step)
}

// BlockObserver is an observer for which many instructions can be told by one Step, so that they run nearly as fast as unobserved.
type BlockObserver interface {
	Observer
	// Block reports whether a straight run of instructions may be told at once, given its address and bytes. It is asked once, when
	// they are decoded.
	Block(pc uint64, code []byte) bool
}

// Debugger is told of places where a CPU can stand still. The machine waits as long as a call takes. Its state may be
// read meanwhile.
type Debugger interface {
	// Before comes before an instruction of Stops is executed, and before others near it.
	Before(cpu int)
	// Accessed comes within an instruction that reads or writes n bytes near Stops.Data.
	Accessed(cpu int, va uint64, n int, write bool)
	// Reached comes between two blocks of instructions, at Stops.At and behind it.
	Reached(cpu int)
}

// Stops says what a Debugger is told of.
type Stops struct {
	All  bool        // every instruction
	Code []uint64    // addresses of instructions; others near them are told of too
	Data [][2]uint64 // virtual addresses, ends excluded
	At   clock.Ticks // a time from which on Reached comes
}

// Stalls are the parts of an instruction's cost that are not its own.
type Stalls struct {
	ICache, DCache, ITLB, DTLB, Mispredict, Exception clock.Ticks
	Clear                                             clock.Ticks // of a load that went ahead of a store to its bytes
	Split                                             clock.Ticks // of an access that crosses two lines, beside what each of them misses
}

// Step is one executed instruction, or a straight run of them that a BlockObserver is told of. It is valid during the call only.
type Step struct {
	CPU        int
	PC         uint64
	Phys       uint64
	Code       []byte
	Last       int         // where the last instruction of a run begins in Code
	More       int         // instructions of a run that were executed behind the first
	Start, End clock.Ticks // when its predecessor retired, and itself
	Stalls     Stalls      // delays met on the way; overlapped ones may exceed End-Start; of a run, only that of an exception
	Phase      uint8
	Context    uint8  // exception context, see Counters
	User       bool   // executed in user mode
	Masked     bool   // behind it, interrupts that can be disabled are
	Exception  string // "" or the exception delivered instead of or after it, as ISA.Exceptions names it
}
