package vexpress

import (
	"math/bits"
	"slices"
)

// register is a row of a device's table: equal registers from an offset on. One without load reads as zero,
// one without store ignores what is stored.
type register struct {
	from, bytes uint64
	single      bool // single bytes can be accessed beside words
	half        bool // so can halfwords
	// Loads and stores are given the number of the word in the row. A store changes the bits of mask, which
	// cover the bytes that are stored.
	load  func(p *port, word int) uint32
	store func(p *port, word int, v, mask uint32)
}

// find returns the row for an access, and the number of the word in it; nil where nothing is. An access of
// another size than the register's finds nothing, which the architecture leaves open.
func find(rows []register, off uint64, size int) (r *register, word int) {
	i := slices.IndexFunc(rows, func(r register) bool { return off-r.from < r.bytes })
	if i < 0 || size != 4 && (size != 1 || !rows[i].single) && (size != 2 || !rows[i].half) || off&uint64(size-1) != 0 {
		return nil, 0
	}
	return &rows[i], int(off-rows[i].from) / 4
}

// load reads a register of 32 bits, or a part of one.
func (p *port) load(rows []register, off uint64, size int) uint64 {
	r, word := find(rows, off, size)
	if r == nil || r.load == nil {
		return 0
	}
	return uint64(r.load(p, word)>>(8*(off&3))) & (1<<(8*size) - 1)
}

// store writes a register of 32 bits, or a part of one.
func (p *port) store(rows []register, off uint64, size int, v uint64) {
	r, word := find(rows, off, size)
	if r == nil || r.store == nil {
		return
	}
	shift := 8 * (off & 3)
	mask := uint32(1<<(8*size)-1) << shift
	r.store(p, word, uint32(v)<<shift&mask, mask)
}

func constant(v uint32) func(*port, int) uint32 {
	return func(*port, int) uint32 { return v }
}

// identification are the last registers of a device's page: a byte each.
func identification(from uint64, bytes ...uint32) register {
	return register{from: from, bytes: 4 * uint64(len(bytes)), load: func(_ *port, word int) uint32 { return bytes[word] }}
}

// perInterrupt is a row with one register for each 32 interrupts.
const perInterrupt = interruptIDs / 8

// distributor are the registers of GICD (GIC, 4.1.2, table 4-1).
var distributor = []register{
	{from: 0x000, bytes: 4, load: (*port).distributorControl, store: (*port).setDistributorControl},
	{from: 0x004, bytes: 4, load: (*port).distributorType},
	{from: 0x008, bytes: 4, load: constant(0x0200143b)}, // GIC-400
	bitmap(0x100, func(b *bank) uint32 { return b.enabled }, func(b *bank, v uint32) { b.enabled |= v }),
	bitmap(0x180, func(b *bank) uint32 { return b.enabled }, func(b *bank, v uint32) { b.enabled &^= v }),
	bitmap(0x200, (*bank).pending, func(b *bank, v uint32) { b.latched |= v }),
	bitmap(0x280, (*bank).pending, func(b *bank, v uint32) { b.latched &^= v }),
	{from: 0x300, bytes: perInterrupt, load: loadBits(func(b *bank) uint32 { return b.active }), store: (*port).setActive},
	{from: 0x380, bytes: perInterrupt, load: loadBits(func(b *bank) uint32 { return b.active }), store: (*port).clearActive},
	{from: 0x400, bytes: interruptIDs, single: true, load: (*port).priorities, store: (*port).setPriorities},
	{from: 0x800, bytes: interruptIDs, single: true, load: (*port).loadTargets, store: (*port).setTargets},
	{from: 0xc00, bytes: interruptIDs / 4, load: (*port).configuration, store: (*port).setConfiguration},
	{from: 0xf00, bytes: 4, store: (*port).generate},
	{from: 0xf10, bytes: firstPrivate, single: true, load: (*port).sendersOf, store: (*port).clearSenders},
	{from: 0xf20, bytes: firstPrivate, single: true, load: (*port).sendersOf, store: (*port).setSenders},
	identification(0xfd0, 0x04, 0, 0, 0, 0x90, 0xb4, 0x2b, 0, 0x0d, 0xf0, 0x05, 0xb1), // GIC-400
}

