package x86

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Exception vectors (SDM vol. 3, table 6-1). Those that nothing here raises are missing but for
// #AC, which has a name in traces.
const (
	vecDE = 0
	vecDB = 1
	vecNM = 2 // non-maskable interrupt
	vecBP = 3
	vecOF = 4
	vecBR = 5
	vecUD = 6
	// vecNMx87 is the manual's #NM; vecNM is taken for the non-maskable interrupt.
	vecNMx87 = 7
	vecDF    = 8
	vecTS    = 10
	vecNP    = 11
	vecSS    = 12
	vecGP    = 13
	vecPF    = 14
	vecMF    = 16 // of x87
	vecAC    = 17
	vecXF    = 19 // of SSE
)

var vectorNames = [32]string{
	vecDE: "#DE", vecDB: "#DB", vecNM: "NMI", vecBP: "#BP", vecOF: "#OF", vecBR: "#BR", vecUD: "#UD", vecNMx87: "#NM",
	vecDF: "#DF", vecTS: "#TS", vecNP: "#NP", vecSS: "#SS", vecGP: "#GP", vecPF: "#PF", vecMF: "#MF", vecAC: "#AC", vecXF: "#XF",
}

// exceptionNames names every vector.
func exceptionNames() []string {
	names := make([]string, cpus.MaxExceptions)
	for v := range names {
		names[v] = vectorName(uint8(v))
	}
	return names
}

// vectorName names a vector as the manual does; vectors of devices have numbers.
func vectorName(v uint8) string {
	if int(v) < len(vectorNames) && vectorNames[v] != "" {
		return vectorNames[v]
	}
	return fmt.Sprintf("interrupt %d", v)
}

// raise makes an exception pending; the instruction ends without effect. The engine looks at Stop
// behind every instruction, so a function need only return.
func (c *CPU) raise(vector uint8) {
	c.fault = fault{vector: vector}
	c.Stop |= engine.StopFault
}

// raiseCode is raise with an error code.
func (c *CPU) raiseCode(vector uint8, code uint32) {
	c.fault = fault{vector: vector, hasError: true, code: code}
	c.Stop |= engine.StopFault
}

// execUndefined raises #UD. It counts instructions that the architecture has and this model lacks. Bytes of which the
// decoder knows no instruction are the guest's fault, as far as one can tell, and are only listed.
func execUndefined(c *CPU, in *inst) {
	at := c.R[rRIP] - uint64(in.len)
	if pa, ok := c.Translate(at); ok {
		code := c.Memory.Bytes(pa, min(maxInsn, int(0x1000-pa&0xfff)))
		name := fmt.Sprintf("instruction % x", code[:min(4, len(code))])
		if x, known := disassemble(code, c.mode()); known {
			c.Counts.Unmodelled++
			c.Counts.LastUnknown = fmt.Sprintf("%s at %#x", x.String(), at)
			name = x.Op.String()
		}
		c.refuse(name, at)
	}
	c.raise(vecUD)
}

// ud2 raises #UD on purpose: kernels mark the places with it that must not be reached. It is not
// counted.
func ud2(c *CPU, _ *inst) { c.raise(vecUD) }

// Deliver implements engine.Exceptions: it delivers the exception in c.fault. The time of handlers
// is booked on the kind: breakpoints and single steps apart, since probes are made of these.
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

// deliver enters the handler of an exception or interrupt. An exception on the way to it is
// delivered instead, or as a double fault; one on the way to that is a shutdown (SDM vol. 3, table
// 6-5).
func (c *CPU) deliver(f fault, kind uint8) {
	if c.short16 {
		c.refuseDelivery(f)
		return
	}
	c.DrainStores() // SDM vol. 3, 11.10: an exception or interrupt does that
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
		// inner is the exception on the way. It finds the CPU as it was before the delivery.
		inner := c.fault
		c.fault, c.Stop = fault{}, c.Stop&^(engine.StopFault|engine.StopCode)
		c.restoreAfter(&old)
		c.LeaveException()
		if f.vector == vecDF {
			c.shutdown(first, inner)
			return
		}
		if !f.soft && inner.vector >= vecTS && inner.vector <= vecGP {
			inner.code |= codeExternal
		}
		if doubles(f, inner.vector) {
			inner = fault{vector: vecDF, hasError: true}
		}
		c.R[rRIP] -= uint64(f.back)
		f = inner
	}
}

// codeExternal is EXT of an error code: the exception came on the way to the handler of one that the program did not ask for, or of an
// interrupt (SDM vol. 3, 6.13). Codes of page faults have no such bit.
const codeExternal = 1 << 0

// doubles reports whether an exception on the way to the handler of f makes a double fault: two
// contributory ones, or any of them after a page fault. Others are handled one after the other;
// what they do is a fault of its own, so a chain of them ends.
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

// deliverySave holds what a failed delivery puts back: the exception that is delivered instead
// shows the state from before.
type deliverySave struct {
	rsp, rip, ctl uint64
	seg           [6]segment
	cpl           uint8
}

func (c *CPU) saveForDelivery() deliverySave {
	return deliverySave{c.R[rsp], c.R[rRIP], c.ctl, c.seg, c.cpl}
}

func (c *CPU) restoreAfter(s *deliverySave) {
	c.setCS(s.seg[segCS])
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

// shutdown stops the CPU and says why. Hardware would wait for a reset or an NMI (SDM vol. 3, 6.15,
// "Double Fault"); a simulated guest that has come here is of no more use.
func (c *CPU) shutdown(first, inner fault) {
	c.Exit(cpus.Exit{Reason: cpus.Shutdown, Detail: fmt.Sprintf(
		"triple fault: %s at rip %#x could not be delivered (%s on the way, cr2 %#x, rsp %#x, idt %#x)",
		vectorName(first.vector), c.R[rRIP], vectorName(inner.vector), c.cr2, c.R[rsp], c.idt.base)})
	c.Halted = true
}

// softInterrupt makes the exception of int n, int3 or into pending. It is a trap, but one on the
// way to the handler is a fault of the instruction (SDM vol. 3, 6.4.2 and 6.15), so its length is
// kept.
func (c *CPU) softInterrupt(vector uint8, in *inst) {
	c.fault = fault{vector: vector, soft: true, trap: true, back: in.len}
	c.Stop |= engine.StopFault
}

// int1 is a trap of hardware: no gate's DPL is looked at, and DR6 says nothing.
func int1(c *CPU, in *inst) {
	c.fault = fault{vector: vecDB, trap: true, back: in.len}
	c.Stop |= engine.StopFault
}

func int3(c *CPU, in *inst) { c.softInterrupt(vecBP, in) }
func intN(c *CPU, in *inst) { c.softInterrupt(uint8(in.imm), in) }
