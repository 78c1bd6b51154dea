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

// lazy says of what operation res is the result and old the first operand, both with no bits above the operand's size.
// Zero says that all flags are where flags.go has them.
type lazy uint8

// In each group are the operands of 8, 16, 32 and 64 bits.
const (
	lazySum8 lazy = 4 + iota
	lazySum16
	lazySum32
	lazySum64
	lazyDiff8
	lazyDiff16
	lazyDiff32
	lazyDiff64
	lazyLogic8
	lazyLogic16
	lazyLogic32
	lazyLogic64
	lazyShl8 // by CPU.shifted, which is not zero
	lazyShl16
	lazyShl32
	lazyShl64
	lazyShr8
	lazyShr16
	lazyShr32
	lazyShr64
	lazySar8
	lazySar16
	lazySar32
	lazySar64
)

// bytes is the size of the operands.
func (l lazy) bytes() int { return 1 << (l & 3) }

// Unthread implements engine.Threader: it computes the flags.
func (c *CPU) Unthread() {
	how := c.lazy
	if how == 0 {
		return
	}
	c.lazy = 0
	switch how.bytes() {
	case 8:
		flagsOfLazy[uint64](c, how)
	case 4:
		flagsOfLazy[uint32](c, how)
	case 2:
		flagsOfLazy[uint16](c, how)
	default:
		flagsOfLazy[uint8](c, how)
	}
}

// flagsOfLazy has the operation done again on what is kept of its operands.
func flagsOfLazy[T width](c *CPU, how lazy) {
	old, res := T(c.old), T(c.res)
	switch how &^ 3 {
	case lazySum8:
		add(c, old, res-old)
	case lazyDiff8:
		sub(c, old, old-res)
	case lazyLogic8:
		setLogic(c, res)
	case lazyShl8:
		shl(c, old, uint(c.shifted))
	case lazyShr8:
		shr(c, old, uint(c.shifted))
	case lazySar8:
		sar(c, old, uint(c.shifted))
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
	end := func(exec threadExec, o nativeOp) {
		code = append(code, thread{Exec: exec, At: n, Operands: inst{native: native(o, inReg, 0, 0)}})
	}
	last := &insns[n].Operands
	switch flags := ops[n].Flags; {
	case !plain:
		end(threadLeave, 0)
	case flags&engine.Ends == 0:
		end(threadBehind, nBehind)
	case last.form == formNone:
		end(threadTo, nTo)
	default:
		end(threadTo, nTo) // behind what Slow has executed
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
