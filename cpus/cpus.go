// Package cpus is the contract between the simulated machine and the instruction sets: what an ISA
// is (a value), what a CPU does (run until there is something for the machine to do), what a machine
// description must say about one, and what an observer is told. The ISAs live in folders below.
package cpus

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"kprobesim/internal/clock"
	"kprobesim/internal/draw"
	"kprobesim/mmu"
)

// Cost prices one class of instructions on a machine.
type Cost struct {
	Issue     clock.Ticks // issue bandwidth it takes; 0 means one issue slot
	Slots     clock.Ticks // the part of Issue that is issue slots of operations; 0 when it is not known
	Latency   clock.Ticks // from its inputs to its result, a load's cache latency not included
	Latency2  clock.Ticks // the same to its second result, of an operand in memory from its address; 0 means Latency
	Occupancy clock.Ticks // time it keeps its unit busy, or its port without one; 0 means that one's own figure
	Port      string      // a name of Config.Ports, or "" for none
	Unit      string      // another name: what is behind the port and cannot take one instruction a cycle
	InOrder   bool        // starts when everything older has retired and holds everything younger
	Serialize bool        // the same, and waits until older stores have reached the cache
	Alone     bool        // is a dispatch group of its own
	// Ops are the operations that are renamed, and To the sets of pipes that those beside accesses to memory go to, for a
	// core with BackEnd.
	Ops int
	To  [MaxUops]string
	// Deferred is how much longer the latency is where an operand holds a constant that is still to be added (BackEnd.Defers).
	// DeferredOps counts the operations that take its first set of pipes then, beside its own.
	Deferred    clock.Ticks
	DeferredOps int
	// Index is how much shorter the latency is from the index of an address than from other operands, for a core with BackEnd.
	Index clock.Ticks
	// Flags is how much longer the latency is from the flags than from other operands, for a core with BackEnd.
	Flags clock.Ticks
	// LateFlags is how much longer the latency is where an operation of BackEnd.LateFlags has set the flags.
	LateFlags clock.Ticks
}

// TLB2 describes a TLB behind those for instructions and data. Its zero value is none.
type TLB2 struct {
	mmu.TLBConfig
	Latency clock.Ticks // of a translation that is found there
}

// Groups describes a core that dispatches instructions in groups of Width issue slots, one group a cycle,
// and retires them by the group. Its zero value is a core without groups. IBM's POWER4 and POWER5 have them
// (J. Tendler et al., POWER4 system microarchitecture, IBM J. Res. Dev. 46(1), 2002).
type Groups struct {
	On bool
	// BranchSlots are the last slots of a group, which take branches alone. Nothing but a branch can follow
	// a branch in its group.
	BranchSlots int
}

// Events whose cost the machine around the CPUs looks at. Every ISA lists them among its Events.
const (
	EventIPI      = "ipi"           // from the store that sends an interrupt to its acceptance at another CPU
	EventTransfer = "line_transfer" // an access that finds its line modified or exclusive in another CPU's cache
	EventUpgrade  = "line_upgrade"  // a store to a line of which others have copies
)

// Models of the cost of instructions.
const (
	Throughput = "throughput" // in order: issue bandwidth, ports, load-use and events
	Window     = "window"     // ready time per register, bounded by a reorder buffer
	Scoreboard = "scoreboard" // the same, in order: what waits for an operand holds up what is behind it
)

// Config describes one CPU, as a machine description does.
type Config struct {
	Name        string
	Hz          int64 // core clock
	Model       string
	Width       int // issue slots per cycle
	Window      int // reorder buffer entries
	StoreBuffer int // stores that may wait for the cache
	LoadQueue   int // loads between dispatch and retirement; 0 for any number
	Groups      Groups
	FrontEnd    FrontEnd
	Classes     map[string]Cost
	Events      map[string]clock.Ticks
	Ports       map[string]clock.Ticks // occupancy of the port by one operation
	BackEnd     BackEnd
	OpCache     OpCache
	Fusion      Fusion
	Pipes       map[string][]string // sets of pipes by the port's name
	L1I         mmu.CacheConfig
	L1D         mmu.CacheConfig
	L2          mmu.CacheConfig
	L3          mmu.CacheConfig // the zero value is none
	Memory      clock.Ticks     // load-to-use latency of DRAM
	Prefetch    Prefetch
	ITLB        mmu.TLBConfig
	DTLB        mmu.TLBConfig
	TLB2        TLB2 // behind both
	Predictor   PredictorConfig
	Processor   map[string]uint64 // the numbers of ISA.Processor
	Answers     Answers           // rows that differ from those that the instruction set has by itself
}

// Answers holds the answers of a processor about itself, which is asked by number: by the name of a table of ISA.Answers and
// by the number, columns in the table's order. A second number is in bits 32 to 63 of the number.
type Answers map[string]map[uint64][]uint64

