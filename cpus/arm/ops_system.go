package arm

import "kprobesim/cpus/engine"

// Instructions on the state of the processor (ARM ARM, B9).

// waitForInterrupt stops unless an interrupt is pending, masked or not.
func waitForInterrupt(c *CPU, _ *inst) {
	c.Halted = true
	c.Stop |= engine.StopBlock
	c.Check |= engine.CheckInterrupts
}

// The option of a barrier (ARM ARM, A8.8.43): for whom it is, and whether for stores alone. One that is for this CPU alone does nothing
// for others.
const (
	barrierDomain = 0b1100
	barrierAlone  = 0b0100
	barrierKinds  = 0b0011
	barrierStores = 0b0010
)

func dmb(c *CPU, in *inst) {
	switch {
	case in.aux&barrierDomain == barrierAlone:
	case in.aux&barrierKinds == barrierStores:
		c.OrderStores()
	default:
		c.OrderAll()
	}
}

// dsb: no instruction behind it is executed before stores are seen.
func dsb(c *CPU, in *inst) {
	if in.aux&barrierDomain != barrierAlone {
		c.OrderAll()
	}
}

// isb: what follows is fetched anew.
func isb(c *CPU, _ *inst) {
	c.sync()
	c.Stop |= engine.StopBlock
}

func mrs(c *CPU, in *inst) {
	v := c.cpsr()
	if c.User { // the rest of CPSR is not for user mode to see
		v &= psrNZCV | psrQ | psrGE
		v |= modeUser
	}
	c.set(in, v)
}

func mrsSPSR(c *CPU, in *inst) {
	s := c.spsr()
	if s == nil {
		c.raise(vecUndefined)
		return
	}
	c.set(in, *s)
}

// stateBytes spreads a mask of four bits to bytes.
func stateBytes(fields uint8) uint32 {
	var mask uint32
	for i := range 4 {
		if fields>>i&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return mask
}

// msr writes CPSR (ARM ARM, B1.3.3, CPSRWriteByInstr): in user mode the flags alone, and never the state of
// execution.
func msr(c *CPU, in *inst) {
	mask := stateBytes(in.aux) & (psrNZCV | psrQ | psrGE | psrA | psrI | psrF | psrMode)
	if c.User {
		mask &= psrNZCV | psrQ | psrGE
	}
	c.setCPSR(c.m(in), mask)
	if in.aux&fieldControl != 0 {
		c.Stop |= engine.StopBlock
	}
}

func msrSPSR(c *CPU, in *inst) {
	s := c.spsr()
	if s == nil {
		c.raise(vecUndefined)
		return
	}
	mask := stateBytes(in.aux)
	*s = *s&^mask | c.m(in)&mask
}

// Bits of aux of cps: a mode is given, masks are to be set.
const (
	cpsMode    = 1 << 0
	cpsDisable = 1 << 1
	cpsMasks   = 1 << 2
)

// changeState is cps, which does nothing in user mode.
func changeState(c *CPU, in *inst) {
	if c.User {
		return
	}
	v, mask := uint32(in.sh), uint32(0)
	if in.aux&cpsMode != 0 {
		mask = psrMode
	}
	if in.aux&cpsMasks != 0 {
		mask |= in.imm
	}
	if in.aux&cpsDisable != 0 {
		v |= in.imm
	}
	c.setCPSR(v, mask)
	c.Stop |= engine.StopBlock
}

// storeReturnState is srs: the link register and SPSR of this mode go to the stack of another.
func storeReturnState(c *CPU, in *inst) {
	s := c.spsr()
	if s == nil {
		c.raise(vecUndefined)
		return
	}
	sp := c.stackOf(uint32(in.aux))
	at := (*sp + words(in.sh)) & c.AddrMask
	if !c.aligned(at, 4, true) || !c.StoreWords(at, []uint32{uint32(c.R[rLR]), *s}) {
		return
	}
	*sp = (*sp + words(in.dst)) & c.AddrMask
}

// stackOf is the stack pointer of a mode.
func (c *CPU) stackOf(mode uint32) *uint64 {
	to, _ := bankOf(mode)
	if now, _ := bankOf(c.control & psrMode); to == now {
		return &c.R[rSP]
	}
	return &c.banks[to].sp
}

// returnFromException is rfe: the program counter and CPSR come from memory.
func returnFromException(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	base := c.R[in.a&63]
	at := (base + words(in.sh)) & c.AddrMask
	if !c.aligned(at, 4, false) {
		return
	}
	var v [2]uint32
	if !c.LoadWords(at, v[:]) {
		return
	}
	if in.aux&multiWriteback != 0 {
		c.R[in.a&63] = (base + words(in.dst)) & c.AddrMask
	}
	c.exceptionReturn(uint64(v[0]), v[1])
}
