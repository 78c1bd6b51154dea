package cpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of a core that is described by its pipes.
const (
	MaxPipes = 16 // named pipes

	MaxStoreQueue  = 128 // stores that loads look for (BackEnd.StoreQueue)
	MaxMissBuffers = 64
	MaxUops        = 8 // that an instruction sends to pipes, beside its accesses to memory
	MaxWidth       = 8 // renamed a cycle
	// MaxColumns is the columns of a line of the first level that loads may meet in.
	MaxColumns = 16
	plainWide  = 6 // the same of a core without pipes, which divides a cycle into slots
)

// FrontEnd describes fetch and decode. Its zero value is a front end that never holds the core up.
type FrontEnd struct {
	FetchBytes   int  // bytes fetched a cycle, from an aligned block of that size; a power of two or 0
	Queue        int  // instructions that may wait between fetch and decode
	ComplexFirst bool // an instruction of more than one operation begins a decode group
	// StackEngine says that push, pop, call and return move the stack pointer while they are decoded: none
	// waits for another. What names the stack pointer behind them takes an issue slot more.
	StackEngine bool
	ZeroIdioms  bool // what clears a register by itself does not wait for it
	LoopBuffer  int  // instructions of a loop that is not fetched again and again; 0 for none
	LoopWindows int  // windows of FetchBytes that such a loop may touch
	Decoders    int  // instructions that are decoded a cycle; 0 for any number
	Predecode   int  // instructions of a window of FetchBytes whose lengths are found a cycle; 0 for any number
	// Unlaminates lists classes that are one operation more when they are renamed if their address has an index.
	Unlaminates []string
	// UnlaminatesFirst is how many operations of a cycle may be such: what would be unlaminated behind them is renamed in the next
	// one. 0 for any.
	UnlaminatesFirst int
	// FastBranches is how many taken branches of a line of 64 bytes cost no bubble, if they are executed one behind the
	// other; 0 if each costs one.
	FastBranches int
	// FoldsStack says that what names the stack pointer needs no operation that adds up what the stack engine held back.
	FoldsStack bool
	// FusesNops says that a nop is one operation with the instruction in front of it, if that is no such nop.
	FusesNops bool
	// FoldsReads says the same of what reads the stack pointer and does not set it.
	FoldsReads bool
}

// BackEnd describes renaming, scheduling and retirement of a core that sends each operation to one pipe of a set, as
// vendors draw them in their optimization manuals. Its zero value is a core
// whose ports have a rate and no more.
type BackEnd struct {
	On        bool
	Retire    int  // operations that retire a cycle; 0 for any number
	Scheduler int  // operations that may wait for their pipes; 0 for any number
	AtStart   bool // an operation takes the first free pipe of its set, where other cores choose one when they rename it
	// InGroups says that operations are renamed in groups of up to the core's width, of which each pipe of the ports "alu" and "branch"
	// gets one, as the first choice those that "alu" names first. Other operations take the first free pipe.
	InGroups bool
	// StorePairs says that one store a cycle reaches the cache, or two if they follow each other and lie in one line.
	StorePairs bool
	// StoreBlock is the bytes, aligned, of the buffers in which stores wait for the cache, one for all that follow each other
	// there. A cycle writes one buffer, and as many stores as there are pipes for their data get into one. 0 for none.
	StoreBlock int
	// StoreWord is the bytes that share check bits, with StoreBlock. A buffer with a part of a word reads the rest ahead of its turn
	// to be written. Where the word was on its way to the cache by then, the buffer reads in its turn. 0 where it does not matter.
	StoreWord int
	// RenamesStack says that loads by the stack pointer alone are renamed. With StoreWord only whole words are.
	RenamesStack bool
	// RenamesSame says that loads of four bytes and more are renamed whose address has the base and the index of the store's, if
	// neither was set since. The stack pointer may have been.
	RenamesSame bool
	// Renames lists classes whose loads have the data of a store without latency if their address has no index: the core
	// predicts the store that a load finds and renames the load as a copy of that store's data.
	Renames []string
	// Defers lists classes that add a constant to a register while they are renamed: what reads the result adds it. Copies hold
	// the constant too.
	Defers []string
	// LoadColumn is the bytes of a column of the first level's lines. Two loads a cycle read one; 0 for no bound.
	LoadColumn int
	// ComplexAddress is the cycles that a load takes longer whose address has a scaled index or three parts.
	ComplexAddress int
	// Breaks lists classes that wait for flags alone: sbb of a register with itself.
	Breaks []string
	// SplitTwice says that a load of two lines takes its pipe twice, and that a cycle has one such load, or with SplitOverlap
	// any number.
	SplitTwice, SplitOverlap bool
	// ForwardsInside says that a store hands over any of its bytes, and not those from its first one on alone.
	ForwardsInside bool
	// ConflictStores is how many stores later a load goes ahead of stores again that was once wrong to (event memory_clear). 0 where
	// that costs nothing.
	ConflictStores int
	// StoreQueue says that a store has one of Config.StoreBuffer entries from its dispatch until it is written, and asks for its line
	// as soon as its address is known.
	StoreQueue bool
	// MissBuffers is how many misses of the first level are on their way at once. 0 for any number.
	MissBuffers int
	// LateFlags lists operations, by their names in ISA.Fusible, whose flags some classes take longer with (Cost.LateFlags).
	LateFlags []string
}

