package pseries

import (
	"encoding/binary"

	"kprobesim/cpus/ppc64"
	"kprobesim/sim"
)

// Functions of the hypervisor (LoPAR, Logical Partitioning Option, Hypervisor Call Functions).
const (
	callSetDABR     = 0x28 // from memory: the number, and that every value is taken
	callPutTermChar = 0x58
	callEOI         = 0x64
	callCPPR        = 0x68
	callIPI         = 0x6c
	callIPoll       = 0x70
	callXIRR        = 0x74
	callCede        = 0xe0
	// callRTAS has a number of the range that is the platform's own. In a partition the firmware's entry is an
	// address in memory, whose few instructions lead to the hypervisor in a way of their own.
	callRTAS = 0xf000
)

// Return codes.
const (
	success   = 0
	function  = ^uint64(2 - 1) // H_Function, -2: there is no such call
	privilege = ^uint64(3 - 1) // H_Privilege, -3: the caller is in problem state
	parameter = ^uint64(4 - 1) // H_Parameter, -4
)

// registers are r3 and those behind it. Element 0 has the function and receives the return code; arguments
// and further results are in the others.
type registers = [ppc64.HypercallRegisters]uint64

// calls has the functions by number. They return the code.
var calls = map[uint64]func(*processor, *registers) uint64{
	callPutTermChar: (*processor).putTermChar,
	callEOI:         (*processor).endOfInterrupt,
	callCPPR:        (*processor).setPriority,
	callIPI:         (*processor).interrupt,
	callIPoll:       (*processor).poll,
	callXIRR:        (*processor).acceptInterrupt,
	callCede:        func(*processor, *registers) uint64 { return success },
	callRTAS:        (*processor).rtas,
}

// Hypercall implements ppc64.Hypervisor.
func (c *processor) Hypercall(r *registers, problem bool) ppc64.Answer {
	f, known := calls[r[0]]
	switch {
	case problem:
		r[0] = privilege
		return ppc64.Answered
	case r[0] == callSetDABR:
		r[0] = success
		return ppc64.Watches
	case !known:
		r[0] = function
		return ppc64.Unknown
	case r[0] == callCede:
		r[0] = success
		return ppc64.Waits
	default:
		r[0] = f(c, r)
	}
	if c.p.m.Stopped(c.num) {
		return ppc64.Stopped
	}
	return ppc64.Answered
}

// acceptInterrupt is H_XIRR: r4 = XIRR.
func (c *processor) acceptInterrupt(r *registers) uint64 {
	r[1] = c.accept()
	return success
}

// endOfInterrupt is H_EOI, with XIRR in r4. What it lets through interrupts at once.
func (c *processor) endOfInterrupt(r *registers) uint64 {
	if !c.end(r[1] & 0xffffffff) {
		return parameter
	}
	c.raise()
	return success
}

// setPriority is H_CPPR, with the priority in the low byte of r4.
func (c *processor) setPriority(r *registers) uint64 {
	c.cppr = uint8(r[1])
	c.raise()
	return success
}

// poll is H_IPOLL of a server in r4: r4 = its XIRR, r5 = its MFRR, and nothing changes.
func (c *processor) poll(r *registers) uint64 {
	if r[1] >= uint64(len(c.p.cpus)) {
		return parameter
	}
	other := c.p.cpus[r[1]]
	r[1], r[2] = other.xirr(), uint64(other.mfrr)
	return success
}

// interrupt is H_IPI of the server in r4, with MFRR in the low byte of r5. The CPU's own register changes at
// once, that of another one when the message has come there.
func (c *processor) interrupt(r *registers) uint64 {
	if r[1] >= uint64(len(c.p.cpus)) {
		return parameter
	}
	to, mfrr := c.p.cpus[r[1]], uint8(r[2])
	if mfrr != none {
		c.p.m.Note(sim.Event{CPU: c.num, Kind: sim.EventIPISend, Name: "ipi", ID: source, Arg: uint64(to.num)})
	}
	if to == c {
		to.request(c.num, mfrr)
	} else {
		c.p.m.Send(c.num, func() { to.request(c.num, mfrr) })
	}
	return success
}

// request sets MFRR on behalf of a CPU. One that is stopped has no interrupts.
func (c *processor) request(from int, mfrr uint8) {
	if c.p.m.Stopped(c.num) {
		return
	}
	c.mfrr = mfrr
	if mfrr != none {
		c.p.m.Note(sim.Event{CPU: c.num, Kind: sim.EventIPI, Name: "ipi", ID: source, Arg: uint64(from)})
	}
	c.raise()
}

// raise tells the CPU when its line is up.
func (c *processor) raise() {
	if c.Pending() {
		c.p.m.Interrupt(c.num)
	}
}

// putTermChar is H_PUT_TERM_CHAR: r4 is the terminal, of which there is one, r5 the number of characters, r6
// and r7 have them from the most significant byte on.
func (c *processor) putTermChar(r *registers) uint64 {
	const most = 16
	if r[1] != 0 || r[2] > most {
		return parameter
	}
	text := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r[3]), r[4])
	c.p.m.Print(string(text[:r[2]]))
	return success
}
