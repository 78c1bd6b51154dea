package engine

import (
	"unsafe"

	"kprobesim/internal/clock"
	h "kprobesim/internal/hostcode"
)

// sideExit is a place where code is left.
type sideExit struct {
	label h.Label
	why   uint64
}

// Reasons to leave code, in the lowest bits of what it returns. Above are the number of an instruction or of a way, from
// exitInsn on, and that of the block, from exitBlock on.
const (
	exitExecute = 1 + iota // the reference function is to execute the instruction
	exitSettle             // all instructions are executed, and the memo does not have the block
	exitBehind             // the next block is to be looked for
	exitEnter              // the lines of the block are to be fetched

	exitInsn  = 8
	exitBlock = 16
)

// Ways out of a block.
const (
	wayBehind = iota
	wayTaken
	wayElsewhere // the code has set the program counter
)

// codeTurn bounds the time until Run looks around, and with it the runtime of the host, which cannot stop code that is
// not its own.
const codeTurn = 1 << 18 * clock.PerCycle

// exitAt returns what code returns at an exit.
func (g *Code) exitAt(kind uint64, at int) uint64 {
	return g.number<<exitBlock | uint64(at)<<exitInsn | kind
}

// exit returns a label where code is left.
func (g *Code) exit(kind uint64, at int) h.Label {
	why := g.exitAt(kind, at)
	from := 0
	if n := len(g.entries); n > 0 && kind == exitExecute {
		from = g.entries[n-1].exits
	}
	for _, x := range g.exits[from:] {
		if x.why == why {
			return x.label
		}
	}
	l := g.NewLabel()
	g.exits = append(g.exits, sideExit{l, why})
	return l
}

// Slow returns a label where the present instruction is left to its reference function. Nothing may have changed but
// host registers that keep no guest register, and the host's flags.
func (g *Code) Slow() h.Label { return g.exit(exitExecute, g.insn) }

// exitWith writes the way out of code.
func (g *Code) exitWith(why uint64) {
	g.Const(h.Main, why)
	g.JmpTo(g.routines.exit)
}

// runCode executes blocks by their code from one on that has some and whose lines are fetched. It returns the next block
// when that has none, or nil when Run is to look around.
func (e *Engine[C, P]) runCode(b *Block[C, P]) *Block[C, P] {
	g, at := e.code, b.code.begin
	enter := g.room.Address(g.routines.enter)
	for {
		e.chains.turn = min(e.until, e.retire+codeTurn)
		if e.Check != 0 {
			e.chains.turn = e.retire
		}
		why := h.Call(enter, at, unsafe.Pointer(&e.Core))
		e.emitter.Materialize()
		b = e.translated[why>>exitBlock]
		n := int(why >> exitInsn & 0xff)
		switch why & (1<<exitInsn - 1) {
		case exitEnter:
			e.block, e.idx, e.R[PC] = b, between, b.pc
			e.fetchLines(b)
			at = b.code.begin
			continue
		case exitExecute:
			if at = e.executeSlow(b, n); at != 0 {
				continue
			}
			if e.Stop != 0 {
				e.stop(b)
				return nil
			}
			e.settleExecuted(b)
		case exitSettle:
			e.leftBy(b, n)
			e.settleExecuted(b)
		case exitBehind:
			e.leftBy(b, n)
		}
		next := e.onward(b)
		if next == nil || next.code == nil {
			return next
		}
		e.lead(b, next)
		at = next.code.begin
	}
}

// leftBy makes the block the running one that was left by one of its ways.
func (e *Engine[C, P]) leftBy(b *Block[C, P], by int) {
	e.cur = &b.timed
	if by != wayElsewhere {
		e.R[PC] = b.code.ways[by].pc
	}
}

// executeSlow executes instruction i of a block by its reference function, and those behind it that code cannot be
// entered at. It returns where code is entered again, or zero behind the block or when there is a reason to stop.
func (e *Engine[C, P]) executeSlow(b *Block[C, P], i int) uintptr {
	e.block, e.cur = b, &b.timed
	code := b.code
	for {
		in := &b.insns[i]
		e.idx, e.R[PC] = i, in.next
		in.Exec(e.self, &in.Operands)
		if i++; e.Stop != 0 || i == len(b.insns) {
			return 0
		}
		if at := code.entries[i]; at != 0 && e.settled == 0 && b.code != nil {
			return at
		}
	}
}

// settleExecuted gives an executed block its times.
func (e *Engine[C, P]) settleExecuted(b *Block[C, P]) {
	if e.untimed.on {
		e.settleUntimed(len(b.insns))
	} else if e.settled != 0 || !e.hitMemo(&b.timed) {
		e.settle(len(b.insns))
	}
	e.settled = 0
}

// onward returns the block behind an executed one, with its lines fetched; or nil when Run is to look around.
func (e *Engine[C, P]) onward(b *Block[C, P]) *Block[C, P] {
	e.block, e.idx = b, between
	if e.untimed.on {
		e.dispatch, e.outcome, e.irregular, e.sends = e.retire, 0, 0, 0
	}
	pc := e.R[PC]
	l := &b.links[0]
	if l.pc != pc || l.gen != e.gen {
		if l = &b.links[1]; l.pc != pc || l.gen != e.gen {
			if l = e.otherLink(b, pc); l == nil {
				return nil
			}
		}
	}
	next := l.to
	if e.Check != 0 || e.retire >= e.until || next.phase == gone {
		return nil
	}
	if *next.lineUsed != next.only {
		e.fetchLines(next)
	}
	return next
}

// lead has a block's code lead on to the next one's.
func (e *Engine[C, P]) lead(b, next *Block[C, P]) {
	if next.phase == gone {
		return
	}
	pc := next.pc
	region := regionOf(pc)
	to := way{e.chains.regions[region], next.code.enter, pc}
	if b.code != nil {
		for i := range b.code.ways {
			if b.code.ways[i].pc == pc {
				b.code.ways[i] = to
				return
			}
		}
	}
	*e.chains.landingOf(pc) = landing{pc, to.gen, to.code, region, e.phase}
}
