package x86

// gate is an interrupt or trap gate of the IDT (SDM vol. 3, figures 6-2 and 6-8).
type gate struct {
	offset   uint64
	selector uint16
	ist      uint8 // number of a stack in the TSS, or 0; always 0 in 32-bit mode
	kind     uint8
	dpl      uint8 // int n, int3 and into need at least this level
}

// Kinds of gates, by the type field (SDM vol. 3, table 3-2). An interrupt gate clears IF, a
// trap gate keeps it.
const (
	taskGate      = 5
	interruptGate = 14
	trapGate      = 15
)

// frameWord is the bytes of a word in the frames of exceptions; a gate has two words.
func (c *CPU) frameWord() uint64 {
	if c.lma() {
		return 8
	}
	return 4
}

// enterHandler goes through the gate of f's vector to its handler (SDM vol. 2, INT n, "Operation";
// vol. 3, 6.12.1, and 6.14 for 64-bit mode). It reads the gate, checks the handler's code segment,
// finds its stack, pushes the frame and commits. False leaves the exception pending that a step
// met; deliver puts back what the steps before it have changed.
func (c *CPU) enterHandler(f fault) bool {
	g, ok := c.readGate(f)
	if !ok {
		return false
	}
	cs, ok := c.handlerCode(g.selector)
	if !ok {
		return false
	}
	level := dpl(cs.attr)
	ss, sp, ok := c.handlerStack(g, level)
	if !ok {
		return false
	}
	inward := level != c.cpl
	frame := c.frameOf(f)
	c.setCPL(level) // the frame is written with the handler's rights
	c.setCS(cs)     // and in its mode
	if sp, ok = c.pushFrame(f, frame, sp, inward); !ok {
		return false
	}
	if inward {
		c.seg[segSS] = ss
	}
	c.R[rRIP], c.R[rsp] = g.offset, sp
	c.setCtl(c.ctl &^ (flagTF | flagNT | flagRF | flagVM))
	if g.kind == interruptGate {
		c.ctl &^= flagIF
	}
	c.DrainAccesses()
	return true
}

// readGate reads and checks a gate of the IDT; false leaves an exception pending.
func (c *CPU) readGate(f fault) (gate, bool) {
	code := gateError(f)
	size := 2 * uint32(c.frameWord())
	first := uint32(f.vector) * size
	if first+size-1 > uint32(c.idt.limit) {
		c.raiseCode(vecGP, code)
		return gate{}, false
	}
	lo, hi, ok := c.gateWords(c.idt.base + uint64(first))
	if !ok {
		return gate{}, false
	}
	g := unpackGate(lo, hi)
	if !c.lma() {
		g.ist = 0
	}
	switch {
	case !c.lma() && g.kind == taskGate:
		c.unmodelled(code, "task gate of vector %d", f.vector)
	case g.kind != interruptGate && g.kind != trapGate, f.soft && g.dpl < c.cpl:
		c.raiseCode(vecGP, code)
	case lo>>47&1 == 0: // P
		c.raiseCode(vecNP, code)
	default:
		return g, true
	}
	return gate{}, false
}

// gateError is the error code of an exception that a gate causes (SDM vol. 3, 6.13): the vector and IDT. Deliver adds EXT.
func gateError(f fault) uint32 {
	const idt = 1 << 1
	return uint32(f.vector)<<3 | idt
}

// gateWords reads the 8 bytes of a gate, and in 64-bit mode the other 8, which begin with the upper
// half of the offset.
func (c *CPU) gateWords(at uint64) (lo, hi uint64, ok bool) {
	if lo, ok = loadSystem[uint64](c, at); !ok || !c.lma() {
		return lo, 0, ok
	}
	hi, ok = loadSystem[uint64](c, at+8)
	return lo, hi, ok
}

func unpackGate(lo, hi uint64) gate {
	return gate{
		offset: lo&0xffff | lo>>48<<16 | hi<<32, selector: uint16(lo >> 16),
		ist: uint8(lo>>32) & 7, kind: uint8(lo>>40) & 31, dpl: uint8(lo>>45) & 3,
	}
}

// handlerCode reads the code segment of a handler, which may not be of an outer level and in long mode
// must be one of 64-bit mode (SDM vol. 3, 6.14.1). A conforming segment keeps the present level; the
// level of another becomes the new one.
func (c *CPU) handlerCode(sel uint16) (segment, bool) {
	cs, ok := c.readCode(sel)
	if !ok {
		return cs, false
	}
	if dpl(cs.attr) > c.cpl || c.lma() && cs.attr&(attrLong|attrBig) != attrLong {
		c.raiseCode(vecGP, uint32(sel&^3))
		return cs, false
	}
	level := dpl(cs.attr)
	if cs.conforming() {
		level = c.cpl
	}
	cs.sel = sel&^3 | uint16(level)
	return cs, c.finishCode(&cs)
}

// handlerStack picks the stack of a handler of level to. A gate of 64-bit mode may name one of
// seven in the TSS (SDM vol. 3, 6.14.5); otherwise an inner level has its own there (figures 7-2
// and 7-11 have it at the same place), and the same level goes on with the present one. 64-bit mode
// loads SS with a null selector of the new level (6.14.4), 32-bit mode with the one in the TSS.
func (c *CPU) handlerStack(g gate, to uint8) (ss segment, sp uint64, ok bool) {
	at := c.tr.base + 4 + 8*uint64(to)
	switch {
	case g.ist != 0:
		at = c.tr.base + 0x24 + 8*uint64(g.ist-1)
	case to == c.cpl:
		return ss, c.R[rsp], true
	case !c.lma():
		return c.innerStack(at, to)
	}
	sp, ok = loadSystem[uint64](c, at)
	return segment{sel: uint16(to)}, sp, ok
}

// frameOf are the words of the frame of f, the outermost first. RF is set for faults, so that an
// instruction breakpoint does not stop the instruction again when it is restarted, and clear for a soft interrupt, whose
// instruction is done (SDM vol. 3, 6.8.2 and 17.3.1.1).
func (c *CPU) frameOf(f fault) [6]uint64 {
	flags := c.flags()
	if !f.trap {
		flags |= flagRF
	} else if f.back != 0 {
		flags &^= flagRF
	}
	return [...]uint64{
		uint64(c.seg[segSS].sel), c.R[rsp], flags, uint64(c.seg[segCS].sel), c.R[rRIP], uint64(f.code),
	}
}

// pushFrame writes the frame of f below sp and returns the stack pointer behind it. Long mode aligns
// the frame and always has the old stack in it (SDM vol. 3, 6.14.2, figure 6-9); 32-bit mode has it
// when the level changes (figure 6-4).
func (c *CPU) pushFrame(f fault, frame [6]uint64, sp uint64, inward bool) (uint64, bool) {
	first, end := 0, len(frame)
	switch {
	case c.long:
		sp &^= 15
	case !inward:
		first = 2
	}
	if !f.hasError {
		end--
	}
	for _, v := range frame[first:end] {
		sp = (sp - c.word()) & c.AddrMask
		if !c.storeWord(sp, v) {
			return 0, false
		}
	}
	return sp, true
}

// loadSystem reads a descriptor, a gate or the TSS, with supervisor rights whatever the level is
// (SDM vol. 3, 4.6: an implicit supervisor-mode access).
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
