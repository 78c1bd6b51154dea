package x86

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Exception vectors (SDM vol. 3, table 6-1).
const (
	vecDE = 0
	vecDB = 1
	vecNM = 2 // non-maskable interrupt
	vecBP = 3
	vecOF = 4
	vecBR = 5
	vecUD = 6
	vecDF = 8
	vecTS = 10
	vecNP = 11
	vecSS = 12
	vecGP = 13
	vecPF = 14
	vecAC = 17
)

var vectorNames = [32]string{
	vecDE: "#DE", vecDB: "#DB", vecNM: "NMI", vecBP: "#BP", vecOF: "#OF", vecBR: "#BR", vecUD: "#UD",
	vecDF: "#DF", vecTS: "#TS", vecNP: "#NP", vecSS: "#SS", vecGP: "#GP", vecPF: "#PF", vecAC: "#AC",
}

// exceptionNames names every vector.
func exceptionNames() []string {
	names := make([]string, cpus.MaxExceptions)
	for v := range names {
		names[v] = vectorName(uint8(v))
	}
	return names
}

func vectorName(v uint8) string {
	if int(v) < len(vectorNames) && vectorNames[v] != "" {
		return vectorNames[v]
	}
	return fmt.Sprintf("interrupt %d", v)
}

// raise makes an exception pending; the instruction ends without effect.
func (c *CPU) raise(vector uint8) {
	c.fault = fault{vector: vector}
	c.Stop |= engine.StopFault
}

// raiseCode is raise with an error code.
func (c *CPU) raiseCode(vector uint8, code uint32) {
	c.fault = fault{vector: vector, hasError: true, code: code}
	c.Stop |= engine.StopFault
}

// execUndefined raises #UD. It counts instructions that the architecture has and this model lacks.
func execUndefined(c *CPU, in *inst) {
	at := c.R[rRIP] - uint64(in.len)
	if pa, ok := c.Translate(at); ok {
		code := c.Memory.Bytes(pa, min(maxInsn, int(0x1000-pa&0xfff)))
		if x, known := disassemble(code, c.mode()); known {
			c.Counts.Unmodelled++
			c.Counts.LastUnknown = fmt.Sprintf("%s at %#x", x.String(), at)
		}
	}
	c.raise(vecUD)
}

// ud2 raises #UD on purpose.
func ud2(c *CPU, _ *inst) { c.raise(vecUD) }

// Deliver implements engine.Exceptions: it delivers the exception in c.fault.
func (c *CPU) Deliver() {
	f := c.fault
	c.fault = fault{}
	c.Stop &^= engine.StopFault | engine.StopCode | engine.StopBlock
	kind := uint8(cpus.OtherException)
	switch f.vector {
	case vecBP:
		kind = cpus.Breakpoint
	case vecDB:
		kind = cpus.SingleStep
	}
	c.deliver(f, kind)
}

// deliver enters the handler of an exception or interrupt. An exception on the way to it is delivered
// instead, or as a double fault; one on the way to that is a shutdown (SDM vol. 3, table 6-5).
func (c *CPU) deliver(f fault, kind uint8) {
	first := f
	for {
		old := c.saveForDelivery()
		c.Counts.Exceptions[f.vector]++
		c.noteDelivery(f, kind)
		if c.enterHandler(f) {
			return
		}
		if kind == cpus.Interrupted && f == first {
			c.Counts.Unhandled++
			c.Counts.LastUnhandled = uint16(f.vector)
		}
		inner := c.fault
		c.fault, c.Stop = fault{}, c.Stop&^(engine.StopFault|engine.StopCode)
		c.restoreAfter(&old)
		c.LeaveException()
		if f.vector == vecDF {
			c.shutdown(first, inner)
			return
		}
		if doubles(f, inner.vector) {
			inner = fault{vector: vecDF, hasError: true}
		}
		c.R[rRIP] -= uint64(f.back)
		f = inner
	}
}

// doubles reports whether an exception on the way to the handler of f makes a double fault: two
// contributory ones, or any of them after a page fault. Others are handled one after the other; what
// they do is a fault of its own, so a chain of them ends.
func doubles(f fault, inner uint8) bool {
	contributory := func(v uint8) bool { return v == vecDE || v >= vecTS && v <= vecGP }
	switch {
	case f.soft:
		return false
	case f.vector == vecPF:
		return contributory(inner) || inner == vecPF
	}
	return contributory(f.vector) && contributory(inner)
}

// deliverySave is what a failed delivery must put back.
type deliverySave struct {
	rsp, rip, ctl uint64
	seg           [6]segment
	cpl           uint8
}

func (c *CPU) saveForDelivery() deliverySave {
	return deliverySave{c.R[rsp], c.R[rRIP], c.ctl, c.seg, c.cpl}
}

func (c *CPU) restoreAfter(s *deliverySave) {
	c.R[rsp], c.R[rRIP], c.seg = s.rsp, s.rip, s.seg
	c.setCtl(s.ctl)
	c.setCPL(s.cpl)
}

