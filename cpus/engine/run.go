package engine

import (
	"unsafe"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Run implements cpus.CPU. Time and interrupts are looked at between blocks.
func (e *Engine[C, P]) Run(limit clock.Ticks) cpus.Exit {
	e.broken = false
	for {
		if !e.within { // the rest of a block comes before anything is looked at
			if x, stop := e.before(limit); stop {
				return x
			}
		}
		e.within = false
		switch b, at := e.next(); {
		case b == nil:
			e.isa.Deliver()
		case at != 0:
			e.runRest(b, at)
		default:
			e.runBlocks(b, limit)
		}
		if e.Stop&StopExit != 0 {
			e.Stop &^= StopExit
			return e.exit
		}
		if e.broken {
			return cpus.Exit{Reason: cpus.Broken}
		}
	}
}

// before makes the pending checks, and reports whether there is something for the machine to do.
// Native slots are recognized here, by their addresses, because no instruction in them is ever
// executed. In user mode they are no way out of the guest.
func (e *Engine[C, P]) before(limit clock.Ticks) (cpus.Exit, bool) {
	if e.untimed.on && e.retire >= e.untimed.until && e.resume.at == 0 {
		e.becomeTimed()
	}
	if e.debugger != nil && e.retire >= e.stops.At {
		e.debugger.Reached(e.Num)
	}
	if e.Check != 0 {
		if e.Check&checkStore != 0 {
			e.empty()
		}
		if e.Check&checkWatched != 0 {
			e.Check &^= checkWatched
			e.forgetCode()
		}
		if e.Check&checkUntimed != 0 && e.resume.at == 0 {
			e.switchTiming()
		}
		if e.Check&checkFlavour != 0 {
			e.changeFlavour()
		}
		e.isa.Poll()
		if e.Stop&StopExit != 0 { // the delivery of an interrupt failed for good
			e.Stop &^= StopExit
			return e.exit, true
		}
	}
	switch {
	case e.Halted:
		return cpus.Exit{Reason: cpus.Halted}, true
	case e.retire >= limit:
		return cpus.Exit{Reason: cpus.Limit}, true
	case e.R[PC]-e.Bus.Native[0] < e.Bus.Native[1]-e.Bus.Native[0] && !e.User:
		return cpus.Exit{Reason: cpus.Native}, true
	}
	return cpus.Exit{}, false
}

// runBlocks executes a block and those that follow it by links, as far as nothing but the next block's
// code is to be looked at between them. It executes the first one alone when an observer is told of it.
func (e *Engine[C, P]) runBlocks(b *Block[C, P], limit clock.Ticks) {
	if b.phase != e.phase {
		e.setPhase(b.phase)
	}
	if e.singly(b) {
		if e.toldWhole(b) {
			e.runTold(b, limit)
		} else {
			e.runSingle(b, 0)
		}
		return
	}
	e.runLinked(b, limit)
}

// toldWhole reports whether the observer is told of a block by one step, so that it is executed as if nobody looked. It is not where an
// interrupt was delivered before, whose time would be taken for that of an exception in the block.
func (e *Engine[C, P]) toldWhole(b *Block[C, P]) bool {
	return e.blocks != nil && !b.single && e.Single == 0 && !b.stops && !e.debugs(b) && e.step.Stalls.Exception == 0
}

// runTold executes a block and those that follow it by links, one by one, and tells the observer of what was executed of each.
func (e *Engine[C, P]) runTold(b *Block[C, P], limit clock.Ticks) {
	s := &e.step
	for {
		insns := b.insns
		e.beginStep(b, b.pc, int(b.end-b.pc))
		e.left = len(insns)
		e.runLinked(b, 0)
		if e.left > 1 {
			s.Last = int(insns[e.left-2].next - s.PC)
		}
		s.More = e.left - 1
		e.endStep(int(insns[e.left-1].next - s.PC))
		s.Last, s.More = 0, 0
		if e.left < len(insns) || s.Exception != "" || e.Stop != 0 || e.broken {
			return
		}
		e.bound(limit)
		if b = e.onward(b); b == nil || b.phase != e.phase || !e.toldWhole(b) {
			return
		}
	}
}

// bound has linked blocks end at a time.
func (e *Engine[C, P]) bound(limit clock.Ticks) {
	if e.until = limit; e.untimed.on {
		e.until = min(limit, e.untimed.until)
	}
	if e.debugger != nil {
		e.until = min(e.until, e.stops.At)
	}
}

// runLinked executes a block and those that follow it by links, until a time.
func (e *Engine[C, P]) runLinked(b *Block[C, P], limit clock.Ticks) {
	e.bound(limit)
	e.settled = 0
	for {
		for b.code != nil || e.translates(b) {
			if b = e.runCode(b); b == nil {
				return
			}
		}
		// Two instructions are executed here: their places are constants, and most blocks have few.
		e.cur = &b.timed
		in := unsafe.SliceData(b.insns) // no block is empty
		e.idx, e.R[PC] = 0, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			e.stop(b)
			return
		}
		if insns := b.insns; len(insns) > 1 {
			in := &insns[1]
			e.idx, e.R[PC] = 1, in.next
			if in.Exec(e.self, &in.Operands); e.Stop != 0 {
				e.stop(b)
				return
			}
			if len(b.insns) > 2 {
				if e.executeFrom(b, 2); e.Stop != 0 {
					e.stop(b)
					return
				}
			}
		}
		if e.memo.here != 0 {
			if !e.hitMemo(&b.timed) {
				e.settleRunning()
			}
		} else if e.untimed.on || e.window || !e.settleBlock(&b.timed) {
			e.settleRunning()
		}
		pc := e.R[PC]
		l := &b.links[0]
		if l.pc != pc || l.gen != e.gen {
			if l = &b.links[1]; l.pc != pc || l.gen != e.gen {
				if l = e.otherLink(b, pc); l == nil {
					break
				}
			}
		}
		if e.Check != 0 || e.retire >= e.until {
			break
		}
		next := l.to
		if *next.lineUsed != next.only {
			if next.phase == gone {
				break
			}
			if *next.lineUsed != next.line || next.next != 0 && *next.nextUsed != next.next {
				e.block, e.idx = b, between
				e.fetchLines(next)
			}
		}
		b = next
	}
	e.block, e.idx = b, between
}

