package engine

// Op is the timed part of one instruction.
type Op struct {
	Class uint8 // index into the ISA's cost classes
	Flags uint16
	Len   uint8 // bytes of the instruction
	// S1, S2 and S3 are the registers that it waits for, beside Base and Index of a memory operand. An
	// absent one is a register that nothing sets.
	S1, S2, S3  uint8
	Base, Index uint8
	// O1 and O2 are the registers that it sets. An absent one is a register that nothing waits for.
	O1, O2 uint8
	// Pair says with what it may be one operation: PairBranch and its like.
	Pair uint8
	// Also has a bit for each further register that it sets. They are ready with O1.
	Also uint64
}

// sources and results are the registers that an instruction waits for and those that it sets, a bit each.
func (o *Op) sources() uint64 {
	return 1<<(o.S1&regMask) | 1<<(o.S2&regMask) | 1<<(o.S3&regMask)
}

func (o *Op) results() uint64 { return 1<<(o.O1&regMask) | 1<<(o.O2&regMask) | o.Also }

// Flags of an Op.
const (
	Loads       = 1 << iota // reads memory
	Stores                  // writes memory
	Ends                    // ends a block
	Branches                // with Ends: changes nothing but where execution goes on
	Locked                  // takes the line of its operand before it reads
	Pushes                  // stores where the stack pointer goes; its Base is that pointer, unless it has another operand
	Pops                    // loads where the stack pointer was, likewise
	Clears                  // sets its result to zero, whatever its sources are
	Indexed                 // the address of what it reads or writes has an index
	namesStack              // has the stack pointer among its sources
	fusedFirst              // is one operation with the branch behind it, or a nop that is one with what is in front
	unlaminated             // is an operation more when it is renamed
	newLine                 // begins or reaches into a window of the operation cache that its predecessor does not
	overflows               // lies in a window of the operation cache that has too many operations to be kept
	Complex                 // the address of what it reads or writes has a scaled index or three parts
	newWindow               // begins or reaches into a fetch window that its predecessor does not
)

// moves are the flags of what moves the stack pointer.
const moves = Pushes | Pops

// Insn is one decoded instruction of an instruction set whose CPU is C: a function and its operands P.
type Insn[C, P any] struct {
	Operands P
	Exec     func(*C, *P)
	next     uint64 // address of the instruction behind it
}

// timed is the part of a block that the cost models look at. What a passage by the memo looks at stands together, and
// in a Block beside what leads to it: a kernel's working set of blocks is larger than the caches of the host.
type timed struct {
	key           uint64 // of the whole block's edges without inputs and branch; zero when hitMemo is not to look for them
	irregularMask uint64 // bits of Core.irregular
	stores        uint64 // instructions that store, by bits
	ops           []Op

	slow    bool    // sends are not enough: there are instructions in order, or too many for Core.irregular
	runs    uint8   // up to memo.runs
	entered bool    // a branch to it lands inside a fetch window
	number  uint64  // by which the memo knows it, or zero
	sends   []ticks // the same as far as stores if nothing misses: time from each to the next
	last    ticks   // and behind the last
	rest    ticks   // throughput: time behind the last record
	records []costRecord
	ends    uint64 // address of the last byte
}

// costRecord is an instruction of a block that the throughput model must look at, with the time from the
// end of the one before to its own, if nothing misses.
type costRecord struct {
	time    ticks
	at      uint8  // index of the instruction
	flags   uint16 // Loads, Stores
	inOrder bool
}
