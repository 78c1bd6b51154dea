package kprobes

import "fmt"

// Arch holds what one instruction set knows about probes: data and a few functions. The functions work
// on bytes alone, never on a machine.
//
// Two things are the guest's own: whether a breakpoint leaves the program counter on itself or behind,
// as only the path of a hit reads it, and the instruction caches, which the guest's functions that store
// text maintain.
type Arch struct {
	Name       string
	Breakpoint []byte // the instruction that a probe puts at its address, as it lies in memory
	// Conditional is the breakpoint in the place of an instruction, with the condition of that one. Eras may
	// have it: Era.Conditional. It is as long as Breakpoint.
	Conditional func(displaced []byte) []byte
	Align       uint64 // addresses of instructions are multiples of it, in bytes; others are EINVAL
	SlotSize    int    // bytes of an out-of-line slot
	Line        uint64 // bytes to whose multiples the kernel aligns what it allocates: L1_CACHE_BYTES
	// Flush is the guest function that makes code from one address to another visible to fetching. It
	// is called after code was written that nobody executes yet. It is "" where caches need no help.
	Flush string
	// StopsToRestore says that the machine stands still while an instruction comes back in the place of its
	// breakpoint. Elsewhere that is a store.
	StopsToRestore bool
	// Interrupted says that interrupts come in a hit, up to its step, where they could come in the probed code.
	Interrupted bool
	// SyncsBreakpoints says that arming and disarming wait until every CPU has synchronized behind the breakpoint that came or went.
	SyncsBreakpoints bool

	// First is how the probed instruction runs at a hit: Stepped, or Emulated where the processor cannot
	// step. Then is how it runs once the guest has set the member Learned of struct kprobe to 1: Boosted
	// or Emulated. Learned is "" where no hit changes the next one.
	First, Then Mode
	Learned     string
	// Emulates reports whether the guest's emulator of a year does the instruction at the start of code, with operands for
	// which it can. It is asked where Then is Emulated and the guest sets Learned.
	Emulates func(year int, code []byte) bool
	// Members are paths in struct kprobe that Prepare fills in. Probes at one address share them.
	Members []string

	Eras      []Era
	Optimizer *Optimizer // nil: the architecture's kernels never had one
	// CodeMutants are mistakes in the guest's code, for the search for races.
	CodeMutants []CodeMutant

	// Boundary returns nil when an instruction of the function starts at addr, else EILSEQ. It is nil
	// where an aligned address is all that it takes.
	Boundary func(fn Text, addr uint64) error
	// Prepare makes what a hit runs in the place of an instruction, or says EINVAL or EILSEQ.
	Prepare func(in Insn) (Copy, error)

	// SystemCall reports whether the instruction at the start of code enters the kernel from user mode. It is nil where
	// Prepare refuses it.
	SystemCall func(code []byte) bool

	// Classify says what the instruction at the start of code is, which stands at pc. What watches
	// text that is being patched asks it of every instruction, so the common answers come quickly.
	Classify func(code []byte, pc uint64) Class
	// Reserves says what the instruction at the start of code has to do with reservations. It is nil where an
	// instruction set has none.
	Reserves func(code []byte) Reservation
	// Atomic is the rule of synchronization. It reports whether a CPU that has not synchronized its
	// fetching since another one stored changed over old at addr executes at pc one of two things: what
	// stood there before the store, or what stands there now. Behind any other store it may execute
	// a mixture.
	Atomic func(pc, addr uint64, old, changed []byte) bool
	// Fetching is that rule in words, with the manual's section, for people who are told that code breaks it.
	Fetching string
}

// Reservation is the part that an instruction has in a pair of a load, which reserves what it reads, and a store, which
// is done if nobody has taken the reservation away. Exceptions do.
type Reservation uint8

// The parts.
const (
	NoReservation Reservation = iota
	ReservingLoad
	ConditionalStore
)

// ClassKind says what an instruction is to somebody who watches probes.
type ClassKind uint8

// The kinds of instructions.
const (
	ClassOther      ClassKind = iota
	ClassBreakpoint           // Arch.Breakpoint, with any condition
	ClassJump                 // of the form that Optimizer.Jump makes
	ClassSpin                 // a hint that the code waits in a loop
)

// Class is one instruction.
type Class struct {
	Kind   ClassKind
	Len    int    // in bytes, 0 where no instruction can be read
	Target uint64 // of a jump
}

// Text is the code of one function as the compiler made it, without any probe's changes.
type Text struct {
	Name  string
	Start uint64
	Code  []byte
}

// End is the address behind the function.
func (t Text) End() uint64 { return t.Start + uint64(len(t.Code)) }

// At names an address of the function as symbol+offset.
func (t Text) At(addr uint64) string {
	return fmt.Sprintf("%s+%#x (%#x)", t.Name, addr-t.Start, addr)
}

// Insn is an instruction that is to be probed.
type Insn struct {
	Code  []byte // from the instruction to the end of its function
	Addr  uint64
	Slot  uint64 // where Copy.Code is to stand
	Boost bool   // the kernel boosts or emulates, and no exception table names the instruction
	// Blind says that kernels of the era copy what stands there and do not look whether it is an
	// instruction.
	Blind bool
	Year  int // of the kernel
}

// Copy holds what a hit runs in the place of a probed instruction.
type Copy struct {
	Code    []byte  // for the slot, operands fixed for its address; empty if no slot is needed
	Members []Value // of struct kprobe, each of them one of Arch.Members
	Runs    Mode    // how hits run it, where that is known before the first; else the zero value
	Leads   bool    // it leads elsewhere as the original does: where kernels boost, the first step sets Arch.Learned, whatever it was
}

// Value is set in a member of a structure: a number, or where a guest function is.
type Value struct {
	Member string
	Number uint64
	Func   string // "" for the number
}

// Span is a range of addresses, End excluded.
type Span struct{ Start, End uint64 }

// Contains reports whether the address is in the range.
func (s Span) Contains(addr uint64) bool { return s.Start <= addr && addr < s.End }