// noteDelivery charges a delivery and opens its context in the accounts.
func (c *CPU) noteDelivery(f fault, kind uint8) {
	ev := evFault
	switch {
	case kind == cpus.Interrupted:
		ev = evInterrupt
	case f.vector == vecBP:
		ev = evBreakpoint
	case f.vector == vecDB:
		ev = evDebug
	}
	name := vectorName(f.vector)
	if kind == cpus.Interrupted {
		name = ""
	}
	c.EnterException(kind, c.event[ev], name)
}

// shutdown stops the CPU and says why.
func (c *CPU) shutdown(first, inner fault) {
	c.Exit(cpus.Exit{Reason: cpus.Shutdown, Detail: fmt.Sprintf(
		"triple fault: %s at rip %#x could not be delivered (%s on the way, cr2 %#x, rsp %#x, idt %#x)",
		vectorName(first.vector), c.R[rRIP], vectorName(inner.vector), c.cr2, c.R[rsp], c.idt.base)})
	c.Halted = true
}

// gate is an interrupt or trap gate (SDM vol. 3, figures 6-2 and 6-8). In 32-bit mode it has 8 bytes
// and no stack of its own.
type gate struct {
	offset   uint64
	selector uint16
	ist      uint8
	kind     uint8 // 14 interrupt, 15 trap
	dpl      uint8
}

const taskGate = 5

// readGate reads a gate of the IDT; false leaves an exception pending.
func (c *CPU) readGate(f fault) (gate, bool) {
	code := uint32(f.vector)<<3 | 2
	if !f.soft {
		code |= 1 // not the program's doing
	}
	size := 2 * uint32(c.word())
	if uint32(f.vector)*size+size-1 > uint32(c.idt.limit) {
		c.raiseCode(vecGP, code)
		return gate{}, false
	}
	at := c.idt.base + uint64(f.vector)*uint64(size)
	lo, ok := loadSystem[uint64](c, at)
	if !ok {
		return gate{}, false
	}
	var hi uint64
	if c.long {
		if hi, ok = loadSystem[uint64](c, at+8); !ok {
			return gate{}, false
		}
	}
	g := gate{
		offset: lo&0xffff | lo>>48<<16 | hi<<32, selector: uint16(lo >> 16),
		ist: uint8(lo>>32) & 7, kind: uint8(lo>>40) & 31, dpl: uint8(lo>>45) & 3,
	}
	if !c.long {
		g.ist = 0
	}
	switch {
	case !c.long && g.kind == taskGate:
		c.unmodelled(code, "task gate of vector %d", f.vector)
		return g, false
	case g.kind != 14 && g.kind != 15, f.soft && g.dpl < c.cpl:
		c.raiseCode(vecGP, code)
		return g, false
	case lo>>47&1 == 0:
		c.raiseCode(vecNP, code)
		return g, false
	}
	return g, true
}

// loadSystem reads a system structure with supervisor rights.
func loadSystem[T width](c *CPU, va uint64) (T, bool) {
	user := c.User
	if user {
		c.User = false
		c.ForgetData()
	}
	v, ok := load[T](c, va)
	if user {
		c.User = true
		c.ForgetData()
	}
	return v, ok
}

// enterHandler pushes the frame and goes to the handler; false leaves an exception pending.
func (c *CPU) enterHandler(f fault) bool {
	g, ok := c.readGate(f)
	if !ok {
		return false
	}
	cs, ok := c.readCode(g.selector)
	if !ok {
		return false
	}
	if dpl(cs.attr) > c.cpl {
		c.raiseCode(vecGP, uint32(g.selector&^3))
		return false
	}
	ss, sp, ok := c.handlerStack(g, dpl(cs.attr))
	if !ok {
		return false
	}
	cs.sel = g.selector&^3 | uint16(dpl(cs.attr))
	flags := c.flags()
	if !f.trap {
		flags |= flagRF
	}
	frame := [...]uint64{uint64(c.seg[segSS].sel), c.R[rsp], flags, uint64(c.seg[segCS].sel), c.R[rRIP], uint64(f.code)}
	first, n := 0, 5
	if f.hasError {
		n = 6
	}
	from := c.cpl
	c.setCPL(dpl(cs.attr))
	switch {
	case c.long:
		sp &^= 15
	case c.cpl == from:
		first = 2 // the stack is the same
	}
	for _, v := range frame[first:n] {
		sp = (sp - c.word()) & c.AddrMask
		if !c.storeWord(sp, v) {
			return false
		}
	}
	c.R[rsp] = sp
	if c.cpl != from {
		c.seg[segSS] = ss
	}
	c.seg[segCS] = cs
	c.R[rRIP] = g.offset
	c.setCtl(c.ctl &^ (flagTF | flagNT | flagRF | flagVM))
	if g.kind == 14 {
		c.ctl &^= flagIF
	}
	c.DrainAccesses()
	return true
}

