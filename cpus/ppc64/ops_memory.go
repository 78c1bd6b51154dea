package ppc64

import (
	"math/bits"

	"kprobesim/cpus/engine"
	"kprobesim/mmu"
)

// Loads and stores (Book I, Fixed-Point Storage Access Instructions). The engine's memory has the least
// significant byte first: values are swapped on their way. What faults has no effect.

// ea is the effective address of an operand. Absent parts are registers that hold zero.
func (c *CPU) ea(in *inst) uint64 {
	return (c.R[in.a&63] + c.R[in.b&63] + in.imm) & c.AddrMask
}

func load8(c *CPU, va uint64) (uint64, bool) {
	v, ok := engine.Load[uint8](&c.Core, va)
	return uint64(v), ok
}

func load16(c *CPU, va uint64) (uint64, bool) {
	v, ok := engine.Load[uint16](&c.Core, va)
	return uint64(bits.ReverseBytes16(v)), ok
}

func load32(c *CPU, va uint64) (uint64, bool) {
	v, ok := engine.Load[uint32](&c.Core, va)
	return uint64(bits.ReverseBytes32(v)), ok
}

func load64(c *CPU, va uint64) (uint64, bool) {
	v, ok := engine.Load[uint64](&c.Core, va)
	return bits.ReverseBytes64(v), ok
}

func loadS16(c *CPU, va uint64) (uint64, bool) {
	v, ok := load16(c, va)
	return uint64(int64(int16(v))), ok
}

func loadS32(c *CPU, va uint64) (uint64, bool) {
	v, ok := load32(c, va)
	return uint64(int64(int32(v))), ok
}

func store8(c *CPU, va, v uint64) bool { return engine.Store(&c.Core, va, uint8(v)) }

func store16(c *CPU, va, v uint64) bool {
	return engine.Store(&c.Core, va, bits.ReverseBytes16(uint16(v)))
}

func store32(c *CPU, va, v uint64) bool {
	return engine.Store(&c.Core, va, bits.ReverseBytes32(uint32(v)))
}

func store64(c *CPU, va, v uint64) bool {
	return engine.Store(&c.Core, va, bits.ReverseBytes64(v))
}

