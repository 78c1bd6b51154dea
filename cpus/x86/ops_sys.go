package x86

import (
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Model-specific registers that are modelled, by number (SDM vol. 4).
const (
	msrTSC          = 0x10
	msrSpecCtrl     = 0x48
	msrPredCmd      = 0x49
	msrAPICBase     = 0x1b
	msrBiosSign     = 0x8b
	msrSysenterCS   = 0x174
	msrSysenterESP  = 0x175
	msrSysenterEIP  = 0x176
	msrMiscEnable   = 0x1a0
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

// msrs holds the values of MSRs that have no place elsewhere in a CPU. The time-stamp counter is
// the CPU's time plus an offset, so that writing it moves nothing else.
type msrs struct {
	efer, star, lstar, cstar, fmask uint64
	kernelGS, pat, debugctl         uint64
	biosSign, miscEnable            uint64
	sysenter                        [3]uint64
	tscOffset                       int64
}

// slotOf finds the storage of a plain MSR; nil means that there is none, or that the register needs
// code. PAT, DEBUGCTL, BIOS_SIGN_ID and MISC_ENABLE are kept and have no effect.
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
	case msrBiosSign: // no microcode was loaded
		return &c.msr.biosSign
	case msrMiscEnable:
		return &c.msr.miscEnable
	case msrSysenterCS, msrSysenterESP, msrSysenterEIP:
		return &c.msr.sysenter[n-msrSysenterCS]
	}
	return nil
}

