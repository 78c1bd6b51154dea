package arm

// Debug registers (ARM ARM, part C: C3 debug events, C4 debug exceptions, C11 registers), as far as a kernel uses
// them for itself: monitor debug-mode, breakpoints at the address of an instruction or at every other one, watchpoints by bytes. Halting,
// links to contexts, address masks, vector catches and the locks of power management are left out;
// their bits read as they were written. The Cortex-A15 has 6 breakpoints, two of which could be linked to
// contexts (DDI 0438, 10.4.5); that it has 4 watchpoints and that the Cortex-A7 has the same numbers is from
// memory. No manual gives a cost of armed registers for code that does not hit them, and none is modelled.

const (
	breakpoints = 6
	watchpoints = 4
)

// debugRegisters lists the registers of coprocessor 14.
type debugRegisters struct {
	dscr, vcr uint32
	wfar      uint32 // of the instruction that hit a watchpoint, plus 8
	bvr, bcr  [breakpoints]uint32
	wvr, wcr  [watchpoints]uint32
}

// Bits of DBGDSCR (C11.11.20), and of the control registers (C11.11.2, C11.11.44).
const (
	dscrMonitor     = 1 << 15
	dscrMOE         = 0xf << 2
	dscrMOEBreak    = 1 << 2
	dscrMOEWatch    = 10 << 2 // synchronous
	dscrWritable    = dscrMonitor | 1<<14 | 1<<13 | 1<<12
	controlEnable   = 1 << 0
	controlLevels   = 3 << 1 // 1 privileged, 2 user, 3 all
	controlLoads    = 1 << 3
	controlStores   = 2 << 3
	controlBytes    = 5 // shift of the bytes that are selected
	controlBytesAll = 0xf
	controlType     = 0xf << 20 // 0 is an address without a link
	controlMismatch = 4 << 20   // of a breakpoint: every other address, by which a kernel steps
)

// didr tells of the numbers and of version 7.1; what else it has is from memory.
const didr = (watchpoints-1)<<28 | (breakpoints-1)<<24 | 1<<20 | 5<<16

// debugs are the registers of coprocessor 14 (C6.4).
var debugs = debugTable()

func debugTable() map[coprocKey]coproc {
	t := map[coprocKey]coproc{
		{0, 0, 0, 0}: constant(didr).by(readers),
		{0, 0, 1, 0}: computed(func(c *CPU) uint32 { return c.debug.dscr }),
		{0, 0, 2, 2}: storedThen(func(c *CPU) *uint32 { return &c.debug.dscr }, dscrWritable|dscrMOE, (*CPU).arm),
		{0, 0, 6, 0}: stored(func(c *CPU) *uint32 { return &c.debug.wfar }, ^uint32(0)),
		{0, 0, 7, 0}: stored(func(c *CPU) *uint32 { return &c.debug.vcr }, 0),
		{1, 0, 0, 4}: operation(clCoprocWrite, func(*CPU, uint32) {}),                       // DBGOSLAR
		{1, 0, 1, 4}: constant(0),                                                           // DBGOSLSR: not locked
		{1, 0, 3, 4}: stored(func(c *CPU) *uint32 { return &c.debug.vcr }, 0).readingZero(), // DBGOSDLR
	}
	for n := range uint8(breakpoints) {
		t[coprocKey{0, 0, n, 4}] = storedThen(func(c *CPU) *uint32 { return &c.debug.bvr[n] }, ^uint32(3), (*CPU).arm)
		t[coprocKey{0, 0, n, 5}] = storedThen(func(c *CPU) *uint32 { return &c.debug.bcr[n] }, ^uint32(0), (*CPU).arm)
	}
	for n := range uint8(watchpoints) {
		t[coprocKey{0, 0, n, 6}] = storedThen(func(c *CPU) *uint32 { return &c.debug.wvr[n] }, ^uint32(3), (*CPU).arm)
		t[coprocKey{0, 0, n, 7}] = storedThen(func(c *CPU) *uint32 { return &c.debug.wcr[n] }, ^uint32(0), (*CPU).arm)
	}
	return t
}

// arm has the engine look at what the registers are armed for.
func (c *CPU) arm() {
	d := &c.debug
	var data [][2]uint64
	var code []uint64
	if d.dscr&dscrMonitor != 0 {
		for n, control := range d.wcr {
			if control&controlEnable != 0 {
				data = append(data, [2]uint64{uint64(d.wvr[n]), uint64(d.wvr[n]) + 8})
			}
		}
		for n, control := range d.bcr {
			if control&(controlEnable|controlType) == controlEnable {
				code = append(code, uint64(d.bvr[n]))
			}
		}
	}
	c.WatchData(data)
	c.WatchCode(code)
	c.setSingle()
}

// setSingle says why instructions are executed one by one.
func (c *CPU) setSingle() {
	c.Single = 0
	if c.control&psrT != 0 {
		c.Single = oneThumb
	}
	if c.debug.dscr&dscrMonitor == 0 {
		return
	}
	for _, control := range c.debug.bcr {
		if control&(controlEnable|controlType) == controlEnable|controlMismatch && c.atLevel(control) {
			c.Single |= oneMismatch
		}
	}
}

// atLevel reports whether a register is for the present level. Without one (the field is 0) a breakpoint is for
// user, system and supervisor mode.
func (c *CPU) atLevel(control uint32) bool {
	switch levels := control & controlLevels >> 1; {
	case levels == 0:
		mode := c.control & psrMode
		return mode == modeUser || mode == modeSystem || mode == modeSupervisor
	case c.User:
		return levels&2 != 0
	default:
		return levels&1 != 0
	}
}

// Watch implements engine.Translator: a watchpoint is taken before the access (C3.4, C4.2).
func (c *CPU) Watch(va uint64, n int, write bool) bool {
	d, kind := &c.debug, uint32(controlLoads)
	if write {
		kind = controlStores
	}
	for i, control := range d.wcr {
		if control&controlEnable == 0 || control&kind == 0 || control&controlType != 0 || !c.atLevel(control) {
			continue
		}
		if bytes := control >> controlBytes & 0xff; overlaps(bytes, uint64(d.wvr[i]), va, n) {
			d.dscr = d.dscr&^dscrMOE | dscrMOEWatch
			d.wfar = uint32(c.R[rPC] - insnBytes + 8)
			c.dataAbort(va, fsrDebug, 0, write)
			return false
		}
	}
	return true
}

// overlaps reports whether an access of n bytes has one of those that are selected from an address on.
func overlaps(selected uint32, at, va uint64, n int) bool {
	for i := range uint64(8) {
		if selected>>i&1 != 0 && va <= at+i && at+i < va+uint64(n) {
			return true
		}
	}
	return false
}

// breakOnFetch takes a breakpoint at the next instruction. An instruction of A32 state has all four bytes.
func (c *CPU) breakOnFetch() bool {
	d := &c.debug
	for i, control := range d.bcr {
		kind := control & controlType
		if control&controlEnable == 0 || kind != 0 && kind != controlMismatch || control>>controlBytes&controlBytesAll != controlBytesAll {
			continue
		}
		if (uint64(d.bvr[i]) == c.R[rPC]) == (kind == 0) && c.atLevel(control) {
			d.dscr = d.dscr&^dscrMOE | dscrMOEBreak
			c.ifsr, c.ifar = fsrDebug, uint32(c.R[rPC])
			c.raise(vecPrefetchAbort)
			c.Deliver()
			return true
		}
	}
	return false
}
