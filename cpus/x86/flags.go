package x86

import (
	"math/bits"
	"unsafe"

	"kprobesim/cpus/engine"
)

// Bits of RFLAGS (SDM vol. 1, 3.4.3).
const (
	flagCF   = 1 << 0
	flagOne  = 1 << 1
	flagPF   = 1 << 2
	flagAF   = 1 << 4
	flagZF   = 1 << 6
	flagSF   = 1 << 7
	flagTF   = 1 << 8
	flagIF   = 1 << 9
	flagDF   = 1 << 10
	flagOF   = 1 << 11
	flagIOPL = 3 << 12
	flagNT   = 1 << 14
	flagRF   = 1 << 16
	flagVM   = 1 << 17
	flagAC   = 1 << 18
	flagVIF  = 1 << 19
	flagVIP  = 1 << 20
	flagID   = 1 << 21

	arith = flagCF | flagPF | flagAF | flagZF | flagSF | flagOF
)

// The arithmetic flags are kept as the last result and its carries, and made into bits when asked:
// most are overwritten before anything reads them, and a conditional branch needs only one or two.
//
//	res  the result, shifted to the top of 64 bits: ZF is res == 0, SF its sign
//	cy   the carries out of each bit, shifted likewise: bit 63 is CF, bit 62 is CF xor OF;
//	     nothing reads the others
//	par  the low byte of the result, for PF; bit 8 inverts SF
//	aux  the low byte of the carries: bit 3 is AF
//
// par's bit 8 lets any combination be represented, such as ZF and SF both set by popf.
const (
	cyCF    = 1 << 63
	cyOF    = 1 << 62
	cyCarry = cyCF | cyOF
	auxAF   = 1 << 3
	parSign = 1 << 8
)

func (c *CPU) cf() bool { return int64(c.cy) < 0 }
func (c *CPU) zf() bool { return c.res == 0 }
func (c *CPU) sf() bool { return (c.res>>63^uint64(c.par>>8))&1 != 0 }
func (c *CPU) of() bool { return (c.cy>>63^c.cy>>62)&1 != 0 }
func (c *CPU) af() bool { return c.aux&auxAF != 0 }
func (c *CPU) pf() bool { return bits.OnesCount8(uint8(c.par))&1 == 0 }

// carryBit is CF as a number.
func (c *CPU) carryBit() uint64 { return c.cy >> 63 }

// setResult sets the flags of an operation whose carries out of each bit are given. The shift
// brings the operand's top bit to bit 63, so that no reader needs to know the width.
func setResult[T width](c *CPU, r, carries T) {
	c.res = uint64(r) << (64 - 8*unsafe.Sizeof(r))
	c.cy = uint64(carries) << (64 - 8*unsafe.Sizeof(r))
	c.par = uint16(uint8(r))
	c.aux = uint8(carries)
}

// setLogic sets the flags of an operation without carries; AF is undefined and cleared.
func setLogic[T width](c *CPU, r T) {
	setZSP(c, r)
	c.cy = 0
}

// setZSP sets ZF, SF and PF by a result and clears AF.
func setZSP[T width](c *CPU, r T) {
	c.res = uint64(r) << (64 - 8*unsafe.Sizeof(r))
	c.par = uint16(uint8(r))
	c.aux = 0
}

// setCF changes CF and keeps the others.
func (c *CPU) setCF(v bool) { c.setCarry(v, c.of()) }

// setCarry sets CF and OF and keeps the others.
func (c *CPU) setCarry(cf, of bool) {
	c.cy &^= cyCarry
	if cf {
		c.cy |= cyCF
	}
	if cf != of {
		c.cy |= cyOF
	}
}

// keepCF puts back CF as it was with carries cy, and keeps the others.
func (c *CPU) keepCF(cy uint64) {
	cy &= cyCF
	of := (c.cy ^ c.cy<<1) & cyCF
	c.cy = cy | (cy^of)>>1
}

// flags returns RFLAGS. Bit 1 is always set.
func (c *CPU) flags() uint64 {
	f := c.ctl | flagOne
	for _, b := range [...]struct {
		set bool
		bit uint64
	}{
		{c.cf(), flagCF},
		{c.pf(), flagPF},
		{c.af(), flagAF},
		{c.zf(), flagZF},
		{c.sf(), flagSF},
		{c.of(), flagOF},
	} {
		if b.set {
			f |= b.bit
		}
	}
	return f
}

// setArith sets the six arithmetic flags from bits of f.
func (c *CPU) setArith(f uint64) {
	c.res, c.cy, c.par, c.aux = 0, 0, 1, 0
	if f&flagZF == 0 {
		c.res = 1
	}
	c.setCarry(f&flagCF != 0, f&flagOF != 0)
	if f&flagAF != 0 {
		c.aux = auxAF
	}
	if f&flagPF != 0 {
		c.par = 0
	}
	if f&flagSF != 0 {
		c.par |= parSign
	}
}

// setCtl sets the bits of RFLAGS that are not arithmetic. TF decides whether instructions are
// executed one by one, and so does RF, which is why the field is not assigned elsewhere where one of them may
// change.
func (c *CPU) setCtl(v uint64) {
	c.ctl = v
	if v&flagAC == 0 {
		c.takeBack()
	}
	if c.cr0&cr0AM != 0 {
		c.checkAlignment()
	}
	c.Single &^= oneTrap | oneResume
	if v&flagTF != 0 {
		c.Single |= oneTrap
	}
	if v&flagRF != 0 {
		c.Single |= oneResume
	}
}

// setFlags loads RFLAGS: the bits of mask from f, the others unchanged. IF may be among them, so
// interrupts are looked for.
func (c *CPU) setFlags(f, mask uint64) {
	f = c.flags()&^mask | f&mask
	c.setArith(f)
	c.setCtl(f &^ (arith | flagOne))
	c.Check |= engine.CheckState
}