// runSingle is runBlocks of one block, from an instruction on, of which every instruction must be looked at.
func (e *Engine[C, P]) runSingle(b *Block[C, P], at int) {
	e.running(b)
	e.settled = at
	n, more := e.runSingly(b, at, len(b.insns))
	if e.within = more; more {
		e.suspend(b, n)
	}
}

// runRest executes what is left of a block, from an instruction on.
func (e *Engine[C, P]) runRest(b *Block[C, P], at int) {
	if b.phase != e.phase {
		e.setPhase(b.phase)
	}
	if e.singly(b) {
		e.runSingle(b, at)
		return
	}
	e.running(b)
	e.settled = at
	if e.executePart(b, at, len(b.insns)) {
		e.finish(b, e.idx)
		return
	}
	e.settle(len(b.insns))
	e.idx = between
}

// otherLink is following of links that are not a block's first two, or nil when Run must look around first.
//
//go:noinline
func (e *Engine[C, P]) otherLink(b *Block[C, P], pc uint64) *link[C, P] {
	l := b.linkTo(pc)
	if l.pc == pc && l.gen == e.gen {
		return l
	}
	if l = e.shortcut(pc); l.pc != pc || l.gen != e.gen || !b.plain || l.to.phase != b.phase {
		return nil
	}
	if own := b.linkSlot(pc); own.gen != e.gen {
		*own = *l
	}
	return l
}

// stop ends a block behind the running instruction, after which there is a reason to leave it.
func (e *Engine[C, P]) stop(b *Block[C, P]) {
	e.block = b
	e.finish(b, e.idx)
}

// executeFrom executes the instructions of a block from i on, up to one behind which there is a reason to leave it.
//
//go:noinline
func (e *Engine[C, P]) executeFrom(b *Block[C, P], i int) {
	for ; uint(i) < uint(len(b.insns)); i = e.idx + 1 {
		in := &b.insns[i]
		e.idx, e.R[PC] = i, in.next
		if in.Exec(e.self, &in.Operands); e.Stop != 0 {
			return
		}
	}
}

// running makes a block the running one.
func (e *Engine[C, P]) running(b *Block[C, P]) { e.block, e.cur = b, &b.timed }

// singly reports whether every instruction of a block must be looked at.
func (e *Engine[C, P]) singly(b *Block[C, P]) bool {
	return e.looksAt(b) || e.debugs(b)
}

// looksAt is singly but for a debugger.
func (e *Engine[C, P]) looksAt(b *Block[C, P]) bool {
	return e.Single != 0 || b.stops || e.observer != nil && (e.all || b.watched > e.R[PC])
}

