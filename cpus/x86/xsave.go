package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// XSAVE (SDM vol. 1, chapter 13) with the state that fxsave knows, x87 and SSE. There is no state of AVX, and none of the supervisor:
// xsaves and xrstors do not exist.

// Parts of the state: the components by their bits (13.1), and MXCSR, which belongs to SSE and is treated apart.
const (
	partX87   = 1 << 0
	partSSE   = 1 << 1
	partMXCSR = 1 << 62
	partsAll  = partX87 | partSSE | partMXCSR
)

// partOf is the part that a word of fxsave's image belongs to (13.4.1).
func partOf(word int) uint64 {
	switch {
	case word == 3:
		return partMXCSR
	case word < 20:
		return partX87
	}
	return partSSE
}

// The area has the image of fxsave and a header of 64 bytes (13.4). What else it has belongs to components that are not there.
const (
	legacySize = 512
	areaSize   = legacySize + 64
	compacted  = 1 << 63 // of the header's second word
)

// Forms that a processor may have beside xsave and xrstor (13.2): xsaveopt, xsavec with the compacted form of xrstor, and xgetbv of the
// components in use.
const (
	formOptimized = 1 << iota
	formCompacted
	formInUse
)

// hasForm reports a form, none of which there is while CR4 does not turn XSAVE on.
func (c *CPU) hasForm(form uint32) bool {
	return c.cr4&cr4OSXSAVE != 0 && c.answers.leaves[leafXSAVEForms][0]&form == form
}

// partsInUse is XINUSE (13.6). A processor may hold a component to be in use that is as after a reset; this one looks.
func (c *CPU) partsInUse() (parts uint64) {
	for i, v := range c.stateWords() {
		if i == 0 {
			v ^= fcwReset
		}
		if v != 0 {
			parts |= partOf(i)
		}
	}
	return parts &^ partMXCSR
}

// xgetbv reads XCR0, or which of its components are in use.
func xgetbv(c *CPU, _ *inst) {
	switch n := uint32(c.R[rcx]); {
	case !c.hasForm(0):
		c.raise(vecUD)
	case n == 0:
		c.putPair(c.xcr0)
	case n == 1 && c.hasForm(formInUse):
		c.putPair(c.xcr0 & c.partsInUse())
	default:
		c.raiseCode(vecGP, 0)
	}
}

// xsetbv writes XCR0, which always has x87 (13.3).
func xsetbv(c *CPU, _ *inst) {
	switch v := c.pair(); {
	case !c.hasForm(0):
		c.raise(vecUD)
	case !c.privileged():
	case uint32(c.R[rcx]) != 0, v&^(partX87|partSSE) != 0, v&partX87 == 0:
		c.raiseCode(vecGP, 0)
	default:
		c.xcr0 = v
	}
}

// pair is edx:eax.
func (c *CPU) pair() uint64 { return c.R[rdx]<<32 | c.R[rax]&0xffffffff }

// saveParts is a form of xsave. The modified optimization of xsaveopt, which a processor may have (13.9), is not modelled. The
// header's page is looked at before a byte changes; the area has one more at most, where the first store goes.
func saveParts(form uint32) func(c *CPU, at, asked uint64) {
	return func(c *CPU, at, asked uint64) {
		header := (at + legacySize) & c.AddrMask
		old, ok := rmw[uint64](c, header)
		if !ok {
			return
		}
		used := asked & c.partsInUse()
		parts, bitmap, mxcsr := asked, old&^asked|used, asked // 13.7
		switch form {
		case formOptimized: // 13.9
			parts = used
		case formCompacted: // 13.10
			if c.fpu.mxcsr != mxcsrReset {
				used |= asked & partSSE
			}
			parts, bitmap, mxcsr = used, used, used
		}
		if mxcsr&partSSE != 0 {
			parts |= partMXCSR
		}
		if c.storeState(at, parts) && store(c, header, bitmap) && form == formCompacted {
			store(c, header+8, compacted|asked)
		}
	}
}

// xrstor loads what the header says that the area has, and resets the other components that are asked for (13.8). The standard form
// loads MXCSR whatever the header says of SSE.
func xrstor(c *CPU, at, asked uint64) {
	var header [8]uint64
	for i := range header {
		v, ok := load[uint64](c, (at+legacySize+8*uint64(i))&c.AddrMask)
		if !ok {
			return
		}
		header[i] = v
	}
	compact := header[1]&compacted != 0 && c.hasForm(formCompacted)
	if !c.headerFits(&header, compact) {
		c.raiseCode(vecGP, 0)
		return
	}
	parts, reset, mxcsr := asked&header[0], asked&^header[0], asked
	if compact {
		mxcsr = parts
	}
	if mxcsr&partSSE != 0 {
		parts |= partMXCSR
	}
	if !c.loadState(at, parts) {
		return
	}
	if reset&partX87 != 0 {
		c.fpu.reset()
		c.fpu.st = [8]vec{}
	}
	if reset&partSSE != 0 {
		clear(c.fpu.xmm[:c.xmmCount()])
		if compact {
			c.fpu.mxcsr = mxcsrReset
		}
	}
}

// headerFits holds a header against what xrstor takes (13.8.1, 13.8.2).
func (c *CPU) headerFits(h *[8]uint64, compact bool) bool {
	if !compact {
		return h[0]&^c.xcr0 == 0 && h[1] == 0 && h[2] == 0
	}
	has := h[1] &^ compacted
	return has&^c.xcr0 == 0 && h[0]&^has == 0 && [6]uint64(h[2:]) == [6]uint64{}
}

// onArea makes the row of an instruction on an area. CR0.EM means nothing to it (SDM vol. 2, XSAVE).
func onArea(class uint8, flags uint16, form uint32, f func(c *CPU, at, asked uint64)) row {
	ready := func(c *CPU) bool { return c.readyUnless(!c.hasForm(form)) }
	run := func(c *CPU, in *inst) {
		if at, ok := c.stateImage(in, 64); ok {
			f(c, at, c.pair()&c.xcr0)
		}
	}
	return row{bind: bindImage, class: class, io: ioReadA | ioReadD, flags: flags | engine.Ends, reg: byWidth{run}, ready: ready}
}

// saving is the row of a form of xsave.
func saving(form uint32) row {
	return onArea(clXsave, engine.Loads|engine.Stores, form, saveParts(form))
}

// extendedState lists the rows of SDM vol. 1, 5.14, but for xsaves and xrstors.
var extendedState = map[x86asm.Op]row{
	x86asm.XGETBV: ending(xgetbv, clXgetbv, ioSetA|ioSetD|ioReadC),
	x86asm.XSETBV: ending(xsetbv, clXsetbv, 0),

	x86asm.XSAVE: saving(0), x86asm.XSAVE64: saving(0),
	x86asm.XSAVEOPT: saving(formOptimized), x86asm.XSAVEOPT64: saving(formOptimized),
	x86asm.XSAVEC: saving(formCompacted), x86asm.XSAVEC64: saving(formCompacted),
	x86asm.XRSTOR: onArea(clXrstor, engine.Loads, 0, xrstor), x86asm.XRSTOR64: onArea(clXrstor, engine.Loads, 0, xrstor),
}
