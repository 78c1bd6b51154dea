package engine

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// The toy is an instruction set of fixed width that shares nothing with a real one. Addresses are physical.
// An instruction has four bytes: operation, a, b, c.
const (
	toyNop   = iota
	toyAdd   // a = b + c
	toyLoad  // a = memory at register b + c: eight bytes, or two where b has narrow too
	toyStore // memory at register b + c = a, likewise
	toyJump  // by b and c as a number of instructions
	toyCount // a = a - 1, and jumps as toyJump while it is not zero
	toyHalt
	toyFault // raises an exception, whose handler is the instruction behind it
	toyCall  // as toyJump, with the address behind it in a
	toyReturn
	toyIndirect // to a
	toyTime     // a = the time
	toySwitch   // to translation context b
	toyDo       // calls function a of does; b and c are its flags
	toyOps
)

type toyInsn struct {
	op, a, b uint8
	c        uint8
	by       int16
	narrow   bool
}

// narrow is beside the register of an address.
const narrow = 32

type toy struct {
	Engine[toy, toyInsn]
	faults int
	// offset is added to an address to make it physical. asked counts translations that were asked for.
	offset uint64
	asked  int
	// above is the first address that is not physical as it is.
	above uint64
	// buffered has translations of code kept by the TLB. exits counts the times that host code was left.
	buffered bool
	exits    int
	// does are the functions of toyDo. decoded counts instructions that were decoded.
	does    []func()
	decoded int
	// also has flags of operations beside their own.
	also [toyOps]uint16
	// change, where it is not nil, changes what is decoded.
	change func(*toyInsn, *Op)
	// nops counts toyNop by its function, which code of the host does not call.
	nops int
}

// bytes is the width of an access.
func (in *toyInsn) bytes() int {
	if in.narrow {
		return 2
	}
	return 8
}

// toyISA describes the toy, whose classes are its operations.
func toyISA() *cpus.ISA {
	return &cpus.ISA{
		Name: "toy", Bits: 64, Order: binary.LittleEndian,
		Classes:  []string{"nop", "add", "load", "store", "jump", "count", "halt", "fault", "call", "return", "indirect", "time", "switch", "do"},
		CodeLine: 32, Events: Events(), Ports: Ports(), Fusible: []string{"add"}, Conditions: []string{"count"},
	}
}

// toyConfig is a machine with lines of a size.
func toyConfig(model string, line int) *cpus.Config {
	cfg := cpustest.Config(toyISA())
	cfg.Model = model
	cfg.FrontEnd.FetchBytes, cfg.FrontEnd.Queue = 16, 8
	for _, c := range []*mmu.CacheConfig{&cfg.L1I, &cfg.L1D, &cfg.L2} {
		c.Line = line
	}
	return &cfg
}

// newToy makes a CPU with code at an address.
func newToy(tb testing.TB, cfg *cpus.Config, ram int, at uint64, code ...[4]byte) *toy {
	tb.Helper()
	if errs := cfg.Check(toyISA()); errs != nil {
		tb.Fatal(errs)
	}
	return toyOn(mmu.NewMemory(ram), cfg, at, code...)
}

func toyOn(m *mmu.Memory, cfg *cpus.Config, at uint64, code ...[4]byte) *toy {
	c := toyBeside(m, cfg, 0, nil, nil)
	for i, in := range code {
		m.Write(at+uint64(4*i), in[:])
	}
	c.R[PC] = at
	return c
}

// toyBeside makes CPU n of a machine, whose first CPU and directory are nil when it is alone.
func toyBeside(m *mmu.Memory, cfg *cpus.Config, n int, first *toy, d *mmu.Directory) *toy {
	c := new(toy)
	bus := cpus.Bus{
		Memory: m, Directory: d, Native: [2]uint64{1, 1},
		Phase: func(pc uint64) uint8 { return uint8(pc >> 16 & 1) },
	}
	spec := Spec{ISA: toyISA(), MaxInsn: 4, Sink: 41, Flags: 1 << 9, AddrMask: ^uint64(0), Pages: mmu.PageSizes{12, 21}}
	var share *Engine[toy, toyInsn]
	if first != nil {
		share = &first.Engine
	}
	c.Setup(n, c, c, spec, cfg, bus, share)
	return c
}

func (c *toy) DataAddress(va uint64, _ bool) (uint64, bool) { return c.CodeAddress(va) }
func (c *toy) Watch(uint64, int, bool) bool                 { return true }
func (c *toy) CodeAddress(va uint64) (uint64, bool) {
	if p := c.ITLB.Find(va); c.buffered && p != nil {
		return p.Offset(va), true
	}
	c.asked++
	pa := va
	if va >= c.above {
		pa += c.offset
	}
	if c.buffered {
		c.ITLB.Insert(mmu.Page{VA: va &^ pageMask, PA: pa &^ pageMask, Shift: pageShift})
	}
	return pa, true
}
func (c *toy) Translate(va uint64) (uint64, bool) { return va, true }
func (c *toy) NoCode()                            { c.Exit(cpus.Exit{Reason: cpus.Shutdown}) }
func (c *toy) Whole(code []byte) bool             { return len(code) >= 4 }
func (c *toy) Poll()                              { c.Check = 0 }
func (c *toy) Faulted(*toyInsn) bool              { return true }
func (c *toy) BeginStep() bool                    { return true }
func (c *toy) EndStep(bool) bool                  { return false }
func (c *toy) EndsRun() bool                      { return false }
func (c *toy) Masked() bool                       { return false }

