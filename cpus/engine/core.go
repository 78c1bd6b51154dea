package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Registers bounds the registers of an instruction set that take part in timing: each number is a place
// in Core.R and a ready time. Pseudo-registers for absent operands and for flags have numbers too.
const Registers = 64

// stackAddress is the number of the stack pointer as an instruction that moves it finds it.
const stackAddress = Registers - 2

// PC is the number of the program counter: the address of the next instruction. An operand that is
// relative to it is always ready.
const PC = Registers - 1

// regMask lets the compiler leave bounds checks out.
const regMask = Registers - 1

// Reasons to leave a block, in Core.Stop.
const (
	StopFault = 1 << iota // an exception is pending
	StopCode              // the running block may have been written
	StopExit              // Exit said why the CPU leaves guest execution
	StopBlock             // later instructions must be fetched anew
	StopTrap              // Stepper.EndStep has a trap behind the instruction
)

// Pending checks: reasons to ask the instruction set before the next block, in Core.Check.
const (
	CheckInterrupts = 1 << iota // an interrupt may be pending
	CheckState                  // what decides whether one is taken may have changed
	checkStore                  // the store of decoded code is full
	checkWatched                // other instructions are watched
	checkUntimed                // the cost model is to be put away, or brought back
	checkFlavour                // it was, and host code is of the other flavour
)

// Core is the part of an engine that knows no instructions: registers, time, memory, accounts. Its
// exported fields are for the instruction set that embeds it.
type Core struct {
	// What the loop over instructions touches comes first, large arrays last: the host's code for a field
	// near the front is shorter.
	Stop  uint32 // reasons to leave the running block
	Check uint32 // pending checks
	// Single is not zero when instructions must be executed one by one, with BeginStep and EndStep
	// around each. What its bits mean is the instruction set's.
	Single uint32
	// User says that the CPU is in user mode.
	User bool
	// Halted says that the CPU waits for an interrupt.
	Halted bool
	parked bool // after Park, until Start: its time is not accounted

	idx       int    // of the running instruction in its block, and of its entry in acc
	cur       *timed `state:"-"` // the running block
	outcome   uint64 // of the running block's branch and accesses: the low bits of an edge's key
	irregular uint64 // reasons why hitMemo cannot time the running block
	loops     bool   // there is a loop buffer
	// AddrMask has the bits of an address of the current mode: addresses wrap there.
	AddrMask uint64
	R        [Registers]uint64

	accounts
	timing
	dataPath

	// Counts are the CPU's counters; Counters brings them up to date.
	Counts cpus.Counters
	// Bus is the machine around the CPU.
	Bus cpus.Bus `state:"-"`
	// Memory is the RAM of the machine.
	Memory     *mmu.Memory `state:"-"`
	ITLB, DTLB *mmu.TLB
	// Num is the number of the CPU.
	Num int

	translator Translator `state:"-"`
	watched
	debugging
	dir    *mmu.Directory   `state:"-"` // nil when the CPU is alone and its instruction cache is coherent
	sole   bool             // there is a directory, and no other CPU
	stale  *staleLines      `state:"-"` // nil when the instruction cache is coherent
	buffer *mmu.StoreBuffer `state:"-"` // of a search; nil where all CPUs see each store at once
	views  *views           `state:"-"` // nil unless loads may be older than stores that others see
	exit   cpus.Exit        `state:"-"`
	step   cpus.Step        `state:"-"`

	contexts contexts
	untimed  untimedState
	reserve  reservation
	decisive bool `state:"-"` // what caches hold decides what code does, not only when

	memo   memo   `state:"-"`
	chains chains `state:"-"`
	windowState
	prices `state:"-"`
	acc    [accesses]access
	micro  [microEntries]microEntry `state:"-"`
	mode   uint8                    // of decoding
}

// Translator answers a data access that no micro-TLB does. It is
// asked for the first access to a page and seldom for later ones, so that an interface costs no
// speed.
type Translator interface {
	// DataAddress translates the address of a load, or of a store when write is set. It returns false
	// with the exception pending when the access is refused.
	DataAddress(va uint64, write bool) (pa uint64, ok bool)
	// Watch is told of every data access near the spans of Core.WatchData, and of others in their pages. It
	// returns false with the exception pending when the access is refused.
	Watch(va uint64, n int, write bool) (ok bool)
}

// Exit leaves guest execution behind the running instruction. The machine sees the reason when the
// block has been settled, at the next boundary between instructions.
func (c *Core) Exit(e cpus.Exit) {
	c.exit = e
	c.Stop |= StopExit
}

// Now implements cpus.CPU: the time at which the last instruction retired.
func (c *Core) Now() clock.Ticks { return c.retire }

// Advance implements cpus.CPU. The machine lets time pass for a call into Go, for sleep, and for a
// CPU that was started late.
func (c *Core) Advance(t clock.Ticks) {
	c.detachMemo() // times differ, and are not worth to be remembered
	c.drain(t)
	c.forgetOperands()
	if c.parked {
		c.mark = c.retire
	}
	c.Book()
}

// Interrupt implements cpus.CPU.
func (c *Core) Interrupt() { c.Check |= CheckInterrupts }

// Park stops the CPU until Start: its time is not accounted.
func (c *Core) Park() { c.Halted, c.parked = true, true }

// Start ends Park, and any wait for an interrupt.
func (c *Core) Start() { c.Halted, c.parked = false, false }

// Reset forgets what the running code was in the middle of. Caches, counters and time go on.
func (c *Core) Reset() {
	c.Book()
	c.R = [Registers]uint64{}
	c.SyncContext()
	c.Stop, c.Check, c.Single = 0, c.Check&(checkWatched|checkUntimed|checkFlavour), 0
	c.User, c.exit = false, cpus.Exit{}
	c.WatchData(nil)
	c.WatchCode(nil)
	c.context, c.outer, c.phase = cpus.NoException, nil, 0
}