// OpCache describes a cache of decoded operations. Its zero value is none: all instructions are decoded.
type OpCache struct {
	Sets, Ways int
	Uops       int // of an entry
	Window     int // bytes of code of which an entry has operations: 32 or 64
	Entries    int // that operations of one window may fill
	Rate       int // operations that it delivers a cycle
	// WindowUops is how many operations of one window are kept; code with more is decoded each time. 0 for any number.
	WindowUops int
}

// Fusion describes pairs of an operation and a conditional branch behind it that are one operation. The zero value has
// none.
type Fusion struct {
	// Pairs has the conditions that an operation fuses with.
	Pairs map[string][]string
	// Immediate says that a pair fuses though it has an operand in memory and an immediate.
	Immediate bool
	// Relative says that a pair fuses though its operand in memory is relative to the program counter.
	Relative bool
}

// checkPipes holds a core with pipes against its limits, and one without against having none.
func (c *Config) checkPipes(isa *ISA, fail func(string, ...any)) {
	if !c.BackEnd.On {
		if len(c.Pipes) > 0 || c.OpCache != (OpCache{}) || len(c.Fusion.Pairs) > 0 || len(c.FrontEnd.Unlaminates) > 0 || c.FrontEnd.UnlaminatesFirst > 0 || c.FrontEnd.Decoders > 0 || c.FrontEnd.FoldsStack || c.FrontEnd.FoldsReads || c.FrontEnd.FusesNops || c.FrontEnd.FastBranches > 0 || c.Predictor.Tagged.Override > 0 {
			fail("back_end: missing; sets of pipes, op_cache, fusion, unlaminates, folds_stack, folds_stack_reads, fuses_nops, fast_branches, override and decoders are for cores that have it")
		}
		return
	}
	if c.Groups.On || c.Model == Scoreboard {
		fail("back_end: cores with groups or a scoreboard have none; leave one of them out")
	}
	names := c.PipeNames()
	if len(names) > MaxPipes {
		fail("port: %d pipes; at most %d are modelled", len(names), MaxPipes)
	}
	for _, n := range isa.Ports {
		if len(c.Pipes[n]) == 0 {
			fail("port.%s: a core with back_end needs its pipes: say ports = [names]", n)
		}
	}
	if n := c.BackEnd.LoadColumn; n != 0 && (n&(n-1) != 0 || c.L1D.Line > MaxColumns*n) {
		fail("back_end.load_column: %d bytes; a line of %d has up to %d columns of at least 4, a power of two", n, c.L1D.Line, MaxColumns)
	}
	b := &c.BackEnd
	if n := b.StoreBlock; n&(n-1) != 0 || n > c.L1D.Line {
		fail("back_end.store_block: %d bytes; a power of two from 8 to the %d of a line", n, c.L1D.Line)
	}
	if b.StoreBlock != 0 && b.StorePairs {
		fail("back_end: stores have buffers (store_block) or go in pairs (store_pairs); leave one of them out")
	}
	for _, x := range []struct {
		key, of   string
		has, base bool
	}{
		{"store_word", "store_block", b.StoreWord != 0, b.StoreBlock != 0},
		{"split_overlap", "split_twice", b.SplitOverlap, b.SplitTwice},
		{"renames_stack", "renames", b.RenamesStack, len(b.Renames) > 0},
		{"renames_same", "renames", b.RenamesSame, len(b.Renames) > 0},
	} {
		if x.has && !x.base {
			fail("back_end.%s: it means nothing without %s", x.key, x.of)
		}
	}
	if b.ConflictStores != 0 && c.Events[EventClear] == 0 {
		fail("back_end.conflict_stores: it means nothing without event.%s", EventClear)
	}
	if b.StoreQueue && c.StoreBuffer > MaxStoreQueue {
		fail("back_end.store_queue: it has up to %d entries; core.store_buffer says %d", MaxStoreQueue, c.StoreBuffer)
	}
	if err := c.OpCache.check(); err != nil {
		fail("op_cache: %w", err)
	}
}

// PipeNames are the pipes of all sets, sorted.
func (c *Config) PipeNames() []string {
	all := map[string]bool{}
	for _, set := range c.Pipes {
		for _, n := range set {
			all[n] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (o *OpCache) check() error {
	switch {
	case o.Sets&(o.Sets-1) != 0:
		return fmt.Errorf("%d sets are no power of two", o.Sets)
	case o.Window&(o.Window-1) != 0:
		return fmt.Errorf("a window of %d bytes; use 32 or 64", o.Window)
	}
	return nil
}

// checkFusion wants operations and conditions that the instruction set has.
func (c *Config) checkFusion(isa *ISA, fail func(string, ...any)) {
	for _, op := range slices.Sorted(maps.Keys(c.Fusion.Pairs)) {
		if !slices.Contains(isa.Fusible, op) {
			fail("fusion.%s: unknown; known are %s", op, strings.Join(isa.Fusible, ", "))
		}
		for _, condition := range c.Fusion.Pairs[op] {
			if !slices.Contains(isa.Conditions, condition) {
				fail("fusion.%s: unknown condition %q; known are %s", op, condition, strings.Join(isa.Conditions, ", "))
			}
		}
	}
}
