package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

type (
	x86Reg = x86asm.Reg
	x86Imm = x86asm.Imm
)

// fpu is the state of x87 and SSE that fxsave stores. Registers of x87 are kept in the order of the stack.
type fpu struct {
	control, status uint16
	tags            uint8 // abridged: a bit for each register that is not empty
	opcode          uint16
	ip, dp          uint64
	st              [8]vec
	xmm             [16]vec
	mxcsr           uint32
}

const (
	mxcsrReset = 0x1f80 // SDM vol. 1, 10.2.3: all exceptions masked
	mxcsrKnown = 0xffff // the mask of a processor with DAZ
	fcwReset   = 0x37f  // SDM vol. 1, 8.1.5
	fcwPowerUp = 0x40   // SDM vol. 3, table 9-1
)

// x87Ready raises #NM when CR0 says that there is no x87 or that its state is another task's (SDM vol.
// 3, 2.5 and 9.2.1).
func (c *CPU) x87Ready() bool {
	if c.cr0&(cr0EM|cr0TS) != 0 {
		c.raise(vecNMx87)
		return false
	}
	return true
}

// sseReady is x87Ready for SSE, which also wants CR4.OSFXSR (SDM vol. 3, 13.1).
func (c *CPU) sseReady() bool { return c.readyUnless(c.cr0&cr0EM != 0 || c.cr4&cr4OSFXSR == 0) }

// readyUnless raises #UD for an instruction that is undefined, and #NM where the state is another task's.
func (c *CPU) readyUnless(undefined bool) bool {
	switch {
	case undefined:
		c.raise(vecUD)
	case c.cr0&cr0TS != 0:
		c.raise(vecNMx87)
	default:
		return true
	}
	return false
}

func fninit(c *CPU, _ *inst) {
	if c.x87Ready() {
		c.fpu.reset()
	}
}

func fnclex(c *CPU, _ *inst) {
	if c.x87Ready() {
		c.fpu.status &= 0x7f00
	}
}

// fwait delivers an exception that waits. MP lets TS stop it.
func fwait(c *CPU, _ *inst) {
	switch {
	case c.cr0&(cr0MP|cr0TS) == cr0MP|cr0TS:
		c.raise(vecNMx87)
	case c.fpu.pending():
		c.raise(vecMF)
	}
}

func fnstcw(c *CPU, in *inst) { store(c, c.ea(in), c.fpu.control) }

func fldcw(c *CPU, in *inst) {
	if v, ok := load[uint16](c, c.ea(in)); ok {
		c.fpu.control = v&0x1f3f | 0x40
	}
}

func fnstswM(c *CPU, in *inst) { store(c, c.ea(in), c.fpu.word()) }
func fnstswA(c *CPU, _ *inst)  { put(c, rax, c.fpu.word()) }

// x87Missing is an x87 instruction that is not modelled: #NM comes first, as a kernel expects.
func x87Missing(c *CPU, in *inst) {
	if c.x87Ready() {
		execUndefined(c, in)
	}
}

func stmxcsr(c *CPU, in *inst) { store(c, c.ea(in), c.fpu.mxcsr) }

func ldmxcsr(c *CPU, in *inst) {
	if v, ok := load[uint32](c, c.ea(in)); ok {
		if v&^mxcsrKnown != 0 {
			c.raiseCode(vecGP, 0)
			return
		}
		c.fpu.mxcsr = v
	}
}

// fxWords are the first 32 bytes of the image of fxsave (SDM vol. 2, FXSAVE, tables). With 64-bit
// operands the pointers have 64 bits, otherwise 32 and a selector of zero, as processors of late have.
func (c *CPU) fxWords() [4]uint64 {
	f := &c.fpu
	return [...]uint64{
		uint64(f.control) | uint64(f.word())<<16 | uint64(f.tags)<<32 | uint64(f.opcode)<<48,
		f.ip, f.dp, uint64(f.mxcsr) | mxcsrKnown<<32,
	}
}

// xmmCount is how many vector registers the mode has.
func (c *CPU) xmmCount() int {
	if c.long {
		return 16
	}
	return 8
}

// stateImage is the address of an image, which is aligned.
func (c *CPU) stateImage(in *inst, alignment uint64) (at uint64, ok bool) {
	if at = c.ea(in); at%alignment != 0 {
		c.raiseCode(vecGP, 0)
		return 0, false
	}
	return at, true
}

// fxsave stores the state, in 416 of 512 bytes: the rest stays. Both pages are looked at before a byte
// changes.
func fxsave(c *CPU, in *inst) {
	at, ok := c.stateImage(in, 16)
	if !ok {
		return
	}
	if _, ok := c.DataAddress((at+511)&c.AddrMask, true); ok {
		c.storeState(at, partsAll)
	}
}

// storeState stores the words of some parts.
func (c *CPU) storeState(at, parts uint64) bool {
	for i, v := range c.stateWords() {
		if parts&partOf(i) != 0 && !store(c, (at+8*uint64(i))&c.AddrMask, v) {
			return false
		}
	}
	return true
}

// stateWords are the words of the image in order.
func (c *CPU) stateWords() []uint64 {
	head := c.fxWords()
	words := head[:]
	for _, r := range c.fpu.st {
		words = append(words, r[0], r[1])
	}
	for _, r := range c.fpu.xmm[:c.xmmCount()] {
		words = append(words, r[0], r[1])
	}
	return words
}

// fxrstor loads the state.
func fxrstor(c *CPU, in *inst) {
	if at, ok := c.stateImage(in, 16); ok {
		c.loadState(at, partsAll)
	}
}

