package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/cpus/float"
)

// loadBytes loads up to 16 bytes.
func (c *CPU) loadBytes(at uint64, n int) (b vec, ok bool) {
	for i := 0; i < n; i += 2 {
		v, ok := load[uint16](c, (at+uint64(i))&c.AddrMask)
		if !ok {
			return b, false
		}
		b = b.with(i/2, 16, uint64(v))
	}
	return b, true
}

// writable looks at the pages of some bytes before any of them changes.
func (c *CPU) writable(at uint64, n int) bool {
	if _, ok := c.DataAddress(at, true); !ok {
		return false
	}
	last := (at + uint64(n-1)) & c.AddrMask
	if last>>12 == at>>12 {
		return true
	}
	_, ok := c.DataAddress(last&^0xfff, true)
	return ok
}

// storeBytes stores up to 16 bytes, which are writable.
func (c *CPU) storeBytes(at uint64, b vec, n int) bool {
	for i := 0; i < n; i += 2 {
		if !store(c, (at+uint64(i))&c.AddrMask, uint16(b.lane(i/2, 16))) {
			return false
		}
	}
	return true
}

// tagWord makes the tags of two bits of registers in their physical order (SDM vol. 1, 8.1.7): valid, zero, special, empty.
func (f *fpu) tagWord() (w uint16) {
	for i := range uint8(8) {
		tag := uint16(2)
		switch n := f.get(i); {
		case !f.filled(i):
			tag = 3
		case n.Kind == float.Zero:
			tag = 1
		case n.Kind == float.Finite && !n.Denormal:
			tag = 0
		}
		w |= tag << (2 * ((f.top() + uint16(i)) & 7))
	}
	return w
}

func (f *fpu) setTagWord(w uint16) {
	f.tags = 0
	for i := range 8 {
		if w>>(2*i)&3 != 3 {
			f.tags |= 1 << i
		}
	}
}

// environment has the words of fnstenv (SDM vol. 1, figures 8-9 to 8-12), each of 16 bits or of 32. Selectors are not kept.
func (f *fpu) environment(wide bool) []uint32 {
	const upper = 0xffff << 16
	if wide {
		return []uint32{
			upper | uint32(f.control), upper | uint32(f.word()), upper | uint32(f.tagWord()),
			uint32(f.ip), uint32(f.opcode) << 16, uint32(f.dp), upper,
		}
	}
	return []uint32{uint32(f.control), uint32(f.word()), uint32(f.tagWord()), uint32(f.ip), 0, uint32(f.dp), 0}
}

// x87Image makes the row of an instruction on the environment, and with registers on all of the state.
func x87Image(flags uint16, registers bool, ready func(*CPU) bool, f func(c *CPU, at uint64, wide, registers bool)) row {
	return row{class: clFXState, flags: flags | engine.Ends, ready: ready, bind: func(d *decoder, _ *row) bool {
		m, ok := d.x.Args[0].(x86asm.Mem)
		wide := d.x.DataSize != 16
		d.x.MemBytes = imageSize(wide, registers)
		d.exec = func(c *CPU, in *inst) { f(c, c.ea(in), wide, registers) }
		return ok && d.memory(m)
	}}
}

// imageWord is the size of a word of the environment, of which there are seven.
func imageWord(wide bool) int {
	if wide {
		return 4
	}
	return 2
}

// imageSize is the size of all of it.
func imageSize(wide, registers bool) int {
	n := 7 * imageWord(wide)
	if registers {
		n += 80
	}
	return n
}

// storeX87State is fnstenv and fnsave. The one masks all exceptions, the other resets the unit.
func storeX87State(c *CPU, at uint64, wide, registers bool) {
	if !c.writable(at, imageSize(wide, registers)) {
		return
	}
	n, f := imageWord(wide), &c.fpu
	for i, v := range f.environment(wide) {
		if !c.storeBytes((at+uint64(i*n))&c.AddrMask, vec{uint64(v)}, n) {
			return
		}
	}
	if !registers {
		f.control |= x87Exceptions
		return
	}
	for i, v := range f.st {
		c.storeBytes((at+uint64(7*n+10*i))&c.AddrMask, v, 10)
	}
	f.reset()
}

// reset is fninit.
func (f *fpu) reset() {
	f.clearTop()
	f.control, f.status, f.tags, f.opcode, f.ip, f.dp = fcwReset, 0, 0, 0, 0, 0
}

// loadX87State is fldenv and frstor.
func loadX87State(c *CPU, at uint64, wide, registers bool) {
	n := imageWord(wide)
	var env [7]uint64
	for i := range env {
		v, ok := c.loadBytes((at+uint64(i*n))&c.AddrMask, n)
		if !ok {
			return
		}
		env[i] = v[0]
	}
	var st [8]vec
	for i := range st {
		if !registers {
			break
		}
		var ok bool
		if st[i], ok = c.loadBytes((at+uint64(7*n+10*i))&c.AddrMask, 10); !ok {
			return
		}
	}
	f := &c.fpu
	for f.top() != uint16(env[1])>>fswTop&7 {
		f.rotate(true)
	}
	f.control, f.status = uint16(env[0])&0x1f3f|0x40, uint16(env[1])&^fswSummary
	f.setTagWord(uint16(env[2]))
	f.ip, f.dp, f.opcode = env[3], env[5], uint16(env[4]>>16)&0x7ff
	if registers {
		f.st = st
	}
}

// x87Images lists the rows of SDM vol. 1, 5.2.6, that move more than a word.
var x87Images = map[x86asm.Op]row{
	x86asm.FNSTENV: x87Image(engine.Stores, false, (*CPU).x87Ready, storeX87State), x86asm.FNSAVE: x87Image(engine.Stores, true, (*CPU).x87Ready, storeX87State),
	x86asm.FLDENV: x87Image(engine.Loads, false, (*CPU).x87Waits, loadX87State), x86asm.FRSTOR: x87Image(engine.Loads, true, (*CPU).x87Waits, loadX87State),
}
