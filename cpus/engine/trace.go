package engine

import "kprobesim/internal/clock"

// trace is blocks that followed each other, in one piece. Without a cost model nothing need be looked at between
// them but whether execution goes where it went before, which a guard behind the last instruction of each tells.
// A trace is a matter of the host's time.
type trace[C, P any] struct {
	timed
	insns   []traced[C, P]
	blocks  []*Block[C, P]
	ends    []int  // index behind the last instruction of each block
	gen     uint64 // of translations, and
	dropped uint64 // of code: it is void when either has changed
}

// traced is an instruction of a trace.
type traced[C, P any] struct {
	Insn[C, P]
	at int // its place
}

// Bounds of traces.
const (
	traceHeat   = 16 // executions of a block before a trace is begun with it
	traceBlocks = 16
	traceInsns  = 64 // it has places in Core.acc
)

// trail is the trace that is being made.
type trail[C, P any] struct {
	blocks       []*Block[C, P] // none when none is
	insns        int
	gen, dropped uint64 // when it was begun
}

// traceOf returns the trace that begins with a block if there is one that ends before a time. A block that is
// executed often begins one.
func (e *Engine[C, P]) traceOf(b *Block[C, P], until clock.Ticks) *trace[C, P] {
	if len(e.trail.blocks) != 0 {
		if e.trail.insns += len(b.insns); len(e.trail.blocks) < traceBlocks && e.trail.insns <= traceInsns {
			e.trail.blocks = append(e.trail.blocks, b)
			return nil
		}
		e.endTrail()
	}
	t := b.trace
	if t == nil && e.threader != nil {
		return nil
	}
	if t == nil {
		if b.heat++; b.heat >= traceHeat {
			e.trail = trail[C, P]{append(e.trail.blocks, b), len(b.insns), e.gen, e.dropped}
		}
		return nil
	}
	if t.gen != e.gen || t.dropped != e.dropped {
		b.trace, b.heat = nil, 0
		return nil
	}
	if e.retire+ticks(len(t.insns))*e.quick.each >= until {
		return nil
	}
	return t
}

// endTrail makes a trace of what was executed since the block that began it, when that is more than the block.
func (e *Engine[C, P]) endTrail() {
	blocks := e.trail.blocks
	if len(blocks) == 0 {
		return
	}
	e.trail.blocks = blocks[:0]
	head := blocks[0]
	head.heat = 0
	if len(blocks) == 1 || e.gen != e.trail.gen || e.dropped != e.trail.dropped {
		return
	}
	t := &trace[C, P]{gen: e.gen, dropped: e.dropped}
	t.several = true
	for i, b := range blocks {
		for _, in := range b.insns {
			t.insns = append(t.insns, traced[C, P]{in, len(t.insns)})
		}
		t.ops = append(t.ops, b.ops...)
		t.blocks, t.ends = append(t.blocks, b), append(t.ends, len(t.insns))
		if i+1 < len(blocks) {
			last := &t.insns[len(t.insns)-1]
			last.Exec = e.guard(last.Exec, blocks[i+1])
		}
	}
	head.trace = t
	if e.held += insnBytes * len(t.insns); e.held > e.limit {
		e.Check |= checkStore
	}
}

// guard returns an instruction that stops behind itself when the next block is not the one that was next, when there is
// something to look at between blocks, or when an instruction cache that is not coherent is to fetch that block.
func (e *Engine[C, P]) guard(exec func(*C, *P), next *Block[C, P]) func(*C, *P) {
	gen, pc := e.gen, next.pc
	return func(c *C, in *P) {
		exec(c, in)
		if e.R[PC] != pc || e.Check != 0 || e.gen != gen || e.stale != nil && !next.fetched() {
			e.Stop |= stopTrace
		}
	}
}

// executeTrace is execute of a trace.
//
//go:noinline
func (e *Engine[C, P]) executeTrace(insns []traced[C, P]) int {
	for len(insns) >= 8 {
		some := (*[8]traced[C, P])(insns)
		in := &some[0]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[1]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[2]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[3]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[4]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[5]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[6]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		in = &some[7]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
		insns = insns[8:]
	}
	for i := range insns {
		in := &insns[i]
		e.idx, e.R[PC] = in.at, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return e.idx
		}
	}
	return -1
}

// runTrace executes a trace. It returns the block that it came to the end of, or nil when there was a reason to
// leave guest code behind an instruction.
func (e *Engine[C, P]) runTrace(t *trace[C, P]) *Block[C, P] {
	e.cur = &t.timed
	i := e.executeTrace(t.insns)
	if i < 0 {
		e.settleUntimed(len(t.insns))
		e.settled = 0
		return t.blocks[len(t.blocks)-1]
	}
	k, start := 0, 0
	for ; i >= t.ends[k]; k++ {
		start = t.ends[k]
	}
	b := t.blocks[k]
	if e.Stop &^= stopTrace; e.Stop == 0 { // behind a block
		e.settleUntimed(i + 1)
		e.settled = 0
		return b
	}
	e.running(b)
	e.settled, e.idx = e.settled-start, i-start // blocks before it have their time with this one's
	if e.Stop == StopCode && b.phase != gone {
		e.Stop = 0
		if e.executeFrom(b, e.idx+1); e.Stop == 0 {
			e.settleUntimed(len(b.insns))
			e.settled = 0
			return b
		}
	}
	e.finish(b, e.idx)
	return nil
}
