package kprobes

import "fmt"

// Arch is what one instruction set knows about probes: data and a few functions. The functions work
// on bytes alone, never on a machine.
type Arch struct {
	Name       string
	Breakpoint []byte // the instruction that a probe puts at its address
	SlotSize   int    // bytes of an out-of-line slot
	JumpSize   int    // bytes of the jump that replaces an optimized probe's first instructions
	MaxRegion  int    // most bytes that such a jump can make the detour buffer copy

	// ReturnBlacklist names functions that cannot have a return probe.
	ReturnBlacklist []string

	// Boundary returns nil when an instruction of the function starts at addr, else EILSEQ.
	Boundary func(fn Text, addr uint64) error
	// Prepare copies the instruction at the start of code, which stands at addr, to run at slot.
	Prepare func(code []byte, addr, slot uint64) (Copy, error)
	// Region decides whether a jump may replace the instructions at s.Addr, and which ones.
	Region func(s Site) (Region, *Refusal)
	// Detour builds the bytes of the detour buffer that stands at a given address.
	Detour func(t Template, r Region, d DetourAt) (Detour, *Refusal)
	// Jump encodes the jump of an optimized probe, JumpSize bytes.
	Jump func(from, to uint64) ([]byte, *Refusal)

	// Classify says what the instruction at the start of code is, which stands at pc. Whoever watches
	// text that is being patched asks it of every instruction, so the common answers come quickly.
	Classify func(code []byte, pc uint64) Class
	// Atomic is the rule of synchronization. It reports whether a CPU that has not synchronized its
	// fetching since another one stored changed over old at addr executes at pc one of two things: what
	// stood there before the store, or what stands there now. Behind any other store it may execute
	// a mixture.
	Atomic func(pc, addr uint64, old, changed []byte) bool
}

// ClassKind says what an instruction is to somebody who watches probes.
type ClassKind uint8

// The kinds of instructions.
const (
	ClassOther      ClassKind = iota
	ClassBreakpoint           // Arch.Breakpoint
	ClassJump                 // of the form that Arch.Jump makes
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

// Copy is an instruction that has been prepared to run out of line.
type Copy struct {
	Code      []byte // for the slot, operands fixed for its address
	Boostable bool   // may be followed by a jump back instead of a single step
}

// Span is a range of addresses, End excluded.
type Span struct{ Start, End uint64 }

// Contains reports whether the address is in the range.
func (s Span) Contains(addr uint64) bool { return s.Start <= addr && addr < s.End }

// Site is everything that the decision on jump optimization looks at.
type Site struct {
	Fn         Text
	Addr       uint64
	EntryText  Span
	Exceptions func(addr uint64) bool // is there an exception table entry for the instruction
	Careless   bool                   // jumps into the region are not looked for: MutantJumpIntoRegion
}

// Region is the run of whole instructions that an optimized probe replaces by a jump.
type Region struct {
	Addr uint64
	Code []byte // whole instructions, at least JumpSize bytes
}

// End is the address at which execution goes on behind the region.
func (r Region) End() uint64 { return r.Addr + uint64(len(r.Code)) }

// Template is the detour code that the guest image offers, with the places to be filled in.
type Template struct {
	Code  []byte
	Value int // offset of the immediate that is to become the probe's address
	Call  int // offset of the instruction that calls the callback
}

// DetourAt says where a detour buffer stands and what it is for.
type DetourAt struct {
	Addr     uint64 // of the buffer
	Probe    uint64 // struct optimized_kprobe, argument of the callback
	Callback uint64
}

// Detour is a finished detour buffer.
type Detour struct {
	Code   []byte
	Copied int // offset of the copied instructions in it
}