func lbz(c *CPU, in *inst) {
	if v, ok := load8(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func lhz(c *CPU, in *inst) {
	if v, ok := load16(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func lha(c *CPU, in *inst) {
	if v, ok := loadS16(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func lwz(c *CPU, in *inst) {
	if v, ok := load32(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func lwa(c *CPU, in *inst) {
	if v, ok := loadS32(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func ld(c *CPU, in *inst) {
	if v, ok := load64(c, c.ea(in)); ok {
		c.R[in.dst&63] = v
	}
}

func lhbrx(c *CPU, in *inst) {
	if v, ok := engine.Load[uint16](&c.Core, c.ea(in)); ok {
		c.R[in.dst&63] = uint64(v)
	}
}

func lwbrx(c *CPU, in *inst) {
	if v, ok := engine.Load[uint32](&c.Core, c.ea(in)); ok {
		c.R[in.dst&63] = uint64(v)
	}
}

func stb(c *CPU, in *inst)    { store8(c, c.ea(in), c.R[in.s&63]) }
func sth(c *CPU, in *inst)    { store16(c, c.ea(in), c.R[in.s&63]) }
func stw(c *CPU, in *inst)    { store32(c, c.ea(in), c.R[in.s&63]) }
func std(c *CPU, in *inst)    { store64(c, c.ea(in), c.R[in.s&63]) }
func sthbrx(c *CPU, in *inst) { engine.Store(&c.Core, c.ea(in), uint16(c.R[in.s&63])) }
func stwbrx(c *CPU, in *inst) { engine.Store(&c.Core, c.ea(in), uint32(c.R[in.s&63])) }

// The forms with update: the address goes to RA when the access has succeeded. It has the mode's width
// only as an address: all 64 bits of the sum are kept.

func (c *CPU) updated(in *inst) uint64 { return c.R[in.a&63] + c.R[in.b&63] + in.imm }

// The loads are made of what they load.
var (
	lbzu = loadUpdate(load8)
	lhzu = loadUpdate(load16)
	lhau = loadUpdate(loadS16)
	lwzu = loadUpdate(load32)
	lwau = loadUpdate(loadS32)
	ldu  = loadUpdate(load64)
)

func loadUpdate(load func(*CPU, uint64) (uint64, bool)) exec {
	return func(c *CPU, in *inst) {
		at := c.updated(in)
		if v, ok := load(c, at&c.AddrMask); ok {
			c.R[in.dst&63], c.R[in.a&63] = v, at
		}
	}
}

func stbu(c *CPU, in *inst) { c.storeUpdate(in, store8) }
func sthu(c *CPU, in *inst) { c.storeUpdate(in, store16) }
func stwu(c *CPU, in *inst) { c.storeUpdate(in, store32) }
func stdu(c *CPU, in *inst) { c.storeUpdate(in, store64) }

func (c *CPU) storeUpdate(in *inst, store func(c *CPU, va, v uint64) bool) {
	if at := c.updated(in); store(c, at&c.AddrMask, c.R[in.s&63]) {
		c.R[in.a&63] = at
	}
}

// lmw and stmw move the registers from one to r31 (Book I, Fixed-Point Load and Store Multiple
// Instructions). A load whose range has its base is invalid and loads all the same.
func lmw(c *CPU, in *inst) {
	at := c.ea(in)
	var words [32]uint64
	for r := in.dst; r < 32; r++ {
		v, ok := load32(c, at)
		if !ok {
			return
		}
		words[r], at = v, (at+4)&c.AddrMask
	}
	copy(c.R[in.dst:32], words[in.dst:])
}

func stmw(c *CPU, in *inst) {
	at := c.ea(in)
	for r := in.s; r < 32; r++ {
		if !store32(c, at, c.R[r]) {
			return
		}
		at = (at + 4) & c.AddrMask
	}
}

// Moves of bytes (Book I, Fixed-Point Move Assist Instructions) fill the low words of registers from the
// left, and go on from r31 to r0.

func lswi(c *CPU, in *inst)  { c.loadString(in, uint64(in.sh)) }
func stswi(c *CPU, in *inst) { c.storeString(in, uint64(in.sh)) }
func lswx(c *CPU, in *inst)  { c.loadString(in, c.R[rXER]&xerCount) }
func stswx(c *CPU, in *inst) { c.storeString(in, c.R[rXER]&xerCount) }

func (c *CPU) loadString(in *inst, n uint64) {
	at := c.ea(in)
	var words [32]uint64
	for i := range n {
		v, ok := load8(c, (at+i)&c.AddrMask)
		if !ok {
			return
		}
		words[i/4] |= v << (24 - 8*(i%4))
	}
	for i := range (n + 3) / 4 {
		c.R[(uint64(in.dst)+i)&31] = words[i]
	}
}

func (c *CPU) storeString(in *inst, n uint64) {
	at := c.ea(in)
	for i := range n {
		v := c.R[(uint64(in.s)+i/4)&31] >> (24 - 8*(i%4))
		if !store8(c, (at+i)&c.AddrMask, v) {
			return
		}
	}
}

// Cache management (Book II, Cache Management Instructions). The instructions on blocks translate their
// address as a load does. What they do beside matters where instruction caches are not coherent. There they
// reach every CPU: a kernel's pages are coherent storage.

// touchBlock is dcbst and dcbf.
func touchBlock(c *CPU, in *inst) { c.block(in, (*engine.Core).CleanData) }
func icbi(c *CPU, in *inst)       { c.block(in, (*engine.Core).InvalidateFetch) }

// block does something with a block at its physical address, if its line may be another one than the block.
func (c *CPU) block(in *inst, do func(c *engine.Core, pa uint64)) {
	at := c.ea(in)
	if _, ok := load8(c, at); !ok || !c.Incoherent() {
		return
	}
	if pa, ok := c.DataAddress(at, false); ok {
		do(&c.Core, pa)
	}
}

// dcbz zeroes a line.
func dcbz(c *CPU, in *inst) {
	size := uint64(1) << c.lineShift
	at := c.ea(in) &^ (size - 1)
	for i := uint64(0); i < size; i += 8 {
		if !store64(c, at+i, 0) {
			return
		}
	}
}

func lwarx(c *CPU, in *inst) {
	at := c.ea(in)
	if !c.aligned(at, 4) || !c.LoadNewest(at, 4) {
		return
	}
	if v, ok := load32(c, at); ok {
		c.R[in.dst&63] = v
		c.Reserve(at, 4)
	}
}

func ldarx(c *CPU, in *inst) {
	at := c.ea(in)
	if !c.aligned(at, 8) || !c.LoadNewest(at, 8) {
		return
	}
	if v, ok := load64(c, at); ok {
		c.R[in.dst&63] = v
		c.Reserve(at, 8)
	}
}

// BufferStores implements cpus.StoreBufferer.
func (c *CPU) BufferStores(b *mmu.StoreBuffer) { c.BufferWeakly(b) }

// sync is sync and ptesync, and lwsync, which lets loads go before older stores (Book II, Memory Barrier Instructions).
func sync(c *CPU, in *inst) {
	if in.sh == 1 {
		c.OrderStores()
		c.OrderLoads()
		return
	}
	c.OrderAll()
}

// eieio orders stores to storage that is cached, and nothing else there.
func eieio(c *CPU, _ *inst) { c.OrderStores() }

func stwcx(c *CPU, in *inst) {
	at := c.ea(in)
	if c.conditional(at, 4) && store32(c, at, c.R[in.s&63]) {
		c.R[rCR0] |= crEQ
		c.StoredConditionally()
	}
}

func stdcx(c *CPU, in *inst) {
	at := c.ea(in)
	if c.conditional(at, 8) && store64(c, at, c.R[in.s&63]) {
		c.R[rCR0] |= crEQ
		c.StoredConditionally()
	}
}

// conditional reports whether the store is to be made, and ends the reservation. It sets field 0 for one
// that is not.
func (c *CPU) conditional(va uint64, size uint8) bool {
	if !c.aligned(va, uint64(size)) {
		return false
	}
	held, ok := c.Reserved(va, size)
	if ok {
		c.R[rCR0] = c.summary()
	}
	return held
}
