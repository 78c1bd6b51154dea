package x86

import (
	"kprobesim/internal/clock"
)

// Model-specific registers that are modelled, by number (SDM vol. 4).
const (
	msrTSC          = 0x10
	msrAPICBase     = 0x1b
	msrSysenterCS   = 0x174
	msrSysenterESP  = 0x175
	msrSysenterEIP  = 0x176
	msrDebugCtl     = 0x1d9
	msrPAT          = 0x277
	msrEFER         = 0xc0000080
	msrSTAR         = 0xc0000081
	msrLSTAR        = 0xc0000082
	msrCSTAR        = 0xc0000083
	msrFMASK        = 0xc0000084
	msrFSBase       = 0xc0000100
	msrGSBase       = 0xc0000101
	msrKernelGSBase = 0xc0000102

	eferSCE = 1 << 0
	eferLME = 1 << 8
	eferLMA = 1 << 10
	eferNXE = 1 << 11
)

type msrs struct {
	efer, star, lstar, cstar, fmask uint64
	kernelGS, pat, debugctl         uint64
	sysenter                        [3]uint64
	tscOffset                       int64
}

// slotOf finds the storage of a plain MSR.
func (c *CPU) slotOf(n uint32) *uint64 {
	switch n {
	case msrEFER:
		return &c.msr.efer
	case msrSTAR:
		return &c.msr.star
	case msrLSTAR:
		return &c.msr.lstar
	case msrCSTAR:
		return &c.msr.cstar
	case msrFMASK:
		return &c.msr.fmask
	case msrFSBase:
		return &c.segBase[segFS]
	case msrGSBase:
		return &c.segBase[segGS]
	case msrKernelGSBase:
		return &c.msr.kernelGS
	case msrPAT:
		return &c.msr.pat
	case msrDebugCtl:
		return &c.msr.debugctl
	case msrSysenterCS, msrSysenterESP, msrSysenterEIP:
		return &c.msr.sysenter[n-msrSysenterCS]
	}
	return nil
}

