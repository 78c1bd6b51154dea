package cpus

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"kprobesim/internal/clock"
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

// Events whose cost others than the engine look at. Every ISA lists them among its Events.
const (
	EventIPI      = "ipi"           // from the store that sends an interrupt to its acceptance at another CPU
	EventTransfer = "line_transfer" // an access that finds its line modified or exclusive in another CPU's cache
	EventUpgrade  = "line_upgrade"  // a store to a line of which others have copies
	EventClear    = "memory_clear"  // a load that went ahead of a store to its bytes (BackEnd.ConflictStores)
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
	PerLine     [3]clock.Ticks  // the least between two lines from the second level, the third and DRAM; for a core with prefetchers
	PerStored   [3]clock.Ticks  // the same of lines that stores ask for, which go back one day; 0 is as PerLine
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

// Check holds the parts of a configuration against each other and against an ISA, and reports everything that is wrong with them.
// Package machines holds limits of single numbers where it reads them.
func (c *Config) Check(isa *ISA) []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !c.BackEnd.On && clock.PerCycle%clock.Ticks(c.Width) != 0 {
		fail("width: %d issue slots do not divide a cycle; use 1 to %d, or describe a [back_end]", c.Width, plainWide)
	}
	c.checkGroups(isa, fail)
	c.checkPipes(isa, fail)
	c.checkFusion(isa, fail)
	if f := c.FrontEnd.FetchBytes; f&(f-1) != 0 {
		fail("front_end: fetch of %d bytes a cycle; use 4, 8, 16, 32 or 64", f)
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
	if !g.On {
		return
	}
	if g.BranchSlots >= c.Width {
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
	}
	compare("processor", numbers, c.Processor, fail)
	if isa.CheckAnswers != nil {
		for _, err := range isa.CheckAnswers(c.Answers) {
			fail("%w", err)
		}
	}
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
		{"cycles_per_line", c.checkPerLine()},
	} {
		if x.err != nil {
			fail("%s: %w", x.name, x.err)
		}
	}
	if n := c.Predictor.TargetEntries; n&(n-1) != 0 {
		fail("predictor: target_entries %d is no power of two up to 65536", n)
	}
}

// checkPerLine wants prefetchers, which know when lines are asked for.
func (c *Config) checkPerLine() error {
	if (c.PerLine != [3]clock.Ticks{} || c.PerStored != [3]clock.Ticks{}) && c.Prefetch == (Prefetch{}) {
		return errors.New("it is modelled with prefetchers")
	}
	return nil
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