// bitmap is a row of registers with a bit for each interrupt, in which ones that are stored have an effect. They
// have none on software generated interrupts: those are enabled for good, as in a GIC-400, and pending for senders,
// whose registers are others (GIC, 4.3.5 to 4.3.8).
func bitmap(from uint64, get func(*bank) uint32, set func(*bank, uint32)) register {
	return register{from: from, bytes: perInterrupt, load: loadBits(get), store: func(p *port, word int, v, _ uint32) {
		if word == 0 {
			v &= privateIDs &^ (1<<firstPrivate - 1)
		}
		set(p.b.gic.bank(p.cpu, word), v)
		p.changedBank(word)
	}}
}

func loadBits(get func(*bank) uint32) func(*port, int) uint32 {
	return func(p *port, word int) uint32 { return get(p.b.gic.bank(p.cpu, word)) }
}

func (p *port) setActive(word int, v, _ uint32) {
	if word == 0 {
		v &= privateIDs
	}
	p.b.gic.bank(p.cpu, word).active |= v
	p.changedBank(word)
}

func (p *port) clearActive(word int, v, _ uint32) {
	p.b.gic.bank(p.cpu, word).active &^= v
	p.changedBank(word)
}

func (p *port) distributorControl(int) uint32 { return flag(p.b.gic.enabled, 0) }

func (p *port) setDistributorControl(_ int, v, _ uint32) {
	p.b.gic.enabled = v&1 != 0
	p.changed()
}

// distributorType is GICD_TYPER: how many banks there are beside the private one, and CPUs beside the first.
func (p *port) distributorType(int) uint32 { return uint32(len(p.b.gic.cpus)-1)<<5 | sharedBanks }

// Registers with a byte for each interrupt have four of them in a word.
func fourBytes(b []uint8) (v uint32) {
	for i, x := range b[:4] {
		v |= uint32(x) << (8 * i)
	}
	return v
}

func setFourBytes(b []uint8, v, mask uint32) {
	for i := range b[:4] {
		if mask>>(8*i)&0xff != 0 {
			b[i] = uint8(v >> (8 * i))
		}
	}
}

// bytesOf are the four interrupts of a word.
func (p *port) bytesOf(word int) (b *bank, first int) {
	return p.b.gic.bank(p.cpu, word/8), word % 8 * 4
}