// Check holds a configuration against an ISA and reports everything that is wrong with it.
func (c *Config) Check(isa *ISA) []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Hz <= 0 {
		fail("clock: %d Hz is no frequency", c.Hz)
	}
	if c.Model != Throughput && c.Model != Window && c.Model != Scoreboard {
		fail("model: %q is unknown; use %q, %q or %q", c.Model, Throughput, Window, Scoreboard)
	}
	c.checkWidth(fail)
	if c.Window < 1 || c.Window > MaxWindow {
		fail("window: %d entries; use 1 to %d", c.Window, MaxWindow)
	}
	c.checkGroups(isa, fail)
	c.checkPipes(isa, fail)
	c.checkFusion(isa, fail)
	if c.StoreBuffer < 1 || c.StoreBuffer > 1024 {
		fail("store_buffer: %d entries; use 1 to 1024", c.StoreBuffer)
	}
	if c.LoadQueue < 0 || c.LoadQueue > MaxWindow {
		fail("load_queue: %d entries; use 1 to %d", c.LoadQueue, MaxWindow)
	}
	if f := c.FrontEnd.FetchBytes; f != 0 && (f < 4 || f > 64 || f&(f-1) != 0) {
		fail("front_end: fetch of %d bytes a cycle; use 4, 8, 16, 32 or 64", f)
	}
	if l := c.FrontEnd.LoopBuffer; l < 0 || l > 1024 || l > 0 && c.FrontEnd.LoopWindows < 1 {
		fail("front_end: a loop buffer of %d instructions in %d windows; use 0 to 1024, and with one at least 1 window", l, c.FrontEnd.LoopWindows)
	}
	if c.FrontEnd.Queue < 0 || c.FrontEnd.Queue > 1024 {
		fail("front_end: queue of %d instructions; use 0 to 1024", c.FrontEnd.Queue)
	}
	if c.Memory <= 0 {
		fail("memory: the latency must be positive")
	}
	if c.L1I.Incoherent && isa.CodeLine == 0 {
		fail("l1i: instruction caches of %s are coherent: leave coherent = false out", isa.Name)
	}
	if c.L1I.Incoherent && c.L1I.Line < isa.CodeLine {
		fail("l1i: lines of %d bytes: software of %s keeps caches in step that have lines of %d bytes or more", c.L1I.Line, isa.Name, isa.CodeLine)
	}
	c.checkNames(isa, fail)
	c.checkStructures(fail)
	return errs
}

// MaxWindow is the largest reorder buffer that a CPU models.
const MaxWindow = 1024

// checkGroups holds the classes against the size of a group, and the window against a whole number of groups.
func (c *Config) checkGroups(isa *ISA, fail func(string, ...any)) {
	g, front := c.Groups, c.FrontEnd
	if !g.On || c.Width < 1 {
		return
	}
	if g.BranchSlots < 0 || g.BranchSlots >= c.Width {
		fail("groups: %d branch slots of %d; use 0 to %d", g.BranchSlots, c.Width, c.Width-1)
	}
	if c.Window%c.Width != 0 {
		fail("window: %d entries are no whole number of groups of %d", c.Window, c.Width)
	}
	if front.ComplexFirst || front.StackEngine {
		fail("groups: complex_first and stack_engine are for cores without groups; leave them out")
	}
	slot := clock.PerCycle / clock.Ticks(c.Width)
	for _, n := range isa.Classes {
		k := c.Classes[n]
		room := slot * clock.Ticks(c.Width-g.BranchSlots)
		if max(k.Issue, k.Slots) > room && !k.Alone && !k.InOrder && !k.Serialize {
			fail("cost.%s: more issue slots than a group has; say alone, in_order or serialize", n)
		}
	}
}

func (c *Config) checkNames(isa *ISA, fail func(string, ...any)) {
	compare("cost", isa.Classes, isa.Inherit(c.Classes), fail)
	compare("event", isa.Events, c.Events, fail)
	var numbers []string
	for _, n := range isa.Processor {
		numbers = append(numbers, n.Name)
		if v := c.Processor[n.Name]; v > n.Most {
			fail("processor.%s: %d; use 0 to %d", n.Name, v, n.Most)
		}
	}
	compare("processor", numbers, c.Processor, fail)
	c.checkAnswers(isa, fail)
	for _, n := range isa.Ports {
		if _, ok := c.Ports[n]; !ok && len(c.Pipes[n]) == 0 {
			fail("port.%s: missing", n)
		}
	}
	if len(c.Ports) > MaxPorts {
		fail("port: %d ports and units; at most %d are modelled", len(c.Ports), MaxPorts)
	}
	for _, n := range isa.Classes {
		k := c.Classes[n] // none of an inherited price, which is checked already
		for _, p := range append(k.To[:], k.Port, k.Unit) {
			if p != "" && c.Ports[p] <= 0 && (p == k.Unit || len(c.Pipes[p]) == 0) {
				fail("cost.%s: port %q has no positive occupancy under ports", n, p)
			}
		}
	}
}

