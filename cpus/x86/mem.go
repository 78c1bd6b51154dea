package x86

import (
	"encoding/binary"
	"unsafe"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// ea computes the linear address of a memory operand.
func (c *CPU) ea(in *inst) uint64 {
	return (c.r[in.base&31] + c.r[in.index&31]<<(in.shift&63) + uint64(int64(in.disp)) + c.segBase[in.seg&7]) & c.linMask
}

// rd and wr access RAM in the ISA's byte order.
func rd[T width](m []byte, pa uint64) T {
	var v T
	switch unsafe.Sizeof(v) {
	case 8:
		return T(binary.LittleEndian.Uint64(m[pa:]))
	case 4:
		return T(binary.LittleEndian.Uint32(m[pa:]))
	case 2:
		return T(binary.LittleEndian.Uint16(m[pa:]))
	}
	return T(m[pa])
}

func wr[T width](m []byte, pa uint64, v T) {
	switch unsafe.Sizeof(v) {
	case 8:
		binary.LittleEndian.PutUint64(m[pa:], uint64(v))
	case 4:
		binary.LittleEndian.PutUint32(m[pa:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(m[pa:], uint16(v))
	default:
		m[pa] = byte(v)
	}
}

// load reads memory at a linear address. When ok is false an exception is pending and the
// instruction must have no effect.
func load[T width](c *CPU, va uint64) (v T, ok bool) {
	e := &c.look[va>>12&(looks-1)]
	off := va & 0xfff
	if e.read != va>>12+c.lookGen || off > 0x1000-uint64(unsafe.Sizeof(v)) {
		return loadSlow[T](c, va)
	}
	pa := e.base + off
	v = rd[T](c.mem, pa) // first: the host may wait for it while it looks tags up
	c.touchLoad(pa, uint64(unsafe.Sizeof(v)))
	return v, true
}

// store writes memory at a linear address, with load's convention.
func store[T width](c *CPU, va uint64, v T) bool {
	e := &c.look[va>>12&(looks-1)]
	off := va & 0xfff
	if e.write != va>>12+c.lookGen || off > 0x1000-uint64(unsafe.Sizeof(v)) {
		return storeSlow(c, va, v)
	}
	pa := e.base + off
	c.touchStore(pa, uint64(unsafe.Sizeof(v)))
	wr(c.mem, pa, v)
	if line := pa >> mmu.LineShift; c.codeMap[line>>6]>>(line&63)&1 != 0 {
		c.memory.DropCode(pa)
	}
	return true
}

// loadSlow handles what the copy of translations does not: misses, page crossings, devices,
// watchpoints.
func loadSlow[T width](c *CPU, va uint64) (v T, ok bool) {
	n := int(unsafe.Sizeof(v))
	if va&0xfff > 0x1000-uint64(n) {
		return loadCross[T](c, va)
	}
	p := c.page(va, mmu.Access{User: c.user, Protect: c.cr0&cr0WP != 0})
	if p == nil {
		return 0, false
	}
	c.watch(va, n, false)
	pa := p.Offset(va)
	if !c.memory.Holds(pa, n) {
		return T(c.loadDevice(pa, n)), true
	}
	c.noteRead(va, pa)
	c.touchLoad(pa, uint64(n))
	return rd[T](c.mem, pa), true
}

// loadCross reads an operand that lies in two pages, byte by byte after both translations hold.
func loadCross[T width](c *CPU, va uint64) (v T, ok bool) {
	n := uint64(unsafe.Sizeof(v))
	var b [8]byte
	for i := range n {
		x, ok := load[uint8](c, (va+i)&c.linMask)
		if !ok {
			return 0, false
		}
		b[i] = x
	}
	return T(binary.LittleEndian.Uint64(b[:])), true
}

func storeSlow[T width](c *CPU, va uint64, v T) bool {
	n := int(unsafe.Sizeof(v))
	if va&0xfff > 0x1000-uint64(n) {
		return storeCross(c, va, uint64(v), n)
	}
	p := c.page(va, mmu.Access{Write: true, User: c.user, Protect: c.cr0&cr0WP != 0})
	if p == nil {
		return false
	}
	c.watch(va, n, true)
	pa := p.Offset(va)
	if !c.memory.Holds(pa, n) {
		c.storeDevice(pa, n, uint64(v))
		return true
	}
	c.noteWrite(va, pa)
	c.touchStore(pa, uint64(n))
	wr(c.mem, pa, v)
	if c.memory.HasCode(pa >> mmu.LineShift) {
		c.memory.DropCode(pa)
	}
	return true
}

// storeCross writes an operand that lies in two pages; both are translated before any byte changes.
func storeCross(c *CPU, va, v uint64, n int) bool {
	acc := mmu.Access{Write: true, User: c.user, Protect: c.cr0&cr0WP != 0}
	if c.page(va, acc) == nil || c.page((va+uint64(n)-1)&c.linMask, acc) == nil {
		return false
	}
	for i := range n {
		if !store(c, (va+uint64(i))&c.linMask, uint8(v>>(8*uint(i)))) {
			return false
		}
	}
	return true
}

func (c *CPU) loadDevice(pa uint64, n int) uint64 {
	c.acc[c.idx&(accesses-1)].miss += c.memLat
	c.settleBefore()
	if c.bus.Device == nil {
		return ^uint64(0)
	}
	return c.bus.Device.Load(pa, n)
}

func (c *CPU) storeDevice(pa uint64, n int, v uint64) {
	if c.bus.Device != nil {
		c.settleBefore()
		c.bus.Device.Store(pa, n, v)
		c.attend |= attendIRQ
		c.exit = cpus.Exit{Reason: cpus.Limit} // events may have come nearer
		c.stop |= stopExit
	}
}

// rmw reads an operand that will be written back; it raises the page fault of the write first: a read-modify-write
// instruction checks before its load, as hardware does.
func rmw[T width](c *CPU, va uint64) (v T, ok bool) {
	e := &c.look[va>>12&(looks-1)]
	off := va & 0xfff
	if e.write == va>>12+c.lookGen && off <= 0x1000-uint64(unsafe.Sizeof(v)) {
		pa := e.base + off
		if c.claims() {
			c.claim(pa, uint64(unsafe.Sizeof(v)))
		}
		c.touchLoad(pa, uint64(unsafe.Sizeof(v)))
		return rd[T](c.mem, pa), true
	}
	acc := mmu.Access{Write: true, User: c.user, Protect: c.cr0&cr0WP != 0}
	last := (va + uint64(unsafe.Sizeof(v)) - 1) & c.linMask
	p := c.page(va, acc)
	if p == nil {
		return 0, false
	}
	if pa := p.Offset(va); c.claims() && va>>12 == last>>12 && c.memory.Holds(pa, int(unsafe.Sizeof(v))) {
		c.claim(pa, uint64(unsafe.Sizeof(v)))
	}
	if va>>12 != last>>12 && c.page(last, acc) == nil {
		return 0, false
	}
	return load[T](c, va)
}