// exist has the bytes of the four interrupts of a word that exist.
func exist(word int) (mask uint32) {
	for i := range 4 {
		if id := 4*word + i; id >= firstShared || uint32(privateIDs)>>id&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return mask
}

func (p *port) priorities(word int) uint32 {
	b, n := p.bytesOf(word)
	return fourBytes(b.priority[n:])
}

func (p *port) setPriorities(word int, v, mask uint32) {
	b, n := p.bytesOf(word)
	setFourBytes(b.priority[n:], v&(priorityMask*0x01010101), mask&exist(word))
	p.changedBank(word / 8)
}

// loadTargets is GICD_ITARGETSR. The targets of a CPU's own interrupts are that CPU, and those registers can only be
// read. None are there in a controller of one CPU.
func (p *port) loadTargets(word int) uint32 {
	switch b, n := p.bytesOf(word); {
	case len(p.b.gic.cpus) == 1:
		return 0
	case word < firstShared/4:
		return 1 << p.cpu * 0x01010101 & exist(word)
	default:
		return fourBytes(b.targets[n:])
	}
}

func (p *port) setTargets(word int, v, mask uint32) {
	if word < firstShared/4 || len(p.b.gic.cpus) == 1 {
		return
	}
	b, n := p.bytesOf(word)
	all := uint32(1)<<len(p.b.gic.cpus) - 1
	setFourBytes(b.targets[n:], v&(all*0x01010101), mask)
	p.changed()
}

// configuration is GICD_ICFGR: two bits for each interrupt, of which the upper one says that edges count. The lower
// one is of an older model and reads as one, but for software generated interrupts.
func (p *port) configuration(word int) uint32 {
	b := p.b.gic.bank(p.cpu, word/2)
	v := spread(uint16(b.edge>>(word%2*16))) << 1
	if word > 0 {
		v |= 0x55555555
	}
	if word == 1 {
		v &= spread(privateIDs>>16&0xffff) * 3
	}
	return v
}

func (p *port) setConfiguration(word int, v, _ uint32) {
	if word < 2 {
		return
	}
	b, shift := p.b.gic.bank(p.cpu, word/2), word%2*16
	b.edge = b.edge&^(0xffff<<shift) | gather(v>>1)<<shift
	p.changed()
}

// spread puts bit i of v at bit 2*i, gather does the reverse.
func spread(v uint16) (out uint32) {
	for ; v != 0; v &= v - 1 {
		out |= 1 << (2 * bits.TrailingZeros16(v))
	}
	return out
}

func gather(v uint32) (out uint32) {
	for i := range 16 {
		out |= v >> (2 * i) & 1 << i
	}
	return out
}

// sendersOf is the byte of each of four software generated interrupts that says for whom they are pending.
func (p *port) sendersOf(word int) uint32 { return fourBytes(p.b.gic.cpus[p.cpu].senders[4*word:]) }

func (p *port) setSenders(word int, v, _ uint32)   { p.eachSender(word, v, (*interrupts).request) }
func (p *port) clearSenders(word int, v, _ uint32) { p.eachSender(word, v, (*interrupts).withdraw) }

func (p *port) eachSender(word int, v uint32, f func(c *interrupts, id int, senders uint8)) {
	all := uint8(1<<len(p.b.gic.cpus) - 1)
	for i := range 4 {
		f(p.b.gic.cpus[p.cpu], 4*word+i, uint8(v>>(8*i))&all)
	}
}

// interfaces are the registers of GICC (GIC, 4.1.3, table 4-2). The other group has none.
var interfaces = []register{
	{from: 0x00, bytes: 4, load: (*port).interfaceControl, store: (*port).setInterfaceControl},
	{
		from: 0x04, bytes: 4, load: func(p *port, _ int) uint32 { return uint32(p.own().mask) },
		store: func(p *port, _ int, v, _ uint32) { p.own().mask = uint8(v & priorityMask) },
	},
	{
		from: 0x08, bytes: 4, load: func(p *port, _ int) uint32 { return uint32(p.own().binary) },
		store: func(p *port, _ int, v, _ uint32) { p.own().binary = max(uint8(v&7), minBinary) },
	},
	{from: 0x0c, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.gic.acknowledge(p.cpu) }},
	{from: 0x10, bytes: 4, store: func(p *port, _ int, v, _ uint32) { p.ends((*gic).end, v) }},
	{from: 0x14, bytes: 4, load: func(p *port, _ int) uint32 { return min(p.own().running(), 0xff) }},
	{from: 0x18, bytes: 4, load: (*port).highestPending},
	{
		from: 0xd0, bytes: 4, load: func(p *port, _ int) uint32 { return p.own().apr },
		store: func(p *port, _ int, v, _ uint32) { p.own().apr = v },
	},
	{from: 0xfc, bytes: 4, load: constant(0x0202143b)}, // GIC-400
	{from: 0x1000, bytes: 4, store: func(p *port, _ int, v, _ uint32) { p.ends((*gic).deactivate, v) }},
}

// own returns the interrupts of the CPU.
func (p *port) own() *interrupts { return p.b.gic.cpus[p.cpu] }

// ends ends an interrupt. A shared one may be pending for another CPU, too.
func (p *port) ends(f func(g *gic, cpu int, v uint32), v uint32) {
	f(p.b.gic, p.cpu, v)
	p.changedBank(int(v & 0x3ff / 32))
}

const splitBit = 9 // GICC_CTLR.EOImode

func (p *port) interfaceControl(int) uint32 {
	return flag(p.own().enabled, 0) | flag(p.own().split, splitBit)
}

func (p *port) setInterfaceControl(_ int, v, _ uint32) {
	p.own().enabled, p.own().split = v&1 != 0, v>>splitBit&1 != 0
}

// highestPending is GICC_HPPIR. Neither mask nor preemption count (GIC, 4.4.7).
func (p *port) highestPending(int) uint32 {
	id, _ := p.b.gic.highest(p.cpu)
	if id < firstPrivate {
		id |= bits.TrailingZeros8(p.own().senders[id]) << 10
	}
	return uint32(id)
}

func flag(on bool, bit int) uint32 {
	if on {
		return 1 << bit
	}
	return 0
}
