package x86

import "kprobesim/cpus/engine"

// I/O ports (SDM vol. 1, chapter 18). The board answers for them through cpus.Bus; where it has nothing
// a read gives ones and a write is lost.

// portAllowed checks the right to n ports from one on: a level within IOPL, or clear bits in the map at
// the end of the TSS (SDM vol. 1, 18.5.2). False leaves an exception pending.
func (c *CPU) portAllowed(port uint16, n uint64) bool {
	if c.cpl <= c.iopl() {
		return true
	}
	const mapBase = 0x66 // of the word that says where the map is, in either TSS
	if c.tr.limit < mapBase+1 {
		c.raiseCode(vecGP, 0)
		return false
	}
	at, ok := loadSystem[uint16](c, c.tr.base+mapBase)
	if !ok {
		return false
	}
	first := uint64(at) + uint64(port>>3)
	if first+1 > uint64(c.tr.limit) {
		c.raiseCode(vecGP, 0)
		return false
	}
	bits, ok := loadSystem[uint16](c, c.tr.base+first)
	if !ok {
		return false
	}
	if bits>>(port&7)&(1<<n-1) != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

// inPort and outPort take the port from dx or from the instruction.
func inPort[T width](c *CPU, in *inst) {
	port, n := src[uint16](c, in), uint64(bitsOf(T(0))/8)
	if c.portAllowed(port, n) {
		put(c, rax, T(c.LoadPort(port, int(n))))
	}
}

func outPort[T width](c *CPU, in *inst) {
	port, n := src[uint16](c, in), uint64(bitsOf(T(0))/8)
	if c.portAllowed(port, n) {
		c.StorePort(port, int(n), uint64(get[T](c, rax)))
	}
}

// ins and outs move strings between memory and the port in dx. The right to write is checked before
// the port is read, because a device notices a read.
func ins[T width](c *CPU, in *inst) {
	d, port, n := stride[T](c), uint16(c.R[rdx]), uint64(bitsOf(T(0))/8)
	if !c.portAllowed(port, n) {
		return
	}
	c.repeat(in, eachElement(), func() bool {
		if _, ok := c.DataAddress(c.R[rdi]&c.AddrMask, true); ok && store(c, c.R[rdi], T(c.LoadPort(port, int(n)))) {
			c.advance(rdi, d)
		}
		return true
	}, nil)
}

func outs[T width](c *CPU, in *inst) {
	d, port, n := stride[T](c), uint16(c.R[rdx]), uint64(bitsOf(T(0))/8)
	if !c.portAllowed(port, n) {
		return
	}
	c.repeat(in, eachElement(), func() bool {
		if v, ok := source[T](c, in); ok {
			c.StorePort(port, int(n), uint64(v))
			c.advance(rsi, d)
		}
		return c.Stop&engine.StopFault == 0
	}, nil)
}

// bindPort binds in and out: x86asm puts the accumulator first for one and last for the other.
func bindPort(d *decoder, r *row) bool {
	acc, port := d.x.Args[0], d.x.Args[1]
	if r.io&ioNoWrite != 0 {
		acc, port = port, acc
	}
	a, ok := acc.(x86Reg)
	if !ok {
		return false
	}
	_, bytes, _ := register(a)
	d.exec = r.reg[max(sizeIndex(bytes), 0)]
	if imm, ok := port.(x86Imm); ok {
		d.in.imm = uint64(imm) & 0xff
		return true
	}
	d.in.src = rdx
	return true
}