// handlerStack picks the stack: by IST, by privilege change from the TSS, or the present one.
func (c *CPU) handlerStack(g gate, to uint8) (ss segment, sp uint64, ok bool) {
	at := c.tr.base + 4 + 8*uint64(to)
	switch {
	case g.ist != 0:
		at = c.tr.base + 0x24 + 8*uint64(g.ist-1)
	case to == c.cpl:
		return ss, c.R[rsp], true
	case !c.long:
		return c.innerStack(at, to)
	}
	sp, ok = loadSystem[uint64](c, at)
	return segment{sel: uint16(to)}, sp, ok
}

func int3(c *CPU, in *inst) {
	c.fault = fault{vector: vecBP, soft: true, trap: true, back: in.len}
	c.Stop |= engine.StopFault
}

func intN(c *CPU, in *inst) {
	c.fault = fault{vector: uint8(in.imm), soft: true, trap: true, back: in.len}
	c.Stop |= engine.StopFault
}

// stackWords reads words from the top of the stack upwards, beginning with that of index from.
func stackWords[T width](c *CPU, w []uint64, from int) bool {
	for i := range w {
		v, ok := load[T](c, (c.R[rsp]+uint64(from+i)*uint64(bitsOf(T(0))/8))&c.AddrMask)
		if !ok {
			c.onStack()
			return false
		}
		w[i] = uint64(v)
	}
	return true
}

// iret returns from an exception. In 64-bit mode all five words are popped; in 32-bit mode the stack
// pointer is there for a return to an outer level only.
func iret[T width](c *CPU, _ *inst) {
	c.nmiBlocked = false // even when it faults (SDM vol. 3, 6.7.1)
	if c.nmi {
		c.Check |= engine.CheckInterrupts
	}
	var w [5]uint64
	n := 3
	if c.long {
		n = 5
	}
	if !stackWords[T](c, w[:n], 0) {
		return
	}
	if !c.long && (c.ctl&flagNT != 0 || w[2]&flagVM != 0 && c.cpl == 0) {
		c.unmodelled(0, "return to another task or to virtual-8086 mode at %#x", c.R[rRIP])
		return
	}
	cs, ok := c.readCode(uint16(w[1]))
	if !ok {
		return
	}
	to := uint8(w[1] & 3)
	inner := !c.long && to == c.cpl
	if inner {
		w[3], w[4] = (c.R[rsp]+uint64(3*bitsOf(T(0))/8))&c.AddrMask, uint64(c.seg[segSS].sel)
	} else if n == 3 && to > c.cpl && !stackWords[T](c, w[3:], 3) {
		return
	}
	switch {
	case to < c.cpl || dpl(cs.attr) != to:
		c.raiseCode(vecGP, uint32(w[1]&0xfffc))
		return
	case !canonical(w[0]):
		c.raiseCode(vecGP, 0)
		return
	}
	ss := c.seg[segSS]
	if !inner {
		if ss, ok = c.returnStack(uint16(w[4]), to); !ok {
			return
		}
	}
	mask := uint64(arith | flagTF | flagDF | flagNT | flagRF | flagAC | flagID)
	if c.cpl == 0 {
		mask |= flagIF | flagIOPL | flagVIF | flagVIP
	} else if c.cpl <= uint8(c.ctl>>12&3) {
		mask |= flagIF
	}
	cs.sel = uint16(w[1])
	c.seg[segCS] = cs
	c.seg[segSS] = ss
	c.setCPL(to)
	c.R[rRIP], c.R[rsp] = w[0], w[3]
	c.setFlags(w[2], mask)
	if c.dreg[7]&dr7Armed == 0 {
		c.ctl &^= flagRF // nothing is held off
	}
	c.ReturnFromException()
	c.Counts.ContextSyncs++
}

// returnStack reads the stack segment of a return to level to; null is allowed but for user mode.
func (c *CPU) returnStack(sel uint16, to uint8) (segment, bool) {
	if sel&^3 == 0 && to < 3 && c.long {
		return segment{sel: sel}, true
	}
	if sel&^3 == 0 {
		c.raiseCode(vecGP, 0)
		return segment{}, false
	}
	d, ok := c.descriptor(sel)
	if !ok {
		return segment{}, false
	}
	s := unpack(sel, d)
	switch {
	case s.attr&0x1a != 0x12 || dpl(s.attr) != to || uint8(sel&3) != to:
		c.raiseCode(vecGP, uint32(sel&^3))
		return s, false
	case s.attr&attrPresent == 0:
		c.raiseCode(vecSS, uint32(sel&^3))
		return s, false
	case !c.long && (!s.flat() || !c.outward(to)):
		c.unmodelled(uint32(sel&^3), "return to level %d with segments that are not flat, or that it may not use", to)
		return s, false
	}
	return s, true
}