// following returns the block that follows b by a link, or nil when Run must look around first.
func (e *Engine[C, P]) following(b *Block[C, P], limit clock.Ticks) *Block[C, P] {
	pc := e.R[PC]
	l := b.linkTo(pc)
	if l.pc != pc || l.gen != e.gen || e.Check != 0 || e.retire >= limit || e.untimed.on && e.retire >= e.untimed.until {
		return nil
	}
	if b = l.to; b.phase != e.phase || !b.fetched() {
		return nil
	}
	return b
}

// finish ends a block at instruction i: with an exception, after a store into code, or to leave the
// CPU. An instruction that is undone takes no time now: it is executed again when the handler returns
// to it.
func (e *Engine[C, P]) finish(b *Block[C, P], i int) {
	faulted := e.Stop&StopFault != 0
	e.left = i + 1
	if faulted && e.isa.Faulted(&b.insns[i].Operands) {
		e.R[PC] -= uint64(b.ops[i].Len)
		e.settle(i)
		e.acc[i&(accesses-1)] = access{}
	} else {
		e.settle(i + 1)
	}
	e.idx = between
	e.Stop &^= StopCode | StopBlock
	if faulted {
		e.isa.Deliver()
		return
	}
	if e.leaving {
		e.leaving = false
		e.LeaveException()
	}
	if e.Stop&StopTrap != 0 {
		e.Stop &^= StopTrap
		if e.Single == 0 { // otherwise runSingly asks
			e.isa.EndStep(true)
		}
	}
}

// runSingly executes instructions of a block one by one, from a first one up to a last one: for the
// observer, and as long as the instruction set wants it (Core.Single). It returns the index behind the
// one that it came to, and whether it would go on there but for the bound or the observer. Its timing is runBlocks'.
func (e *Engine[C, P]) runSingly(b *Block[C, P], from, to int) (n int, more bool) {
	told := e.observer != nil && e.looksAt(b) // of what a debugger alone looks at, observers hear nothing
	for i := from; ; i++ {
		single := e.Single != 0 || b.stops
		if i != from {
			if i == len(b.insns) || single && e.isa.EndsRun() {
				return i, false
			}
			if i == to || e.broken {
				if e.settled < i {
					e.settle(i)
				}
				return i, true
			}
		}
		if single && !e.isa.BeginStep() {
			return i + 1, false
		}
		if e.debugger != nil {
			e.debugger.Before(e.Num)
		}
		pc := e.R[PC]
		if told {
			e.beginStep(b, pc, int(b.ops[i].Len))
		}
		tracks := e.tracks()
		if tracks {
			e.depend(&b.ops[i])
		}
		e.joined = b.ops[i].Flags&fusedFirst != 0 && i+1 < to && !single && e.debugger == nil
		leave := e.one(b, i)
		if tracks {
			e.followed(&b.ops[i])
		}
		if (single || e.Single != 0) && e.isa.EndStep(e.stepped) {
			leave = true
		}
		if told {
			e.endStep(int(b.ops[i].Len))
		}
		if leave || e.R[PC] != b.insns[i].next {
			return i + 1, false
		}
	}
}

// one executes and times one instruction, and reports whether the block ends with it. Afterwards
// stepped says whether the instruction completed, so that traps may follow it. The first instruction of a fused pair gets its time with the
// second one, as the pair retires at once.
func (e *Engine[C, P]) one(b *Block[C, P], i int) bool {
	in := &b.insns[i]
	e.idx = i
	e.R[PC] = in.next
	in.Exec(e.self, &in.Operands)
	e.stepped = e.Stop&StopFault == 0
	if e.Stop != 0 {
		e.finish(b, i)
		return true
	}
	if !e.joined {
		e.settle(i + 1)
	}
	e.idx = between
	return false
}

// beginStep and endStep tell the observer of an instruction. An exception that it raises may end with the line
// fetched anew, so that old code is looked at before.
func (e *Engine[C, P]) beginStep(b *Block[C, P], pc uint64, n int) {
	s := &e.step // the fetch stalls
	s.PC, s.Start, s.Phase, s.Context, s.User, s.Exception = pc, e.observed, e.phase, e.context, e.User, ""
	s.Phys, s.Code = b.pa+(pc-b.pc), nil
	if e.stale.has(s.Phys) {
		s.Code = e.Code(s.Phys, n)
	}
}

func (e *Engine[C, P]) endStep(n int) {
	s := &e.step
	s.End, s.Masked = e.retire, e.isa.Masked()
	e.observed = e.retire
	if s.Code == nil {
		s.Code = e.Code(s.Phys, n)
	}
	s.Code = s.Code[:min(n, len(s.Code))]
	e.observer.Step(s)
	e.step.Stalls = cpus.Stalls{}
}
