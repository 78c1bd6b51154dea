package ppc64

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestHostDecidesNothing runs random programs that write into their own and each other's code, change the page table, drop
// translations or not, and are interrupted.
func TestHostDecidesNothing(t *testing.T) {
	cpustest.HostDecidesNothing(t, [2]uint64{churnCode + 0x400, churnCode + 0x900}, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] {
		return newChurn(t, n, seed).rig
	})
}

// Places of a churn. Code lies at two addresses, of which the pages of the first change between two copies of it.
const (
	churnCode   = 0x1000_0000
	churnAlias  = 0x1001_0000
	churnData   = 0x2000_0000
	churnTable  = 0x2000_8000 // constants, behind eight pages of data of which the last comes and goes
	churnDevice = 0x3000_0000
	churnHashed = 0x4000_0000 // the page table
	churnPages  = 3           // of code
	churnRAM    = 0x100000
	churnCopy   = 0x110000
	churnDRAM   = 0x120000
	churnIO     = 0x8000_0000 // real
)

// churn is a machine with a random program. r20 to r31 stay what they are.
type churn struct {
	*world
	cpustest.Words
	rig   *cpustest.Rig[*CPU]
	loops int
	kind  int
}

func newChurn(t *testing.T, n int, seed uint64) *churn {
	r := rand.New(rand.NewPCG(seed, 17))
	const size = churnPages << 12
	w := newWorld(t, []string{cpus.Window, cpus.Window, cpus.Throughput}[r.IntN(3)], nil,
		mmu.Mapping{VA: churnCode, PA: churnRAM, Size: size, Writable: true, Exec: true},
		mmu.Mapping{VA: churnAlias, PA: churnRAM, Size: size, Writable: true, Exec: true},
		mmu.Mapping{VA: churnData, PA: churnDRAM, Size: 0x9000, Writable: true},
		mmu.Mapping{VA: churnDevice, PA: churnIO, Size: 0x1000, Writable: true, Uncached: true},
		mmu.Mapping{VA: churnHashed, PA: worldTables, Size: 0x80000, Writable: true})
	c := &churn{world: w, Words: cpustest.NewWords(r, binary.BigEndian), kind: int(seed / 4 % kinds)}
	c.rig = &cpustest.Rig[*CPU]{
		Memory: w.mem, Registers: func(c *CPU) any {
			return [2]any{c.R, [6]uint64{c.msr, c.srr[0], c.srr[1], c.dar, c.dsisr, c.sprg[0]}}
		},
	}
	if w.cfg.Model == cpus.Window {
		anyShape(r, r.IntN(3) != 0)(&w.cfg)
	}
	cpustest.Narrow(&w.cfg, 128)
	w.keep(c.kind)
	cpustest.Ahead(&w.cfg, seed)
	if errs := w.cfg.Check(ISA()); errs != nil {
		t.Fatal(errs)
	}
	w.bus.Native = [2]uint64{1, 1}
	c.write()
	c.rig.Fill(n, r, c.cpu)
	return c
}

// anyShape returns a change of a machine to a random one.
func anyShape(r *rand.Rand, grouped bool) func(cfg *cpus.Config) {
	seed := r.Uint64()
	return func(cfg *cpus.Config) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg.Width, cfg.Window = 5, 5*(1+r.IntN(20))
		cfg.Groups = cpus.Groups{On: grouped, BranchSlots: r.IntN(2)}
		cfg.FrontEnd = cpus.FrontEnd{FetchBytes: []int{0, 32}[r.IntN(2)], Queue: r.IntN(30)}
		const slot = clock.PerCycle / 5
		for _, name := range ISA().Classes {
			k := cpus.Cost{
				Issue: slot * clock.Ticks(1+r.IntN(2)), Latency: slot * clock.Ticks(r.IntN(40)), Latency2: slot * clock.Ticks(r.IntN(3)*r.IntN(20)),
				Port: []string{"", "alu", "branch"}[r.IntN(3)], Alone: grouped && r.IntN(8) == 0, InOrder: r.IntN(12) == 0,
			}
			if k.Alone {
				k.Issue *= clock.Ticks(1 + r.IntN(8))
			}
			cfg.Classes[name] = k
		}
	}
}