// loadState loads some parts. A reserved bit of MXCSR is #GP. Nothing changes unless all of it can be loaded.
func (c *CPU) loadState(at, parts uint64) (ok bool) {
	words := make([]uint64, 4+16+2*c.xmmCount())
	for i := range words {
		if parts&partOf(i) == 0 {
			continue
		}
		if words[i], ok = load[uint64](c, (at+8*uint64(i))&c.AddrMask); !ok {
			return false
		}
	}
	if uint32(words[3])&^mxcsrKnown != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	f := &c.fpu
	if parts&partMXCSR != 0 {
		f.mxcsr = uint32(words[3])
	}
	if parts&partX87 != 0 {
		f.control, f.status, f.tags, f.opcode = uint16(words[0])&0x1f3f|0x40, uint16(words[0]>>16)&^fswSummary, uint8(words[0]>>32), uint16(words[0]>>48)&0x7ff
		f.ip, f.dp = words[1], words[2]
		for i := range f.st {
			f.st[i] = vec{words[4+2*i], words[5+2*i] & 0xffff}
		}
	}
	for i := range c.xmmCount() {
		if parts&partSSE != 0 {
			f.xmm[i] = vec{words[20+2*i], words[21+2*i]}
		}
	}
	return true
}

// clflush writes a line back and drops it. Caches hold no data, and what the line is worth in time is
// not taken away. The address must be one that may be read.
func clflush(c *CPU, in *inst) {
	c.DataAddress(c.ea(in), false)
}

// floatingControl lists the rows of SDM vol. 1, 5.2 and 5.5.3, that change no number: the state and its control.
var floatingControl = map[x86asm.Op]row{
	x86asm.FNINIT: ending(fninit, clX87Control, 0),
	x86asm.FNCLEX: ending(fnclex, clX87Control, 0),
	x86asm.FWAIT:  ending(fwait, clX87Control, 0),
	x86asm.FNSTCW: {bind: bindMem, class: clX87Control, flags: engine.Stores | engine.Ends, reg: byWidth{fnstcw}, ready: (*CPU).x87Ready},
	x86asm.FLDCW:  {bind: bindMem, class: clX87Control, flags: engine.Loads | engine.Ends, reg: byWidth{fldcw}, ready: (*CPU).x87Waits},
	x86asm.FNSTSW: {bind: bindStatus, class: clX87Control, flags: engine.Ends, reg: byWidth{fnstswA}, mem: byWidth{fnstswM}, ready: (*CPU).x87Ready},

	x86asm.LDMXCSR:   {bind: bindMem, class: clX87Control, flags: engine.Loads | engine.Ends, reg: byWidth{ldmxcsr}, ready: (*CPU).sseReady},
	x86asm.STMXCSR:   {bind: bindMem, class: clX87Control, flags: engine.Stores | engine.Ends, reg: byWidth{stmxcsr}, ready: (*CPU).sseReady},
	x86asm.FXSAVE:    {bind: bindImage, class: clFXState, flags: engine.Stores | engine.Ends, reg: byWidth{fxsave}, ready: (*CPU).x87Ready},
	x86asm.FXSAVE64:  {bind: bindImage, class: clFXState, flags: engine.Stores | engine.Ends, reg: byWidth{fxsave}, ready: (*CPU).x87Ready},
	x86asm.FXRSTOR:   {bind: bindImage, class: clFXState, flags: engine.Loads | engine.Ends, reg: byWidth{fxrstor}, ready: (*CPU).x87Ready},
	x86asm.FXRSTOR64: {bind: bindImage, class: clFXState, flags: engine.Loads | engine.Ends, reg: byWidth{fxrstor}, ready: (*CPU).x87Ready},
	x86asm.CLFLUSH:   {bind: bindMem, class: clFlushLine, flags: engine.Loads | engine.Ends, reg: byWidth{clflush}},
}

// bindImage binds an instruction on an image, whose size the decoder leaves out.
func bindImage(d *decoder, r *row) bool {
	d.x.MemBytes = legacySize
	if r.class != clFXState {
		d.x.MemBytes = areaSize
	}
	return bindMem(d, r)
}

// bindStatus binds fnstsw, to memory or to ax.
func bindStatus(d *decoder, r *row) bool {
	if m, ok := d.x.Args[0].(x86asm.Mem); ok {
		d.exec = r.mem[0]
		d.op.Flags |= engine.Stores
		return d.memory(m)
	}
	d.exec = r.reg[0]
	r.io |= ioSetA
	return true
}

// ports is SDM vol. 1, 5.1.8 and 5.1.9, as far as it talks to I/O ports.
var ports = map[x86asm.Op]row{
	x86asm.IN: {
		bind: bindPort, class: clIn, io: ioSetA, flags: engine.Ends,
		reg: byWidth{inPort[uint8], inPort[uint16], inPort[uint32]},
	},
	x86asm.OUT: {
		bind: bindPort, class: clOut, io: ioNoWrite | ioReadA, flags: engine.Ends,
		reg: byWidth{outPort[uint8], outPort[uint16], outPort[uint32]},
	},
	x86asm.INSB:  portString(ins[uint8], clIn, engine.Stores),
	x86asm.INSW:  portString(ins[uint16], clIn, engine.Stores),
	x86asm.INSD:  portString(ins[uint32], clIn, engine.Stores),
	x86asm.OUTSB: portString(outs[uint8], clOut, engine.Loads),
	x86asm.OUTSW: portString(outs[uint16], clOut, engine.Loads),
	x86asm.OUTSD: portString(outs[uint32], clOut, engine.Loads),
}

func portString(f exec, class uint8, flags uint16) row {
	return stringOf(f, class, flags|engine.Ends, ioReadD)
}
