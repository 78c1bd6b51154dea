package x86

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// 32-bit protected mode, as far as it differs from 64-bit mode beyond the width of operands.
// Segments are as in a flat kernel: CS, SS, DS and ES begin at zero and reach over all
// addresses, FS and GS may have any base and limit.

// reset32 gives the state in which a 32-bit kernel is entered: with paging and flat segments.
func (c *CPU) reset32() {
	c.AddrMask = 1<<32 - 1
	c.SwitchMode(1)
	c.cr4 = cr4PSE | cr4PGE
	c.seg[segCS] = segment{sel: 0x10, attr: flatCode32, limit: ^uint32(0)}
	for _, s := range []int{segES, segSS, segDS} {
		c.seg[s] = segment{sel: 0x18, attr: flatData, limit: ^uint32(0)}
	}
}

// word is the bytes of a word on the stack.
func (c *CPU) word() uint64 {
	if c.long {
		return 8
	}
	return 4
}

// storeWord writes a word of the stack.
func (c *CPU) storeWord(va, v uint64) bool {
	if c.long {
		return store(c, va, v)
	}
	return store(c, va, uint32(v))
}

// prefix begins the names of registers of the mode's width.
func (c *CPU) prefix() string {
	if c.long {
		return "r"
	}
	return "e"
}

// registerNames holds the names of the registers that the mode has.
func (c *CPU) registerNames() []string {
	if c.long {
		return regNames[:]
	}
	var names []string
	for _, n := range regNames[:8] {
		names = append(names, "e"+n[1:])
	}
	return names
}

// unmodelled raises #GP for a segment, gate or return that the architecture has and this model
// lacks, and counts it. It is not #UD because a delivery whose own gate is the cause would not end.
func (c *CPU) unmodelled(code uint32, format string, args ...any) {
	c.Counts.Unmodelled++
	c.Counts.LastUnknown = fmt.Sprintf(format, args...)
	c.refuse(c.Counts.LastUnknown, c.R[rRIP])
	c.raiseCode(vecGP, code)
}

// flat reports a segment that begins at zero and reaches over all addresses, so that neither its
// base nor its limit has to be looked at. Data that expands down has its limit at the lower end
// (SDM vol. 3, 5.3).
func (s *segment) flat() bool {
	return s.attr&attrPresent != 0 && s.base == 0 && s.limit == ^uint32(0) && !s.expandsDown()
}

// limited tells the segment registers whose limit is looked at on every access; the others are
// flat.
func limited(seg uint8) bool { return seg == segFS || seg == segGS }

// reaches reports whether the present level may load s into a data segment register: neither the
// level nor the selector's RPL may be outside of the segment's (SDM vol. 3, 5.5). Conforming code
// may be read from any level.
func (c *CPU) reaches(s segment) bool {
	return s.conforming() || dpl(s.attr) >= max(c.cpl, uint8(s.sel&3))
}

// guard adds the checks of limit and rights to an access through FS, GS or CS; false means that the
// form is not modelled. The check is a function around the instruction's own, made when it is
// decoded, so that accesses through flat segments pay nothing for it. Push and call write to the
// stack, not to their operand.
func (d *decoder) guard() bool {
	in := &d.in
	if d.op.Flags&(engine.Loads|engine.Stores) == 0 || !limited(in.seg) && in.seg != segCS || d.looksItself() {
		return true
	}
	return d.permitted()
}

// looksItself reports what checks its accesses by itself: pop and arpl, which may not come to them, and strings.
func (d *decoder) looksItself() bool {
	switch d.op.Class {
	case clString, clCompareString, clRepStart, clXlat, clOut:
		return true
	}
	return d.x.Op == x86asm.POP || d.x.Op == x86asm.ARPL
}

// permitted puts the check of an access in front of the instruction.
func (d *decoder) permitted() bool {
	run, n := d.exec, uint64(max(d.x.MemBytes, 1))
	write := d.isMem(0) && d.op.Flags&engine.Stores != 0 && d.x.Op != x86asm.PUSH && d.x.Op != x86asm.CALL
	d.exec = func(c *CPU, in *inst) {
		if c.permits(in, n, write) {
			run(c, in)
		}
	}
	return true
}

// bitString are the instructions that reach beyond their operand when the bit is given by a
// register.
var bitString = map[x86asm.Op]bool{x86asm.BT: true, x86asm.BTS: true, x86asm.BTR: true, x86asm.BTC: true}

