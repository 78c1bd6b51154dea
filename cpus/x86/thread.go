package x86

import "kprobesim/cpus/engine"

// Threaded code is how a CPU executes what it often does while no cost model runs (engine.Threader). A function here
// does the frequent case of a form: no fault, RAM that a micro-TLB knows, no byte that was decoded. For all others it
// returns Slow, by which the instruction's own function is executed. Forms without a function go that way always.
//
// The arithmetic flags of a sum or a difference are left to be computed when they are asked for. Then the functions
// that all instructions use compute them, from what is kept: the result and the first operand.

type (
	thread     = engine.Thread[CPU, inst]
	threadExec = func(*CPU, *thread) *thread
)

// lazy says of what operation res is the result and old the first operand. Zero says that all flags are where flags.go
// has them.
type lazy uint8

const (
	_ lazy = iota
	lazySum64
	lazySum32
	lazyDiff64
	lazyDiff32
	lazyDiff8
	lazyLogic64
	lazyLogic32
	lazyLogic8
)

// Unthread implements engine.Threader: it computes the flags.
func (c *CPU) Unthread() {
	how := c.lazy
	c.lazy = 0
	switch how {
	case lazySum64:
		add(c, c.old, c.res-c.old)
	case lazySum32:
		add(c, uint32(c.old), uint32(c.res>>32)-uint32(c.old))
	case lazyDiff64:
		sub(c, c.old, c.old-c.res)
	case lazyDiff32:
		sub(c, uint32(c.old), uint32(c.old)-uint32(c.res>>32))
	case lazyDiff8:
		sub(c, uint8(c.old), uint8(c.old)-uint8(c.res>>56))
	case lazyLogic64:
		setLogic(c, c.res)
	case lazyLogic32:
		setLogic(c, uint32(c.res>>32))
	case lazyLogic8:
		setLogic(c, uint8(c.res>>56))
	}
}

// threadForm names what threaded code does for an instruction.
type threadForm uint8

const (
	formNone threadForm = iota
	formIdle            // it does nothing
	formPure            // its own function is called without more ado: it has to do with registers and flags alone
	formKeep            // the same of registers alone
	formMovR64
	formMovR32
	formMovL64
	formMovL32
	formMovM64
	formMovM32
	formMovM8
	formZeroL8
	formZeroL16
	formSignL32
	formLea64
	formLea32
	formAddR64
	formAddR32
	formSubR64
	formSubR32
	formAndR64
	formAndR32
	formOrR64
	formOrR32
	formXorR64
	formXorR32
	formCmpR64
	formCmpR32
	formCmpR8
	formTestR64
	formTestR32
	formTestR8
	formAddL64
	formCmpL64
	formCmpL32
	formCmpM64
	formCmpM32
	formCmpM8
	formTestM32
	formTestM8
	formPush64
	formPush32
	formPop64
	formPop32
	formCall64
	formCall32
	formRet64
	formRet32
	formJmp
	formJcc
	forms
)

// Thread implements engine.Threader.
func (c *CPU) Thread(insns []decoded, ops []op, plain bool) (code []thread, taken uint64) {
	n := len(insns) - 1
	for i := range insns {
		if in := &insns[i].Operands; in.form != formIdle {
			code = append(code, thread{Exec: execOf(in), Operands: *in, At: i})
		}
	}
	last := &insns[n].Operands
	switch flags := ops[n].Flags; {
	case !plain:
		code = append(code, thread{Exec: threadLeave, At: n})
	case flags&engine.Ends == 0:
		code = append(code, thread{Exec: threadBehind, At: n})
	case last.form == formNone:
		code = append(code, thread{Exec: threadTo, At: n})
	default:
		code = append(code, thread{Exec: threadTo, At: n}) // behind what Slow has executed
		taken = (insns[n].Next() + last.imm) & c.AddrMask
		fuse(code)
	}
	return code, taken
}

// execOf returns what executes an instruction of threaded code.
func execOf(in *inst) threadExec {
	f := &threadExecs[in.form]
	switch {
	case in.form == formJcc && in.aux == condE:
		return threadJe
	case in.form == formJcc && in.aux == condNE:
		return threadJne
	}
	if f.far != nil && (in.index != rZero || in.base == rRIP || in.seg != segFlat) {
		return f.far
	}
	return f.near
}

// fuse has a comparison at the end of a block take the branch behind it.
func fuse(code []thread) {
	if len(code) < 3 {
		return
	}
	branch, q := &code[len(code)-2], &code[len(code)-3]
	if branch.Operands.form != formJcc {
		return
	}
	if exec := fused[q.Operands.form][branch.Operands.aux&15]; exec != nil {
		q.Exec = exec
	}
}