// Deliver charges a delivery of ten cycles and goes on behind the instruction.
func (c *toy) Deliver() {
	c.faults++
	c.Stop &^= StopFault
	c.EnterException(cpus.OtherException, 10*clock.PerCycle, "fault")
	c.R[PC] += 4
	c.LeaveException()
}

func (c *toy) Decode(code []byte, _ uint64) (Insn[toy, toyInsn], Op) {
	c.decoded++
	code = append(code, 0, 0, 0)[:4] // where memory ends
	in := toyInsn{code[0] % toyOps, code[1] & 31, code[2] & 31, code[3], int16(binary.LittleEndian.Uint16(code[2:])), code[2]&narrow != 0}
	op := Op{Class: in.op, Len: 4, S1: 40, S2: 40, S3: 40, Base: 40, Index: 40, O1: 41, O2: 41}
	switch in.op {
	case toyAdd:
		op.S1, op.O1, op.Also, op.Pair = in.b, in.a, 1<<(in.a^in.c&1), 1
		if in.c&2 != 0 {
			op.Pair |= PairImmediate
		}
	case toyLoad:
		op.Flags, op.Base, op.O1 = Loads, in.b, in.a
		if in.c&1 != 0 {
			op.O2 = in.b
		}
		if in.c&4 != 0 {
			op.Flags |= Indexed
		}
	case toyStore:
		op.Flags, op.Base, op.S1 = Stores, in.b, in.a
		if in.c&4 != 0 {
			op.Flags |= Indexed
		}
	case toyJump, toyCount, toyCall, toyReturn, toyIndirect:
		op.Flags = Ends | Branches
		if in.op == toyCount {
			op.S1, op.Pair = in.a, PairBranch
		}
	case toyHalt, toyFault, toySwitch:
		op.Flags = Ends
	case toyDo:
		op.Flags = uint16(in.by)
	}
	op.Flags |= c.also[in.op]
	if c.change != nil {
		c.change(&in, &op)
	}
	return Insn[toy, toyInsn]{Exec: toyExec[in.op], Operands: in}, op
}

var toyExec = [toyOps]func(*toy, *toyInsn){
	toyNop: func(c *toy, _ *toyInsn) { c.nops++ },
	toyAdd: func(c *toy, in *toyInsn) { c.R[in.a] = c.R[in.b] + uint64(in.c) },
	toyLoad: func(c *toy, in *toyInsn) {
		at := c.R[in.b] + uint64(in.c)
		if in.bytes() == 8 {
			if v, ok := Load[uint64](&c.Core, at); ok {
				c.R[in.a] = v
			}
		} else if v, ok := Load[uint16](&c.Core, at); ok {
			c.R[in.a] = uint64(v)
		}
	},
	toyStore: func(c *toy, in *toyInsn) {
		if at := c.R[in.b] + uint64(in.c); in.bytes() == 2 {
			Store(&c.Core, at, uint16(c.R[in.a]))
		} else {
			Store(&c.Core, at, c.R[in.a])
		}
	},
	toyJump: func(c *toy, in *toyInsn) { c.Jump(uint64(4 * int64(in.by))) },
	toyCount: func(c *toy, in *toyInsn) {
		c.R[in.a]--
		c.Conditional(c.R[in.a] != 0, uint64(4*int64(in.by)))
	},
	toyHalt:  func(c *toy, _ *toyInsn) { c.Halted = true; c.Stop |= StopBlock },
	toyFault: func(c *toy, _ *toyInsn) { c.Stop |= StopFault },
	toyCall: func(c *toy, in *toyInsn) {
		c.R[in.a] = c.R[PC]
		c.Called(c.R[PC])
		c.Jump(uint64(4 * int64(in.by)))
	},
	toyReturn:   func(c *toy, in *toyInsn) { c.ReturnTo(c.R[in.a]) },
	toyIndirect: func(c *toy, in *toyInsn) { c.Indirect(c.R[in.a]) },
	toyTime: func(c *toy, in *toyInsn) {
		c.Settle()
		c.R[in.a] = uint64(c.Now())
	},
	toySwitch: func(c *toy, in *toyInsn) {
		c.SwitchTranslations(uint8(c.R[in.b]))
		c.offset = c.R[in.b] * toyApart
	},
	toyDo: func(c *toy, in *toyInsn) { c.does[in.a]() },
}

// toyApart is the distance between the pages of two translation contexts.
const toyApart = 0x8000

// jump is toyJump by a number of instructions from the one behind it.
func jump(by int16) [4]byte {
	return [4]byte{toyJump, 0, uint8(by), uint8(uint16(by) >> 8)}
}

// call is toyCall with the address behind it in a register.
func call(a uint8, by int16) [4]byte {
	return [4]byte{toyCall, a, uint8(by), uint8(uint16(by) >> 8)}
}

// count is toyCount of a register.
func count(a uint8, by int16) [4]byte {
	return [4]byte{toyCount, a, uint8(by), uint8(uint16(by) >> 8)}
}

// do is an instruction with flags of an Op that calls a function.
func (c *toy) do(flags uint16, f func()) [4]byte {
	c.does = append(c.does, f)
	return [4]byte{toyDo, uint8(len(c.does) - 1), uint8(flags), uint8(flags >> 8)}
}

// goFrom executes what is at an address up to a halt and returns what that takes.
func (c *toy) goFrom(at uint64) clock.Ticks {
	c.Halted, c.R[PC] = false, at
	start := c.Now()
	c.Run(soon)
	return c.Now() - start
}