// permitsAny is permits of an operand in any mode and segment, for instructions that guard leaves alone.
func (c *CPU) permitsAny(in *inst, n uint64, write bool) bool {
	return c.long || in.seg == segFlat || c.permits(in, n, write)
}

// permits checks an access of n bytes against its segment and raises #GP when it may not be (SDM
// vol. 3, 5.3 and 5.4). A null segment is not present here. Of a flat segment, as
// CS is here, no limit is looked at, so that an operand may wrap.
func (c *CPU) permits(in *inst, n uint64, write bool) bool {
	return c.inside(in.seg, (c.ea(in)-c.segBase[in.seg])&c.AddrMask, n, write)
}

// inside is permits of an offset.
func (c *CPU) inside(seg uint8, first, n uint64, write bool) bool {
	s := &c.seg[seg]
	last := first + n - 1
	inside := last <= uint64(s.limit) || s.flat()
	if s.expandsDown() {
		inside = first > uint64(s.limit) && last <= 1<<32-1
	}
	if s.attr&attrPresent == 0 || !inside || write && !s.writableData() {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

// innerStack reads the stack of level to from the TSS (SDM vol. 3, figure 7-2), at which the stack
// pointer is.
func (c *CPU) innerStack(at uint64, to uint8) (ss segment, sp uint64, ok bool) {
	if at+5 > c.tr.base+uint64(c.tr.limit) {
		c.raiseCode(vecTS, uint32(c.tr.sel&^3))
		return ss, 0, false
	}
	esp, ok := loadSystem[uint32](c, at)
	if !ok {
		return ss, 0, false
	}
	sel, ok := loadSystem[uint16](c, at+4)
	if !ok {
		return ss, 0, false
	}
	if ss, ok = c.returnStack(sel, to, false); !ok && c.fault.vector == vecGP {
		c.fault.vector, c.fault.code = vecTS, uint32(sel&^3)
	}
	return ss, uint64(esp), ok
}

// loseSegments makes the data segments null that the level of a return to an outer one may not use
// (SDM vol. 2, IRET, "RETURN-TO-OUTER-PRIVILEGE-LEVEL"). In 64-bit mode the bases of FS and GS stay.
func (c *CPU) loseSegments() {
	for _, i := range [...]uint8{segES, segDS, segFS, segGS} {
		if s := &c.seg[i]; s.sel&^3 == 0 || s.conforming() || dpl(s.attr) >= c.cpl {
			continue
		}
		c.seg[i] = segment{}
		if !c.long {
			c.segBase[i] = 0
		}
	}
	c.lookForNull()
}

// sysenter enters the kernel at the addresses of three MSRs, with flat segments behind the selector
// in the first, in long mode with 64-bit code (SDM vol. 2). TF stays set.
func sysenter(c *CPU, _ *inst) {
	sel := uint16(c.msr.sysenter[0]) &^ 3
	if sel == 0 {
		c.raiseCode(vecGP, 0)
		return
	}
	c.flatSegments(sel, sel+8, 0, c.lma())
	c.ctl &^= flagIF | flagVM
	c.R[rRIP], c.R[rsp] = c.msr.sysenter[2]&c.AddrMask, c.msr.sysenter[1]&c.AddrMask
}

// sysexit32 and sysexit64 leave for user mode at edx with the stack at ecx. The latter, with REX.W,
// goes to 64-bit code.
func sysexit32(c *CPU, _ *inst) { c.sysexit(16, false) }
func sysexit64(c *CPU, _ *inst) { c.sysexit(32, true) }

func (c *CPU) sysexit(from uint16, long bool) {
	sel := uint16(c.msr.sysenter[0]) &^ 3
	if !c.privileged() {
		return
	}
	if sel == 0 || long && !(canonical(c.R[rdx]) && canonical(c.R[rcx])) {
		c.raiseCode(vecGP, 0)
		return
	}
	c.flatSegments(sel+from, sel+from+8, 3, long)
	c.R[rRIP], c.R[rsp] = c.R[rdx]&c.AddrMask, c.R[rcx]&c.AddrMask
}

// flatSegments sets CS and SS without reading descriptors, as the fast system calls do.
func (c *CPU) flatSegments(cs, ss uint16, level uint8, long bool) {
	code, rights := uint16(flatCode32), uint16(level)<<5
	if long {
		code = flatCode64
	}
	c.setCS(segment{sel: cs | uint16(level), attr: code | rights, limit: ^uint32(0)})
	c.seg[segSS] = segment{sel: ss | uint16(level), attr: flatData | rights, limit: ^uint32(0)}
	c.setCPL(level)
}
