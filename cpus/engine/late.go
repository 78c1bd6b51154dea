package engine

import (
	"slices"

	"kprobesim/cpus"
)

// initLateFlags notes the operations whose flags some classes take longer with.
func (p *pipeline) initLateFlags(isa *cpus.ISA, b *cpus.BackEnd) {
	for _, n := range b.LateFlags {
		p.lateFlags |= 1 << (1 + slices.Index(isa.Fusible, n))
	}
}

// lateness tells which flags come late to what reads them. Operations are renamed in groups of the core's width.
type lateness struct {
	inGroup int    // operations of the present group
	fresh   uint64 // registers with flags of operations of the present group that are in pipelineShape.lateFlags
}

// count renames n operations, of which the last one is in the present group then.
func (l *lateness) count(n, width int) {
	if l.inGroup += n; l.inGroup > width || l.inGroup == n {
		l.fresh = 0
	}
	for l.inGroup >= width {
		l.inGroup -= width
	}
}

// late is how much longer an instruction takes for the flags that it reads.
func (p *pipeline) late(op *Op, u *pipePrice) ticks {
	if p.fresh&op.sources() != 0 {
		return u.late
	}
	return 0
}

// noteLate notes whose flags an operation's results hold.
func (p *pipeline) noteLate(op *Op) {
	p.fresh &^= op.results()
	if op.Pair&PairBranch == 0 && p.lateFlags>>(op.Pair&15)&1 != 0 {
		p.fresh |= op.results() & p.flags
	}
}

// flagsReady is when the flags that an instruction reads are ready, or 0.
func (c *Core) flagsReady(op *Op) (at ticks) {
	for _, r := range []uint8{op.S1, op.S2, op.S3} {
		if c.flags>>(r&regMask)&1 != 0 {
			at = max(at, c.ready[r&regMask])
		}
	}
	return at
}
