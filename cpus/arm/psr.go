package arm

import "kprobesim/cpus/engine"

// Bits of CPSR and SPSR (ARM ARM, B1.3.3).
const (
	psrN    = 1 << 31
	psrZ    = 1 << 30
	psrC    = 1 << 29
	psrV    = 1 << 28
	psrQ    = 1 << 27
	psrGE   = 0xf << 16
	psrE    = 1 << 9
	psrA    = 1 << 8
	psrI    = 1 << 7
	psrF    = 1 << 6
	psrT    = 1 << 5
	psrMode = 0x1f
	psrNZCV = psrN | psrZ | psrC | psrV

	// psrControl are the bits that CPU.control keeps. The state of big-endian data does not exist here.
	psrControl = psrA | psrI | psrF | psrT | psrMode
)

// Modes (ARM ARM, B1.3.1).
const (
	modeUser       = 0x10
	modeFIQ        = 0x11
	modeIRQ        = 0x12
	modeSupervisor = 0x13
	modeAbort      = 0x17
	modeUndefined  = 0x1b
	modeSystem     = 0x1f
)

// Banks of registers.
const (
	bankUser = iota // of system mode too
	bankFIQ
	bankIRQ
	bankSupervisor
	bankAbort
	bankUndefined
	banks
)

// bankOf returns the bank of a mode; false when there is no such mode here.
func bankOf(mode uint32) (int, bool) {
	switch mode {
	case modeUser, modeSystem:
		return bankUser, true
	case modeFIQ:
		return bankFIQ, true
	case modeIRQ:
		return bankIRQ, true
	case modeSupervisor:
		return bankSupervisor, true
	case modeAbort:
		return bankAbort, true
	case modeUndefined:
		return bankUndefined, true
	}
	return 0, false
}

// bank holds the registers of a mode that is not the present one.
type bank struct {
	sp, lr uint64
	spsr   uint32 // of the present mode too; that of user mode is never read
}

// firstFIQ is the first of the five registers below the stack pointer that FIQ mode has for itself.
const firstFIQ = 8

// cpsr is CPSR as a word.
func (c *CPU) cpsr() uint32 { return c.control | c.nzcv() | c.sticky | c.ge<<16 }

// setCPSR changes the bits of mask, and what follows from them: the registers in sight, whose rights count,
// whether interrupts are taken, and whether the words of memory are instructions at all.
func (c *CPU) setCPSR(v, mask uint32) {
	v = c.cpsr()&^mask | v&mask
	c.setNZCV(v)
	c.sticky, c.ge = v&psrQ, v>>16&0xf
	c.setControl(v)
}

func (c *CPU) setControl(v uint32) {
	old := c.control
	c.switchMode(v & psrMode)
	c.control = v&psrControl&^psrMode | c.control&psrMode
	c.User = c.control&psrMode == modeUser
	c.setSingle()
	if (old&psrMode == modeUser) != c.User {
		c.ForgetTranslations()
	}
	if (old^c.control)&(psrI|psrF) != 0 {
		c.Check |= engine.CheckState
	}
}

// switchMode changes the banked registers. A mode that does not exist is not entered.
func (c *CPU) switchMode(mode uint32) {
	to, ok := bankOf(mode)
	if !ok {
		return
	}
	from, _ := bankOf(c.control & psrMode)
	c.control = c.control&^psrMode | mode
	if from == to {
		return
	}
	c.banks[from].sp, c.banks[from].lr = c.R[rSP], c.R[rLR]
	c.R[rSP], c.R[rLR] = c.banks[to].sp, c.banks[to].lr
	if (from == bankFIQ) != (to == bankFIQ) {
		for i := range c.fiq {
			c.fiq[i], c.R[firstFIQ+i] = c.R[firstFIQ+i], c.fiq[i]
		}
	}
}

// userRegister is where a register of user mode is kept now, for ldm and stm with user registers.
func (c *CPU) userRegister(r int) *uint64 {
	now, _ := bankOf(c.control & psrMode)
	switch {
	case now == bankFIQ && r >= firstFIQ && r < rSP:
		return &c.fiq[r-firstFIQ]
	case now == bankUser || r < rSP:
		return &c.R[r]
	case r == rSP:
		return &c.banks[bankUser].sp
	}
	return &c.banks[bankUser].lr
}

// spsr is SPSR of the present mode; nil in user and system mode, which have none.
func (c *CPU) spsr() *uint32 {
	b, _ := bankOf(c.control & psrMode)
	if b == bankUser {
		return nil
	}
	return &c.banks[b].spsr
}