func (c *CPU) privileged() bool {
	if c.cpl != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

func (c *CPU) putPair(v uint64) {
	c.r[rax], c.r[rdx] = v&0xffffffff, v>>32
}

func (c *CPU) tsc() uint64 {
	c.settleBefore()
	return uint64(int64(c.retire/clock.PerCycle) + c.msr.tscOffset)
}

func rdmsr(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	switch n := uint32(c.r[rcx]); n {
	case msrTSC:
		c.putPair(c.tsc())
	case msrAPICBase:
		c.putPair(c.apicBase())
	default:
		p := c.slotOf(n)
		if p == nil {
			c.raiseCode(vecGP, 0)
			return
		}
		c.putPair(*p)
	}
}

// apicBase is where the local APIC is, enabled, and whether the CPU is the bootstrap processor.
func (c *CPU) apicBase() uint64 { return APICBase | 1<<11 | boolBit(c.num == 0)<<8 }

// CR8 is the upper half of the local APIC's task priority register (SDM vol. 3, 10.8.6).
const apicTPR = APICBase + 0x80

func (c *CPU) taskPriority() uint64 {
	if c.bus.Device == nil {
		return 0
	}
	return c.bus.Device.Load(apicTPR, 4) >> 4 & 15
}

func (c *CPU) setTaskPriority(v uint64) {
	if v > 15 {
		c.raiseCode(vecGP, 0)
		return
	}
	c.storeDevice(apicTPR, 4, v<<4)
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func wrmsr(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	c.ctr.ContextSyncs++
	v := c.r[rdx]<<32 | c.r[rax]&0xffffffff
	n := uint32(c.r[rcx])
	p := c.slotOf(n)
	switch {
	case n == msrTSC:
		c.msr.tscOffset += int64(v - c.tsc())
	case n == msrAPICBase:
		if v != c.apicBase() {
			c.unmodelled(0, "a local APIC that moves, sleeps or is an x2APIC: %#x in its base register", v)
		}
	case p == nil:
		c.raiseCode(vecGP, 0)
	case (n == msrFSBase || n == msrGSBase || n == msrKernelGSBase || n == msrLSTAR) && !canonical(v):
		c.raiseCode(vecGP, 0)
	case n == msrEFER && !c.long && v&eferLME != 0:
		c.raiseCode(vecGP, 0) // long mode cannot be entered with paging on
	case n == msrEFER:
		*p = v&(eferSCE|eferLME|eferNXE) | *p&eferLMA
		c.setTables()
	default:
		*p = v
	}
}

func rdtsc(c *CPU, _ *inst) {
	if c.cr4&cr4TSD != 0 && !c.privileged() {
		return
	}
	c.putPair(c.tsc())
}

func swapgs(c *CPU, _ *inst) {
	if c.privileged() {
		c.segBase[segGS], c.msr.kernelGS = c.msr.kernelGS, c.segBase[segGS]
	}
}

func syscall(c *CPU, in *inst) {
	if c.msr.efer&eferSCE == 0 {
		execUndefined(c, in)
		return
	}
	c.r[rcx], c.r[r11] = c.r[rRIP], c.flags()&^flagRF
	c.r[rRIP] = c.msr.lstar
	c.holdTraps = c.ctl&flagTF != 0 && c.msr.fmask&flagTF != 0 // a masked TF does not trap behind it
	c.setFlags(0, c.msr.fmask)
	sel := uint16(c.msr.star>>32) &^ 3
	c.seg[segCS] = segment{sel: sel, attr: 0xa09b, limit: ^uint32(0)}
	c.seg[segSS] = segment{sel: sel + 8, attr: 0xc093, limit: ^uint32(0)}
	c.setCPL(0)
}

func sysret(c *CPU, in *inst) {
	if c.msr.efer&eferSCE == 0 {
		execUndefined(c, in)
		return
	}
	if !c.privileged() {
		return
	}
	if !canonical(c.r[rcx]) {
		c.raiseCode(vecGP, 0)
		return
	}
	c.r[rRIP] = c.r[rcx]
	c.setFlags(c.r[r11], 0x3c7fd7&^flagRF)
	sel := uint16(c.msr.star >> 48)
	c.seg[segCS] = segment{sel: sel + 16 | 3, attr: 0xa0fb, limit: ^uint32(0)}
	c.seg[segSS] = segment{sel: sel + 8 | 3, attr: 0xc0f3, limit: ^uint32(0)}
	c.setCPL(3)
}

func hlt(c *CPU, _ *inst) {
	if c.privileged() {
		c.halted = true
		c.stop |= stopBlock
		c.attend |= attendIRQ
	}
}

// interruptsAllowed applies IOPL to cli and sti.
func (c *CPU) interruptsAllowed() bool {
	if c.cpl > uint8(c.ctl>>12&3) {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

func cli(c *CPU, _ *inst) {
	if c.interruptsAllowed() {
		c.ctl &^= flagIF
	}
}

func sti(c *CPU, _ *inst) {
	if c.interruptsAllowed() {
		c.shadow = c.ctl&flagIF == 0
		c.ctl |= flagIF
		c.attend |= attendFlags
	}
}

func pushf[T width](c *CPU, _ *inst) { push(c, T(c.flags()&^(flagRF|flagVM))) }

func popf[T width](c *CPU, _ *inst) {
	v, ok := pop[T](c)
	if !ok {
		return
	}
	mask := uint64(arith | flagTF | flagDF | flagNT | flagAC | flagID)
	switch {
	case c.cpl == 0:
		mask |= flagIF | flagIOPL
	case c.cpl <= uint8(c.ctl>>12&3):
		mask |= flagIF
	}
	c.setFlags(uint64(v), mask&uint64(^T(0)))
}

func clts(c *CPU, _ *inst) {
	if c.privileged() {
		c.cr0 &^= cr0TS
	}
}

func movFromCR(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	switch in.aux {
	case 0:
		c.r[in.dst&31] = c.cr0
	case 2:
		c.r[in.dst&31] = c.cr2
	case 3:
		c.r[in.dst&31] = c.cr3
	case 4:
		c.r[in.dst&31] = c.cr4
	case 8:
		c.r[in.dst&31] = c.taskPriority()
	default:
		c.raise(vecUD)
	}
}

func movToCR(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	c.ctr.ContextSyncs++
	v := c.r[in.src&31]
	switch in.aux {
	case 0:
		if v&(cr0PE|cr0PG) != cr0PE|cr0PG || v>>32 != 0 {
			c.raiseCode(vecGP, 0) // leaving paged protected mode is not modelled
			return
		}
		c.cr0 = v | cr0ET
		c.flushTLB(true)
	case 2:
		c.cr2 = v
	case 3:
		c.cr3 = v
		c.flushTLB(false)
	case 4:
		if v&cr4PAE == 0 && c.long {
			c.raiseCode(vecGP, 0)
			return
		}
		c.cr4 = v
		c.setTables()
		c.flushTLB(true)
	case 8:
		c.setTaskPriority(v)
	default:
		c.raise(vecUD)
	}
}

func (c *CPU) flushTLB(all bool) {
	c.itlb.Flush(all)
	c.dtlb.Flush(all)
	c.forgetAll()
}

func invlpg(c *CPU, in *inst) {
	if c.privileged() {
		va := c.ea(in)
		c.itlb.Drop(va)
		c.dtlb.Drop(va)
		c.forgetAll()
	}
}

func wbinvd(c *CPU, _ *inst) { c.privileged() }

// cpuid answers as a Core 2 (family 6, model 23) without the vector extensions that are not modelled,
// and in 32-bit mode without long mode, which cannot be entered from there.
func cpuid(c *CPU, _ *inst) {
	c.ctr.ContextSyncs++
	var a, b, x, d uint32
	switch uint32(c.r[rax]) {
	case 0:
		a, b, d, x = 1, 0x756e6547, 0x49656e69, 0x6c65746e
	case 1:
		a, b = 0x10676, uint32(c.num)<<24|1<<16|8<<8
		d = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<8 | 1<<9 | 1<<11 | 1<<13 | 1<<15 | 1<<16 | 1<<19
		if c.long {
			x = 1 << 13 // cmpxchg16b
		}
	case 0x80000000:
		a = 0x80000008
	case 0x80000001:
		d = 1 << 20 // pages that are not executed
		if c.long {
			x, d = 1, d|1<<11|1<<29 // lahf, syscall, long mode
		}
	case 0x80000008:
		if a = 32<<8 | 36; c.long {
			a = 48<<8 | 38
		}
	}
	c.r[rax], c.r[rbx], c.r[rcx], c.r[rdx] = uint64(a), uint64(b), uint64(x), uint64(d)
}