// checkAnswers holds the rows against the tables that there are.
func (c *Config) checkAnswers(isa *ISA, fail func(string, ...any)) {
	columns := map[string]int{}
	for _, t := range isa.Answers {
		columns[t.Name] = len(t.Columns)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Answers)) {
		for _, number := range slices.Sorted(maps.Keys(c.Answers[name])) {
			if row := c.Answers[name][number]; len(row) != columns[name] {
				fail("%s.%#x: %d values, but %s has %d such columns", name, number, len(row), isa.Name, columns[name])
				return
			}
		}
	}
	if isa.CheckAnswers != nil {
		for _, err := range isa.CheckAnswers(c.Answers) {
			fail("%w", err)
		}
	}
}

// MaxPorts bounds the ports and units of a CPU.
const MaxPorts = 15

func (c *Config) checkStructures(fail func(string, ...any)) {
	if min(c.L1I.Line, c.L1D.Line) < 1<<mmu.GranuleShift {
		fail("l1i, l1d: lines of %d and %d bytes; at least %d are modelled", c.L1I.Line, c.L1D.Line, 1<<mmu.GranuleShift)
	}
	if c.L1I.Incoherent {
		if err := mmu.CheckLines(c.L1I, c.L1D, c.L2, c.L3); err != nil {
			fail("l1i: a cache that is not coherent needs lines of the others' size: %w", err)
		}
	}
	for _, x := range []struct {
		name string
		err  error
	}{
		{"l1i", c.L1I.CheckFirst()},
		{"l1d", c.L1D.CheckFirst()},
		{"l2", c.L2.Check()},
		{"itlb", c.ITLB.Check()},
		{"dtlb", c.DTLB.Check()},
		{"tlb.second", c.TLB2.check()},
		{"l3", c.checkL3()},
		{"predictor.tagged", c.Predictor.Tagged.check()},
		{"prefetch", c.Prefetch.check(c.L1D.Line)},
	} {
		if x.err != nil {
			fail("%s: %w", x.name, x.err)
		}
	}
	p := c.Predictor
	if p.HistoryBits < 0 || p.HistoryBits > 32 || p.TableBits < 1 || p.TableBits > 24 {
		fail("predictor: history of 0 to 32 bits and tables of 1 to 24 bits are modelled")
	}
	if p.TargetEntries < 1 || p.TargetEntries > 1<<16 || p.TargetEntries&(p.TargetEntries-1) != 0 {
		fail("predictor: target_entries %d is no power of two up to 65536", p.TargetEntries)
	}
	if p.ReturnStack < 1 || p.ReturnStack > 1024 {
		fail("predictor: return_stack %d; use 1 to 1024", p.ReturnStack)
	}
}

// checkL3 accepts the zero value, which is none.
func (c *Config) checkL3() error {
	switch {
	case c.L3 == mmu.CacheConfig{}:
		return nil
	case c.L3.Inclusive && c.L3.Exclusive:
		return errors.New("inclusive and exclusive: use one of them")
	case c.L3.Exclusive && (c.L1D.Line != c.L3.Line || c.L1I.Line != c.L3.Line):
		return errors.New("exclusive: it is modelled with caches whose lines have one size")
	case c.L3.Inclusive && (c.L1I.Incoherent || c.L1D.Line != c.L3.Line || c.L1I.Line != c.L3.Line):
		return errors.New("inclusive: it is modelled with coherent caches whose lines have one size")
	case c.L3.Line != c.L2.Line:
		return fmt.Errorf("lines of %d bytes behind those of %d in l2; they must be the same", c.L3.Line, c.L2.Line)
	}
	return c.L3.Check()
}

// check accepts the zero value, which is none.
func (t *TLB2) check() error {
	if *t == (TLB2{}) {
		return nil
	}
	return t.Check()
}

// compare reports names that are missing or unknown, in alphabetical order.
func compare[V any](what string, want []string, have map[string]V, fail func(string, ...any)) {
	known := map[string]bool{}
	for _, n := range want {
		known[n] = true
		if _, ok := have[n]; !ok {
			fail("%s.%s: missing", what, n)
		}
	}
	var extra []string
	for n := range have {
		if !known[n] {
			extra = append(extra, n)
		}
	}
	sort.Strings(extra)
	for _, n := range extra {
		fail("%s.%s: unknown; known are %s", what, n, strings.Join(want, ", "))
	}
}

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
	// model back.
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
	// have all of them. Steps returns before it enters a span.
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
	ICache, DCache, ITLB, DTLB, Mispredict, Exception, Forward clock.Ticks
	Split                                                      clock.Ticks // of an access that crosses two lines, beside what each of them misses
}

// Step is one executed instruction. It is valid during the call only.
type Step struct {
	CPU        int
	PC         uint64
	Phys       uint64
	Code       []byte
	Start, End clock.Ticks // when its predecessor retired, and itself
	Stalls     Stalls      // delays met on the way; overlapped ones may exceed End-Start
	Phase      uint8
	Context    uint8  // exception context, see Counters
	User       bool   // executed in user mode
	Masked     bool   // behind it, interrupts that can be disabled are
	Exception  string // "" or the exception delivered instead of or after it, as ISA.Exceptions names it
}