// privileged is the check of instructions that need level 0 (SDM vol. 3, 5.9); false leaves #GP
// pending.
func (c *CPU) privileged() bool {
	if c.cpl != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

// synchronized counts an instruction that completed and synchronizes the CPU: nothing behind it is
// executed that was fetched before. They are the serializing instructions of the manual (SDM vol.
// 3, 8.3): INVD, INVLPG, LGDT, LIDT, LLDT, LTR, MOV to a control register but CR8, MOV to a debug
// register, WBINVD, WRMSR, CPUID and IRET. Of its list INVEPT, INVVPID and RSM are not modelled,
// nor are the MSRs whose writes are exempt. Exceptions, interrupts, SYSCALL and SYSRET are not in
// it, fences order memory accesses only. What synchronizing costs is in the class's price: this is
// the count, and that other CPUs see what was stored before (11.10).
func (c *CPU) synchronized() {
	c.Counts.ContextSyncs++
	c.DrainStores()
}

// mfence waits until other CPUs see what was stored before it.
func mfence(c *CPU, _ *inst) { c.DrainStores() }

// putPair sets edx:eax, whose upper halves are cleared.
func (c *CPU) putPair(v uint64) {
	c.R[rax], c.R[rdx] = v&0xffffffff, v>>32
}

// tsc reads the time-stamp counter. It counts cycles of the simulated clock, at one rate always
// (SDM vol. 3, 17, "Invariant TSC"). Settle brings the time up to the instructions of the running
// block before this one.
//
// CPUs take turns, and without the cost model nothing keeps one from seeing what another has stored a few cycles later. A
// counter that is read then is not behind any that was, as kernels ask of counters that are synchronized.
func (c *CPU) tsc() uint64 {
	c.Settle()
	now := int64(c.Now() / clock.PerCycle)
	if c.latest != nil {
		now = max(now, *c.latest)
		if c.IsUntimed() {
			*c.latest = now
		}
	}
	return uint64(now + c.msr.tscOffset)
}

// rdmsr reads an MSR; one that does not exist is #GP, which kernels use to find out.
func rdmsr(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	n := uint32(c.R[rcx])
	switch n {
	case msrTSC:
		c.putPair(c.tsc())
	case msrAPICBase:
		if !c.answers.apic() {
			c.refuseMSR("rdmsr", n)
			return
		}
		c.putPair(c.apicBase())
	default:
		if p := c.slotOf(n); p != nil {
			c.putPair(*p)
		} else if r, ok := c.answers.msrs[n]; ok {
			c.putPair(r[0])
		} else {
			c.refuseMSR("rdmsr", n)
			return
		}
	}
	c.Reprice(clRdmsr, classRead(n))
}

// classRead and classWrite are the classes of rdmsr and wrmsr by register.
func classRead(n uint32) uint8 {
	switch n {
	case msrFSBase, msrGSBase, msrKernelGSBase:
		return clRdmsrBase
	case msrDebugCtl:
		return clRdmsrDebugCtl
	case msrSpecCtrl:
		return clRdmsrSpecCtrl
	}
	return clRdmsr
}

func classWrite(n uint32) uint8 {
	switch n {
	case msrFSBase, msrGSBase, msrKernelGSBase:
		return clWrmsrBase
	case msrDebugCtl:
		return clWrmsrDebugCtl
	case msrSpecCtrl:
		return clWrmsrSpecCtrl
	case msrPredCmd:
		return clWrmsrPredCmd
	}
	return clWrmsr
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

func (c *CPU) setTaskPriority(v uint64) bool {
	if v > 15 {
		c.raiseCode(vecGP, 0)
		return false
	}
	c.StoreDevice(apicTPR, 4, v<<4)
	return true
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func wrmsr(c *CPU, _ *inst) {
	n := uint32(c.R[rcx])
	if c.privileged() && c.writeMSR(n, c.pair()) {
		c.synchronized()
		c.Reprice(clWrmsr, classWrite(n))
	}
}

// writeMSR writes an MSR; false leaves #GP pending. A base or entry address of 64 bits must be
// canonical (SDM vol. 2, WRMSR).
func (c *CPU) writeMSR(n uint32, v uint64) bool {
	p := c.slotOf(n)
	switch {
	case n == msrTSC:
		c.msr.tscOffset += int64(v - c.tsc())
	case n == msrAPICBase && c.answers.apic():
		if v != c.apicBase() {
			c.unmodelled(0, "a local APIC that moves, sleeps or is an x2APIC: %#x in its base register", v)
			return false
		}
	case p == nil:
		return c.writeAnswered(n, v)
	case holdsAddress(n) && !canonical(v):
		c.raiseCode(vecGP, 0)
		return false
	case n == msrEFER:
		return c.writeEFER(v)
	default:
		*p = v
	}
	return true
}

// holdsAddress tells the MSRs whose value must be canonical.
func holdsAddress(n uint32) bool {
	return n == msrFSBase || n == msrGSBase || n == msrKernelGSBase || n == msrLSTAR
}

// rdtsc is forbidden outside of level 0 by CR4.TSD. Like most processors it does not wait for the
// instructions before it: what it costs is the class's to say.
func rdtsc(c *CPU, _ *inst) {
	if c.cr4&cr4TSD != 0 && !c.privileged() {
		return
	}
	c.putPair(c.tsc())
}

// rdpmc finds no counter, whatever ecx is.
func rdpmc(c *CPU, _ *inst) { c.raiseCode(vecGP, 0) }

// swapgs exists so that the kernel finds its data before it has a free register (SDM vol. 2,
// SWAPGS).
func swapgs(c *CPU, _ *inst) {
	if c.privileged() {
		c.segBase[segGS], c.msr.kernelGS = c.msr.kernelGS, c.segBase[segGS]
	}
}

// syscall enters the kernel at LSTAR with segments that are not read from descriptors but made up
// as the manual says (SDM vol. 2, SYSCALL; vol. 3, 5.8.8). It leaves the stack pointer alone. The
// return address is in rcx and the flags in r11, so no memory is touched.
func syscall(c *CPU, _ *inst) {
	if c.msr.efer&eferSCE == 0 {
		c.raise(vecUD)
		return
	}
	c.R[rcx], c.R[r11] = c.R[rRIP], c.flags()&^flagRF
	c.R[rRIP] = c.msr.lstar
	c.holdTraps = c.ctl&flagTF != 0 && c.msr.fmask&flagTF != 0 // a masked TF does not trap behind it
	c.setFlags(0, c.msr.fmask)
	sel := uint16(c.msr.star>>32) &^ 3
	c.flatSegments(sel, sel+8, 0, true)
}

// sysret64 and sysret32 are the way back, to 64-bit and to compatibility mode. The address is checked
// while still at level 0: the #GP comes with the kernel's privilege and the user's stack pointer, as
// on Intel's processors.
func sysret64(c *CPU, _ *inst) { c.sysret(c.R[rcx], 16, true) }
func sysret32(c *CPU, _ *inst) { c.sysret(c.R[rcx]&0xffffffff, 0, false) }

func (c *CPU) sysret(to uint64, code uint16, long bool) {
	if c.msr.efer&eferSCE == 0 {
		c.raise(vecUD)
		return
	}
	if !c.privileged() || !c.farTarget(to) {
		return
	}
	c.setFlags(c.R[r11], 0x3c7fd7&^flagRF)
	sel := uint16(c.msr.star >> 48)
	c.flatSegments(sel+code, sel+8, 3, long)
	c.R[rRIP] = to
}

// hlt waits for an interrupt. It ends the block: one that has come since interrupts were looked at has the CPU look again before it is
// given up.
func hlt(c *CPU, _ *inst) {
	if c.privileged() {
		c.Halted = true
		c.Stop |= engine.StopBlock
	}
}

// iopl is the outermost level that may change IF and use I/O ports.
func (c *CPU) iopl() uint8 { return uint8(c.ctl >> 12 & 3) }

// interruptsAllowed applies IOPL to cli and sti.
func (c *CPU) interruptsAllowed() bool {
	if c.cpl > c.iopl() {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

// cli takes effect at once. sti holds interrupts off for one instruction more, if they were off, so
// that sti; hlt cannot lose a wake-up (SDM vol. 2, STI). CR4.PVI and VME are not modelled.

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

// pushf shows RF and VM as clear (SDM vol. 2, PUSHF).
func pushf[T width](c *CPU, _ *inst) { push(c, T(c.flags()&^(flagRF|flagVM))) }

// popf may set TF or IF: a trap or an interrupt comes behind the next instruction, or behind this
// one.
func popf[T width](c *CPU, _ *inst) {
	v, ok := pop[T](c)
	if !ok {
		return
	}
	c.setFlags(uint64(v), c.writableFlags()&uint64(^T(0)))
}

// writableFlags are the flags that popf changes at the present level, and iret with some more (SDM
// vol. 2, POPF). What a level may not change is kept without an exception.
func (c *CPU) writableFlags() uint64 {
	mask := uint64(arith | flagTF | flagDF | flagNT | flagAC | flagID)
	switch {
	case c.cpl == 0:
		mask |= flagIF | flagIOPL
	case c.cpl <= c.iopl():
		mask |= flagIF
	}
	return mask
}

// clts clears the bit that makes the next x87 or SSE instruction fault. Nothing here reads it:
// those instructions are undefined.
func clts(c *CPU, _ *inst) {
	if c.privileged() {
		c.cr0 &^= cr0TS
	}
}

// movFromCR reads a control register. Those that do not exist are #UD (SDM vol. 2, MOV, control
// registers).
func movFromCR(c *CPU, in *inst) {
	if !c.existsCR(in.aux) || !c.privileged() {
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
	}
}

// existsCR raises #UD for a control register that does not exist, whatever the level. CR8 is 64-bit
// mode's.
func (c *CPU) existsCR(n uint8) bool {
	if n == 0 || n >= 2 && n <= 4 || n == 8 && c.long {
		return true
	}
	c.raise(vecUD)
	return false
}

// movToCR writes a control register; CR8 is the one whose write does not synchronize (SDM vol. 3,
// 8.3).
func movToCR(c *CPU, in *inst) {
	if c.existsCR(in.aux) && c.privileged() && c.writeCR(in.aux, c.R[in.src&63]) && in.aux != 8 {
		c.synchronized()
	}
}

// flushTLB empties the TLBs, of global pages too when all is set, and the micro-TLBs in front of
// them.
func (c *CPU) flushTLB(all bool) {
	c.ITLB.Flush(all)
	c.DTLB.Flush(all)
	c.ForgetTranslations()
}

// invlpg drops the translation of one page, a global one too (SDM vol. 3, 4.10.4.1). The operand is an address only:
// nothing is loaded from it.
func invlpg(c *CPU, in *inst) {
	if c.privileged() {
		va := c.ea(in)
		c.DropTranslation(va)
		c.synchronized()
	}
}

// maxPCID is the highest tag of an address space.
const maxPCID = 0xfff

// space is the tag of the present address space, 0 where PCIDs are off (SDM vol. 3, 4.10.1).
func (c *CPU) space() uint32 {
	if c.cr4&cr4PCIDE == 0 {
		return 0
	}
	return uint32(c.cr3 & maxPCID)
}

// switchSpace has translations of the present address space alone found.
func (c *CPU) switchSpace() {
	c.ITLB.Switch(c.space())
	c.DTLB.Switch(c.space())
	c.ForgetTranslations()
}

// flushSpace empties the TLBs of an address space, but for global pages.
func (c *CPU) flushSpace(space uint32) {
	c.dropIf(func(p *mmu.Page) bool { return p.Space == space && !p.Global })
}

// dropIf drops the translations of which a function says so.
func (c *CPU) dropIf(match func(p *mmu.Page) bool) {
	c.ITLB.DropIf(match)
	c.DTLB.DropIf(match)
	c.ForgetTranslations()
}

// Types of invpcid (SDM vol. 2, INVPCID).
const (
	invAddress = iota
	invSpace
	invAll
	invNotGlobal
)

// invpcid drops translations by their address space. The operand in memory has a PCID and an address.
func invpcid(c *CPU, in *inst) {
	if c.answers.leaves[leafFeatures][1]&featureINVPCID == 0 {
		c.raise(vecUD)
		return
	}
	if !c.privileged() {
		return
	}
	at := c.ea(in)
	tag, ok := load[uint64](c, at)
	if !ok {
		return
	}
	va, ok := load[uint64](c, (at+8)&c.AddrMask)
	if !ok {
		return
	}
	kind, space := c.R[in.dst&63], uint32(tag)
	switch {
	case kind > invNotGlobal, tag > maxPCID, kind <= invSpace && tag != 0 && c.cr4&cr4PCIDE == 0, kind == invAddress && !canonical(va):
		c.raiseCode(vecGP, 0)
		return
	case kind == invAddress:
		c.dropIf(func(p *mmu.Page) bool { return p.Space == space && !p.Global && va>>p.Shift == p.VA>>p.Shift })
	case kind == invSpace:
		c.flushSpace(space)
	default:
		c.flushTLB(kind == invAll)
	}
	c.synchronized()
}

// stac sets AC, which lends user pages to the supervisor, and clac clears it (SDM vol. 2, STAC, CLAC).
func stac(c *CPU, _ *inst) { c.lend(flagAC) }
func clac(c *CPU, _ *inst) { c.lend(0) }

func (c *CPU) lend(ac uint64) {
	if !c.answers.smap() || c.cpl != 0 {
		c.raise(vecUD)
		return
	}
	c.setCtl(c.ctl&^flagAC | ac)
}

// wbinvd, and invd, leave the caches as they are. Caches here hold addresses but no data, so
// nothing can be stale or lost; what the lines are worth in time is not taken away either.
func wbinvd(c *CPU, _ *inst) {
	if c.privileged() {
		c.synchronized()
	}
}
