package x86

import (
	"encoding/binary"

	"kprobesim/mmu"
)

// The forms that compilers emit most, in 32 and 64 bits. They do what their generic namesakes do. They
// exist for speed alone: the compiler makes a generic function that is used as a value of two
// functions, of which one only calls the other.

func addR64(c *CPU, in *inst) { put(c, in.dst, add(c, get[uint64](c, in.dst), src[uint64](c, in))) }

func subR64(c *CPU, in *inst) { put(c, in.dst, sub(c, get[uint64](c, in.dst), src[uint64](c, in))) }

func andR64(c *CPU, in *inst)  { put(c, in.dst, and(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func orR64(c *CPU, in *inst)   { put(c, in.dst, or(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func xorR64(c *CPU, in *inst)  { put(c, in.dst, xor(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func cmpR64(c *CPU, in *inst)  { sub(c, get[uint64](c, in.dst), src[uint64](c, in)) }
func testR64(c *CPU, in *inst) { and(c, get[uint64](c, in.dst), src[uint64](c, in)) }
func movR64(c *CPU, in *inst)  { put(c, in.dst, src[uint64](c, in)) }

func addR32(c *CPU, in *inst) { put(c, in.dst, add(c, get[uint32](c, in.dst), src[uint32](c, in))) }

func subR32(c *CPU, in *inst) { put(c, in.dst, sub(c, get[uint32](c, in.dst), src[uint32](c, in))) }

func andR32(c *CPU, in *inst)  { put(c, in.dst, and(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func orR32(c *CPU, in *inst)   { put(c, in.dst, or(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func xorR32(c *CPU, in *inst)  { put(c, in.dst, xor(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func cmpR32(c *CPU, in *inst)  { sub(c, get[uint32](c, in.dst), src[uint32](c, in)) }
func testR32(c *CPU, in *inst) { and(c, get[uint32](c, in.dst), src[uint32](c, in)) }
func movR32(c *CPU, in *inst)  { put(c, in.dst, src[uint32](c, in)) }

func leaR64(c *CPU, in *inst) {
	c.r[in.dst&31] = c.r[in.base&31] + c.r[in.index&31]<<(in.shift&63) + uint64(int64(in.disp))
}

func cmovR64(c *CPU, in *inst) {
	if c.condition(in.aux) {
		c.r[in.dst&31] = c.r[in.src&31]
	}
}

func shlR64(c *CPU, in *inst) {
	n := (c.r[in.src&31] + in.imm) & 63
	if n == 0 {
		return
	}
	v := c.r[in.dst&31]
	r := v << n
	setLogic(c, r)
	c.cy = v>>(64-n)<<63 | r>>63<<62
	c.r[in.dst&31] = r
}

func shrR64(c *CPU, in *inst) {
	n := (c.r[in.src&31] + in.imm) & 63
	if n == 0 {
		return
	}
	v := c.r[in.dst&31]
	cf := v >> (n - 1) << 63
	setLogic(c, v>>n)
	c.cy = cf | (cf^v)>>63<<62
	c.r[in.dst&31] = v >> n
}

// load64 and store64 are load and store of eight bytes.
func (c *CPU) load64(va uint64) (uint64, bool) {
	e := &c.look[va>>12&(looks-1)]
	off := va & 0xfff
	pa := e.base + off
	if e.read != va>>12+c.lookGen || off > 0x1000-8 {
		return loadSlow[uint64](c, va)
	}
	v := binary.LittleEndian.Uint64(c.mem[pa:]) // first: the host may wait for it while it looks tags up
	c.touchLoad(pa, 8)
	return v, true
}

func (c *CPU) store64(va, v uint64) bool {
	e := &c.look[va>>12&(looks-1)]
	off := va & 0xfff
	if e.write != va>>12+c.lookGen || off > 0x1000-8 {
		return storeSlow(c, va, v)
	}
	pa := e.base + off
	c.touchStore(pa, 8)
	binary.LittleEndian.PutUint64(c.mem[pa:], v)
	if line := pa >> mmu.LineShift; c.codeMap[line>>6]>>(line&63)&1 != 0 {
		c.memory.DropCode(pa)
	}
	return true
}

func movL64(c *CPU, in *inst) {
	if v, ok := c.load64(c.ea(in)); ok {
		c.r[in.dst&31] = v
	}
}

func movM64(c *CPU, in *inst) { c.store64(c.ea(in), src[uint64](c, in)) }

func push64(c *CPU, v uint64) bool {
	sp := (c.r[rsp] - 8) & c.linMask
	if !c.store64(sp, v) {
		c.onStack()
		return false
	}
	c.r[rsp] = sp
	return true
}

func pushR64(c *CPU, in *inst) { push64(c, src[uint64](c, in)) }

func popR64(c *CPU, in *inst) {
	v, ok := c.load64(c.r[rsp])
	if !ok {
		c.onStack()
		return
	}
	c.r[rsp] = (c.r[rsp] + 8) & c.linMask
	c.r[in.dst&31] = v
}

func callRel64(c *CPU, in *inst) {
	next := c.r[rRIP]
	if push64(c, next) {
		c.pushReturn(next)
		c.taken = true
		c.r[rRIP] = (next + in.imm) & c.linMask
	}
}

// ret64 returns; imm bytes of arguments are dropped.
func ret64(c *CPU, in *inst) {
	to, ok := c.load64(c.r[rsp])
	if !ok {
		c.onStack()
		return
	}
	c.r[rsp] = (c.r[rsp]+8)&c.linMask + in.imm
	c.ctr.Branches++
	c.taken = true
	if c.popReturn() != to {
		c.ctr.Mispredicts++
		c.redirect = true
	}
	c.r[rRIP] = to
}
