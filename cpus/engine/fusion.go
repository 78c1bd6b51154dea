package engine

import (
	"slices"

	"kprobesim/cpus"
)

// Op.Pair tells operations and branches that may be one operation: the number of an operation in ISA.Fusible, counted from
// one, with what stands in the way, or pairBranch with the number of a condition in ISA.Conditions.
const (
	// PairImmediate says that the operation has an operand in memory and an immediate.
	PairImmediate = 1 << 5
	// PairRelative says that its operand in memory is relative to the program counter.
	PairRelative = 1 << 6
	// PairBranch marks a branch.
	PairBranch = 1 << 7
)

// initFusion notes the conditions that each operation fuses with, by Op.Pair.
func (p *pipeline) initFusion(isa *cpus.ISA, f *cpus.Fusion) {
	for i, name := range isa.Fusible {
		conditions := uint8(0)
		for _, n := range f.Pairs[name] {
			conditions |= 1 << slices.Index(isa.Conditions, n)
		}
		for _, limits := range []int{0, PairImmediate, PairRelative, PairImmediate | PairRelative} {
			if limits&PairImmediate != 0 && !f.Immediate || limits&PairRelative != 0 && !f.Relative {
				continue
			}
			p.fuses[i+1|limits] = conditions
		}
	}
}

// mark notes how an instruction of n bytes at pc is decoded behind those before it in its block: whether it is one
// operation with the last of them, begins a window of the operation cache, or is more operations for its index.
func (p *pipeline) mark(before []Op, op *Op, pc, n uint64) {
	if last := len(before) - 1; last >= 0 && op.Pair&PairBranch != 0 && p.fuses[before[last].Pair]>>(op.Pair&7)&1 != 0 {
		before[last].Flags |= fusedFirst
	}
	if p.fusesNops && op.Class == p.nop && len(before) > 0 && before[len(before)-1].Flags&fusedFirst == 0 {
		op.Flags |= fusedFirst // with the one in front, to the same end: it has no operation of its own
	}
	if p.lineMask != 0 && (pc-1)|p.lineMask != (pc+n-1)|p.lineMask {
		op.Flags |= newLine
	}
	if op.Flags&Indexed != 0 && p.prices[op.Class].unlaminates {
		op.Flags |= unlaminated
	}
	if p.windowUops != 0 {
		p.markOverflow(before, op, pc)
	}
}

// markOverflow notes what lies in a window of which an instruction at pc brings the operations above what is kept. What reaches
// into the window from the one before it counts too: a block that begins inside was mostly entered from there.
func (p *pipeline) markOverflow(before []Op, op *Op, pc uint64) {
	window := pc &^ p.lineMask
	first, n, at := len(before), p.opsOf(op), pc
	for ; first > 0 && at > window; first-- {
		o := &before[first-1]
		n, at = n+p.opsOf(o), at-uint64(o.Len)
	}
	if at > window {
		n++
	}
	if n <= p.windowUops {
		return
	}
	op.Flags |= overflows
	for i := range before[first:] {
		before[first+i].Flags |= overflows
	}
}

// opsOf is the operations that an instruction is renamed as.
func (p *pipeline) opsOf(op *Op) int {
	switch {
	case op.Flags&fusedFirst != 0:
		return 0
	case op.Flags&unlaminated != 0:
		return p.prices[op.Class].ops + 1
	}
	return p.prices[op.Class].ops
}

// setPairFlags is when the flags of an operation are ready that is one with a branch. They are its last result, and all further ones.
func (c *Core) setPairFlags(op *Op, at ticks) {
	flags := op.O2
	if flags == c.sink {
		flags = op.O1
	}
	c.ready[flags&regMask] = at
	c.readyAlso(op.Also, at)
}
