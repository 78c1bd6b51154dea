package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Poll implements engine.Exceptions: it takes a non-maskable interrupt, or another if the CPU
// accepts one. After sti and mov ss both wait for one instruction.
func (c *CPU) Poll() {
	if c.Single&oneShadow != 0 {
		return
	}
	c.Check = 0
	if c.nmi && !c.nmiBlocked {
		c.nmi, c.nmiBlocked, c.Halted = false, true, false
		c.Check = engine.CheckInterrupts
		c.deliver(fault{vector: vecNM, trap: true}, cpus.Interrupted)
		return
	}
	ic := c.Bus.Interrupts
	if ic == nil || !ic.Pending() {
		return
	}
	if c.ctl&flagIF == 0 {
		return // sti, popf and iret set Check again
	}
	c.Halted = false
	c.deliver(fault{vector: uint8(ic.Acknowledge()), trap: true}, cpus.Interrupted)
}

// Faulted implements engine.Exceptions. A fault points at its instruction, which is undone, a trap
// behind it (SDM vol. 3, 6.5). An address that is not canonical is #SS instead of #GP where rsp or
// rbp is its base and no prefix chose another segment.
func (c *CPU) Faulted(in *inst) bool {
	if c.fault.trap {
		return false
	}
	c.watchHit, c.Stop = 0, c.Stop&^engine.StopTrap // it will hit again
	if in.seg == segFlat && (in.base == rsp || in.base == rbp) {
		c.onStack()
	}
	return true
}

// BeginStep implements engine.Stepper. TF is looked at before the instruction: one that sets it is
// not trapped behind, one that clears it is (SDM vol. 3, 17.3.1.4).
func (c *CPU) BeginStep() bool {
	if c.breakOnFetch() || c.Single&oneNull != 0 && c.nullAccess() {
		return false
	}
	c.stepTrap, c.stepShadow, c.stepResume = c.ctl&flagTF != 0, c.Single&oneShadow != 0, c.ctl&flagRF != 0
	c.Single &^= oneShadow
	return true
}

// EndsRun implements engine.Stepper: an instruction that is to be trapped behind, or that
// interrupts are held off for, is a run of its own.
func (c *CPU) EndsRun() bool { return c.Single&(oneTrap|oneShadow) != 0 }

// EndStep implements engine.Stepper. RF holds for one instruction that completes (SDM vol. 3, 17.3.1.1). When the
// shadow of sti or mov ss ends, interrupts that it held
// off are looked for.
func (c *CPU) EndStep(completed bool) bool {
	trap, shadow, resume := c.stepTrap, c.stepShadow, c.stepResume
	c.stepTrap, c.stepShadow, c.stepResume = false, false, false
	if completed {
		if resume {
			c.setCtl(c.ctl &^ flagRF)
		}
		if trap && !c.canonical(c.R[rRIP]) {
			c.branchFault()
			return true
		}
		c.trapAfter(trap)
	}
	if shadow {
		c.Check |= engine.CheckState
	}
	return trap || shadow
}

// branchFault is the #GP of a branch to an address that is not canonical, in place of the trap behind it.
func (c *CPU) branchFault() {
	c.undoBranch()
	c.raiseCode(vecGP, 0)
	c.Deliver()
}

// trapAfter delivers the traps that follow a completed instruction: single step and data
// breakpoints, which are one #DB with several bits in DR6 (SDM vol. 3, 17.2.3 and 17.3.1.2). Instruction breakpoints at
// the next instruction are told with data breakpoints, as processors do (TestDebugRegistersAgainstHost). Behind
// mov ss they are lost for a single step, while hits of breakpoints stay noted until the next
// instruction is done (6.8.3).
func (c *CPU) trapAfter(trap bool) {
	if c.holdTraps {
		c.holdTraps = false
		return
	}
	hit := c.watchHit
	c.watchHit = 0
	if !trap && hit == 0 {
		return
	}
	if hit != 0 {
		hit |= c.breaksHere()
	}
	if trap {
		hit |= dr6BS
	}
	c.dreg[6] = c.dreg[6]&^uint64(0xf) | hit | dr6Ones
	c.fault = fault{vector: vecDB, trap: true}
	c.Stop |= engine.StopFault
	c.Deliver()
}

// Masked implements engine.Stepper: IF masks what the interrupt controller sends, not NMIs.
func (c *CPU) Masked() bool { return c.ctl&flagIF == 0 }

// nullAccess raises #GP, and delivers it, when the next instruction accesses memory through a null DS
// or ES (SDM vol. 3, 3.4.2). RIP is its address.
func (c *CPU) nullAccess() bool {
	pa, ok := c.Translate(c.R[rRIP])
	if !ok {
		return false
	}
	code := c.Memory.Bytes(pa, min(maxInsn, int(0x1000-pa&0xfff)))
	x, known := disassemble(code, c.mode())
	switch {
	case known && c.usesRealMode(&x):
		c.unmodelled(0, "an access by 32-bit code through a segment of real mode at %#x", c.R[rRIP])
	case known && c.usesNull(&x):
		c.raiseCode(vecGP, 0)
	default:
		return false
	}
	c.Deliver()
	return true
}

// usesRealMode reports an operand in memory, or an access to the stack, whose segment was loaded in real mode.
func (c *CPU) usesRealMode(x *x86asm.Inst) bool {
	r := rows[x.Op]
	if r.flags&(engine.Pushes|engine.Pops) != 0 && c.seg[segSS].realMode() {
		return true
	}
	return c.seg[segDS].realMode() && c.accesses(x, segDS) || c.seg[segES].realMode() && c.accesses(x, segES) ||
		c.seg[segSS].realMode() && c.accesses(x, segSS)
}

// usesNull reports an operand in memory whose segment is null. Strings are written through ES.
func (c *CPU) usesNull(x *x86asm.Inst) bool {
	return c.seg[segDS].attr&attrPresent == 0 && c.accesses(x, segDS) || c.seg[segES].attr&attrPresent == 0 && c.accesses(x, segES)
}

// accesses reports an operand in memory that is in one of ES, SS and DS.
func (c *CPU) accesses(x *x86asm.Inst, want uint8) bool {
	if r := rows[x.Op]; r.class == clLea || r.class == clNop {
		return false
	}
	for _, a := range x.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		seg := segmentOf(m.Segment)
		if seg == segFlat {
			seg = segDS
			if m.Base == x86asm.ESP || m.Base == x86asm.EBP {
				seg = segSS
			}
		}
		if seg == want {
			return true
		}
	}
	return false
}
