package x86

import (
	"kprobesim/cpus/engine"
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
	c.R[rax], c.R[rdx] = v&0xffffffff, v>>32
}

func (c *CPU) tsc() uint64 {
	c.Settle()
	return uint64(int64(c.Now()/clock.PerCycle) + c.msr.tscOffset)
}

func rdmsr(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	switch n := uint32(c.R[rcx]); n {
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
func (c *CPU) apicBase() uint64 { return APICBase | 1<<11 | boolBit(c.Num == 0)<<8 }

// CR8 is the upper half of the local APIC's task priority register (SDM vol. 3, 10.8.6).
const apicTPR = APICBase + 0x80

func (c *CPU) taskPriority() uint64 {
	if c.Bus.Device == nil {
		return 0
	}
	return c.Bus.Device.Load(apicTPR, 4) >> 4 & 15
}

func (c *CPU) setTaskPriority(v uint64) {
	if v > 15 {
		c.raiseCode(vecGP, 0)
		return
	}
	c.StoreDevice(apicTPR, 4, v<<4)
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
	c.Counts.ContextSyncs++
	v := c.R[rdx]<<32 | c.R[rax]&0xffffffff
	n := uint32(c.R[rcx])
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
	c.R[rcx], c.R[r11] = c.R[rRIP], c.flags()&^flagRF
	c.R[rRIP] = c.msr.lstar
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
	if !canonical(c.R[rcx]) {
		c.raiseCode(vecGP, 0)
		return
	}
	c.R[rRIP] = c.R[rcx]
	c.setFlags(c.R[r11], 0x3c7fd7&^flagRF)
	sel := uint16(c.msr.star >> 48)
	c.seg[segCS] = segment{sel: sel + 16 | 3, attr: 0xa0fb, limit: ^uint32(0)}
	c.seg[segSS] = segment{sel: sel + 8 | 3, attr: 0xc0f3, limit: ^uint32(0)}
	c.setCPL(3)
}

func hlt(c *CPU, _ *inst) {
	if c.privileged() {
		c.Halted = true
		c.Stop |= engine.StopBlock
		c.Check |= engine.CheckInterrupts
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
		if c.ctl&flagIF == 0 {
			c.Single |= oneShadow
		}
		c.ctl |= flagIF
		c.Check |= engine.CheckState
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
		c.R[in.dst&63] = c.cr0
	case 2:
		c.R[in.dst&63] = c.cr2
	case 3:
		c.R[in.dst&63] = c.cr3
	case 4:
		c.R[in.dst&63] = c.cr4
	case 8:
		c.R[in.dst&63] = c.taskPriority()
	default:
		c.raise(vecUD)
	}
}

func movToCR(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	if in.aux != 8 { // the one control register that is no serializing instruction
		c.Counts.ContextSyncs++
	}
	v := c.R[in.src&63]
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
	c.ITLB.Flush(all)
	c.DTLB.Flush(all)
	c.ForgetTranslations()
}

func invlpg(c *CPU, in *inst) {
	if c.privileged() {
		va := c.ea(in)
		c.ITLB.Drop(va)
		c.DTLB.Drop(va)
		c.ForgetTranslations()
		c.Counts.ContextSyncs++
	}
}

func wbinvd(c *CPU, _ *inst) {
	if c.privileged() {
		c.Counts.ContextSyncs++
	}
}

// cpuid answers as a Core 2 (family 6, model 23) without the vector extensions that are not modelled,
// and in 32-bit mode without long mode, which cannot be entered from there.
func cpuid(c *CPU, _ *inst) {
	c.Counts.ContextSyncs++
	var a, b, x, d uint32
	switch uint32(c.R[rax]) {
	case 0:
		a, b, d, x = 1, 0x756e6547, 0x49656e69, 0x6c65746e
	case 1:
		a, b = 0x10676, uint32(c.Num)<<24|1<<16|8<<8
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
	c.R[rax], c.R[rbx], c.R[rcx], c.R[rdx] = uint64(a), uint64(b), uint64(x), uint64(d)
}