// cpu makes a CPU.
func (c *churn) cpu(i int) *CPU {
	c.rig.Bus(&c.bus, 0)
	x := build(ISA(), i, &c.cfg, c.bus)
	x.Boot(c.Some(churnCode), 0)
	for r := range uint64(20) {
		x.R[r] = r * 0x0123456789abcdef
	}
	x.R[31], x.R[30], x.R[29], x.R[28], x.R[27] = churnTable, churnData, churnCode, churnHashed, churnDevice
	x.R[26], x.R[25] = churnIO, churnDRAM // for real mode
	return x
}

// entry returns where the page table has an address.
func (c *churn) entry(va uint64) (at, virtual uint64) {
	x := &CPU{sdr1: c.bus.Root}
	x.Memory = c.mem
	x.loadSegments()
	for i := range x.slb {
		if s := &x.slb[i]; s.covers(va) {
			h := hashWalk{m: c.mem, sdr1: c.bus.Root, s: s, ea: va}
			at, ok := h.find()
			require.Need(c.tb, ok, "%#x is not mapped", va)
			return at, s.virtual(va)
		}
	}
	c.tb.Fatalf("%#x has no segment", va)
	return 0, 0
}

// constant loads a number from the table into a register.
func (c *churn) constant(r uint32, v uint64) uint32 {
	at := 8 * (0xa0 + c.Constant(v, 0x1ff-0xa0)) // behind addresses to jump to
	c.mem.Store(binary.BigEndian, churnDRAM+0x8000+uint64(at), 8, v)
	return ldAt(r, 31, at)
}

// write writes code and handlers.
func (c *churn) write() {
	c.Fill(churnPages<<10-60, c.gadget)
	c.Add(insnI(4*uint64(len(c.Code)), 0))
	for i := range uint64(32) {
		at := c.Some([]uint64{churnCode, churnAlias}[c.IntN(2)])
		c.mem.Store(binary.BigEndian, churnDRAM+0x8400+8*i, 8, at)
	}
	c.Words.Write(c.mem, churnRAM, churnCopy)
	for v := uint64(0x100); v < 0x1000; v += 0x80 {
		c.words(v, mtspr(273, 3), ldAt(3, 25, int(v)), addiTo(3, 3, 1), stdAt(3, 25, int(v)), mfsprOf(3, 26), addiTo(3, 3, 4), mtspr(26, 3),
			mfsprOf(3, 273), insnRfid)
	}
	c.words(vecSyscall, insnRfid)
	c.words(vecExternal, mtspr(273, 3), li(3, 0), insnD(36, 3, 26, 8), ldAt(3, 25, 0x500), addiTo(3, 3, 1), stdAt(3, 25, 0x500),
		mfsprOf(3, 273), insnRfid)
	for _, v := range []uint64{vecInst, vecInstSegment} { // a wild jump, which does not come back
		c.words(v, mtspr(273, 3), lis(3, churnCode>>16), mtspr(26, 3), mfsprOf(3, 273), insnRfid)
	}
	at, _ := c.entry(churnData + 0x7000)
	find := append([]uint32{mtspr(273, 3), mtspr(274, 4)}, address(4, at)...)
	find = append(find, ldAt(3, 25, 0x8ff8), stdAt(3, 4, 0), mfsprOf(3, 273), mfsprOf(4, 274), insnRfid)
	c.mem.Store(binary.BigEndian, churnDRAM+0x8ff8, 8, c.mem.Load(binary.BigEndian, at, 8))
	c.mem.Store(binary.BigEndian, vecData, 8, 0)
	c.words(vecData, find[:8]...)
	c.words(vecData+32, find[8:]...)
}

// data is an offset of some operand.
func (c *churn) data() int {
	switch c.IntN(4) {
	case 0:
		return c.IntN(6)<<12 + 0xff0 + 4*c.IntN(6)
	case 1:
		return 4 * c.IntN(16)
	}
	return c.IntN(7)<<12 + 0x7f00&c.IntN(0x1000) + c.IntN(3)*0x800&0x7ff
}

func (c *churn) low() uint32 { return 3 + c.Uint32N(8) }

// gadget adds one.
func (c *churn) gadget() {
	switch c.IntN(19) {
	case 0, 1, 2:
		r := c.low()
		c.Site(addiTo(r, r, 3), addTo(r, c.low(), c.low()), insnNop, 18<<26|4, insnX(31, c.low(), c.low(), c.low(), 316), insnTrap, li(r, 5))
	case 3, 4:
		c.Add([]uint32{insnD(32, c.low(), 30, c.data()), ldAt(c.low(), 30, c.data()&^3), insnD(34, c.low(), 30, c.data())}[c.IntN(3)])
	case 5, 6:
		c.Add([]uint32{insnD(36, c.low(), 30, c.data()), stdAt(c.low(), 30, c.data()&^3), insnD(38, c.low(), 30, c.data())}[c.IntN(3)])
	case 7: // a loop of some rounds
		at := 0x200 + c.loops%0x600
		c.loops++
		c.Add(insnD(34, 3, 30, at), addiTo(3, 3, 1), insnD(38, 3, 30, at), insnD(28, 3, 3, []int{1, 3, 7}[c.IntN(3)]))
		c.Add(branchIf(4, 2, c.Behind()))
	case 8:
		c.Add(compareImm(0, c.low(), 5), branchIf(12, c.Uint32N(3), 8), insnNop)
	case 9, 10, 11, 12:
		c.patch()
	case 13:
		c.remap()
	case 14: // interrupts on or off
		c.Add(li(3, 0))
		if c.IntN(3) != 0 {
			c.Add(ori(3, 3, msrEE))
		}
		c.Add(insnX(31, 3, 1, 0, 178))
	case 15: // the time, and the address that a store conditional is for
		c.Add(insnSPR(3, 268, 371), stdAt(3, 30, c.data()&^7), addiTo(4, 30, 64*c.IntN(4)), insnX(31, 5, 0, 4, 20), insnX(31, 6, 0, 4, 150)|1)
	case 16: // a function
		c.Add(18<<26|8|1, 18<<26|12, addiTo(5, 5, 1), insnBlr)
	case 17:
		c.jump()
	case 18:
		c.Add([]uint32{insnSC, insnTrap, insnD(47, 24, 30, 4*c.IntN(0x700)), insnIsync, insnD(36, c.Uint32N(4), 27, 0)}[c.IntN(5)])
	}
}

// jump adds a jump to another gadget each time.
func (c *churn) jump() {
	c.Add(insnD(34, 3, 30, 0x1ff), addiTo(3, 3, 1), insnD(38, 3, 30, 0x1ff), insnM(21, 3, 3, 3, 24, 28), addiTo(3, 3, 0x400),
		insnX(31, 3, 31, 3, 21), mtspr(9, 3), 0x4e800420) // rlwinm by 3 of five bits; ldx
}

// patch adds a store into code, behind which caches may be told.
func (c *churn) patch() {
	code := []uint32{0, insnD(36, 3, 29, 0)}
	sync := []uint32{addiTo(4, 29, 0), dcbst(4), 0x7c0004ac, icbiOf(4), insnIsync}
	if c.IntN(3) == 0 {
		code = append(code, sync...)
	}
	c.Patch(code, func(code []uint32, to int, word uint32) {
		code[0] = c.constant(3, uint64(word))
		code[1] |= uint32(to)
		if len(code) > 2 && code[2] == sync[0] {
			code[2] |= uint32(to)
		}
	})
}

// remap adds a store into the page table, after which translations may be dropped.
func (c *churn) remap() {
	i := uint64(c.IntN(churnPages))
	va, half, v := churnCode+i<<12, uint64(8), []uint64{churnRAM, churnCopy}[c.IntN(2)]+i<<12
	switch c.IntN(3) {
	case 0:
		i = 1 + uint64(c.IntN(6))
		va, v = churnData+i<<12, churnDRAM+(i^uint64(c.IntN(2)))<<12
	case 1:
		va, half = churnData+7<<12, 0
	}
	at, virtual := c.entry(va)
	v |= c.mem.Load(binary.BigEndian, at+8, 8) & 0xfff
	if half == 0 {
		v = 0
	}
	c.Add(c.constant(3, v), c.constant(4, at+half-worldTables), insnX(31, 3, 28, 4, 149)) // stdx
	if c.IntN(3) != 0 {
		c.Add(c.constant(5, virtual), insnX(31, 0, 0, 5, 306), 0x7c0004ac) // tlbie; ptesync
	}
}
