package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

func TestCallingConvention(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0xf4)
		before := c.SP()
		fn, ret := w.code(testCode)+0x40, w.code(testCode)
		back := c.Call(cpus.Entry{PC: fn}, ret, 0, 11, 12, 13, 14, 15, 16, 17, 18)
		if c.PC() != fn || (c.SP()+c.word())&15 != 0 || c.SP() >= before {
			t.Errorf("called: pc %#x, sp %#x", c.PC(), c.SP())
		}
		for i := range 8 {
			require.Equal(t, c.Arg(i), uint64(11+i), "argument %d", i)
		}
		c.Return(99)
		if c.PC() != ret || c.SP() != back || c.Returned(before) != 99 || c.SP() != before {
			t.Errorf("returned: pc %#x, sp %#x, result %d", c.PC(), c.SP(), c.R[rax])
		}
	})
}

func TestRegisterNames(t *testing.T) {
	for bits, want := range map[int][2]string{64: {"rax", "rip"}, 32: {"eax", "eip"}} {
		w := newWorld(t, map[int]*cpus.ISA{64: ISA64(), 32: ISA32()}[bits], cpus.Window, nil)
		regs := w.cpu().Registers()
		require.That(t, regs[0].Name == want[0] && regs[bits/4&^7].Name == want[1], "%d bits: %+v", bits, regs)
	}
}

// TestLimitOfInnerStacks reads a stack from a TSS whose limit its last byte reaches, or does not.
func TestLimitOfInnerStacks(t *testing.T) {
	w, c := startIn(t, ISA32())
	c.tr.base = w.at(testData)
	w.mem.Store(binary.LittleEndian, testData-directMap+4, 8, kernelDS<<32|0x1234)
	for limit := range uint32(16) {
		c.tr.limit = limit
		ss, sp, ok := c.innerStack(c.tr.base+4, 0)
		require.That(t, ok == (limit >= 4+5) && (!ok || ss.sel == kernelDS && sp == 0x1234) && (ok || c.fault.vector == vecTS), "limit %d: %+v, %#x, %t", limit, ss, sp, ok)
	}
}

// TestFlatSegments compares the segments of fast system calls with what descriptors of flat segments say.
func TestFlatSegments(t *testing.T) {
	_, c := start(t)
	for _, level := range []uint8{0, 3} {
		for code, long := range map[uint64]bool{0x00cf9b000000ffff: false, 0x00af9b000000ffff: true} {
			const data, sel = 0x00cf93000000ffff, 0x70
			c.flatSegments(sel, sel+8, level, long)
			cs, ss := unpack(sel|uint16(level), code|uint64(level)<<45), unpack(sel+8|uint16(level), data|uint64(level)<<45)
			require.That(t, c.seg[segCS] == cs && c.seg[segSS] == ss && c.cpl == level, "level %d, long %t: %+v and %+v, want %+v and %+v", level, long, c.seg[segCS], c.seg[segSS], cs, ss)
		}
	}
}

func TestSysenter(t *testing.T) {
	const user = 0x40000000
	// user: sysenter; ud2. kernel: sysexit
	w, c := startIn(t, ISA32(), 0x0f, 0x35)
	w.mapUser(user, 0x400000, 0x1000, pageExec)
	w.mem.Write(0x400000, []byte{0x0f, 0x34, 0x0f, 0x0b})
	c.msr.sysenter = [3]uint64{kernelCS, w.at(testStack), w.code(testCode)}
	w.user(c)
	c.R[rRIP], c.R[rdx], c.R[rcx] = user, user+2, user+0x800
	c.setFlags(flagIF|flagCF, ^uint64(0))
	for c.PC() != w.code(testCode) {
		c.Run(c.Now() + 1)
	}
	if c.cpl != 0 || c.seg[segCS].sel != kernelCS || c.seg[segSS].sel != kernelDS || c.SP() != w.at(testStack) || c.flags() != flagCF|flagOne {
		t.Fatalf("after sysenter: level %d, cs %#x, sp %#x, flags %#x", c.cpl, c.seg[segCS].sel, c.SP(), c.flags())
	}
	if tr := w.trapped(c); tr.vector != vecUD || tr.rip != user+2 || tr.cs != userCS32 || tr.ss != userDS || tr.sp != user+0x800 {
		t.Errorf("after sysexit: %+v", tr)
	}
	// without a selector both fault, and sysexit is the kernel's
	for _, x := range []struct {
		code  []byte
		level uint8
		cs    uint64
	}{{[]byte{0x0f, 0x34}, 3, 0}, {[]byte{0x0f, 0x35}, 0, 0}, {[]byte{0x0f, 0x35}, 3, kernelCS}} {
		w, c := startIn(t, ISA32(), x.code...)
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, x.code)
		c.msr.sysenter[0] = x.cs
		if x.level == 3 {
			w.user(c)
			c.R[rRIP] = user
		}
		tr := w.trapped(c)
		require.That(t, tr.vector == vecGP && tr.code == 0, "% x at level %d: %+v; want #GP", x.code, x.level, tr)
	}
}

// freeSel is a descriptor of the GDT for tests.
const freeSel = 0x70

func TestSegmentLimits(t *testing.T) {
	read, write := []byte{0x64, 0x8b, 0x1d}, []byte{0x64, 0x89, 0x1d} // with an address behind
	for _, x := range []struct {
		name  string
		kind  uint64
		flags uint64
		sel   uint64
		code  []byte
		off   uint32
		fault bool
	}{
		{"last word", 0x93, 4, freeSel, read, 12, false},
		{"one beyond", 0x93, 4, freeSel, read, 13, true},
		{"write", 0x93, 4, freeSel, write, 12, false},
		{"below the base", 0x93, 4, freeSel, read, ^uint32(3), true},
		{"read-only", 0x91, 4, freeSel, read, 0, false},
		{"write to read-only", 0x91, 4, freeSel, write, 0, true},
		{"expands down", 0x97, 4, freeSel, read, 0x10, false},
		{"expands down, below", 0x97, 4, freeSel, read, 0xf, true},
		{"limit in pages", 0x93, 0xc, freeSel, read, 0xfffc, false},
		{"null", 0x93, 4, 0, read, 0, true},
		{"code", 0x9b, 4, freeSel, read, 0, false},
		{"write to code", 0x9b, 4, freeSel, write, 0, true},
	} {
		// mov %eax,%fs; access; hlt
		w, c := startIn(t, ISA32(), join([]byte{0x8e, 0xe0}, x.code, le32(x.off), []byte{0xf4})...)
		w.store(w.at(worldGDT)+freeSel, describe(x.kind, x.flags, w.at(testData), 0xf))
		w.mem.Store(binary.LittleEndian, testData-directMap+uint64(x.off), 4, 77)
		c.R[rax], c.R[rbx] = x.sel, 78
		halt(t, c)
		if got := c.PC() == w.code(handlers)+vecGP+1; got != x.fault {
			t.Errorf("%s: fault %v at %#x", x.name, got, c.PC())
		} else if !got && c.R[rbx] != w.mem.Load(binary.LittleEndian, testData-directMap+uint64(x.off), 4) {
			t.Errorf("%s: ebx %d", x.name, c.R[rbx])
		}
	}
}

// TestSegmentLoads refuses what the rights forbid, and what a flat kernel does not use.
func TestSegmentLoads(t *testing.T) {
	for _, x := range []struct {
		name     string
		sel      uint64
		desc     uint64
		code     []byte
		err      uint64
		unmodels bool
	}{
		{"limited ds", freeSel, describe(0x93, 4, 0, 0xffff), []byte{0x8e, 0xd8}, freeSel, true},
		{"based es", freeSel, describe(0x93, 0xc, 0x1000, 0xfffff), []byte{0x8e, 0xc0}, freeSel, true},
		{"null ss", 0, 0, []byte{0x8e, 0xd0}, 0, false},
		{"level of the selector", kernelDS | 3, 0, []byte{0x8e, 0xe0}, kernelDS, false},
		{"system descriptor", freeSel, describe(0x82, 0, 0, 0xf), []byte{0x8e, 0xe0}, freeSel, false},
		{"16-bit code", 0, describe(0x9b, 8, 0, 0xfffff), []byte{0xea, 0, 0, 0, 0, freeSel, 0}, freeSel, true},
		{"data as code", 0, describe(0x93, 0xc, 0, 0xfffff), []byte{0xea, 0, 0, 0, 0, freeSel, 0}, freeSel, false},
	} {
		w, c := startIn(t, ISA32(), x.code...)
		w.store(w.at(worldGDT)+freeSel, x.desc)
		c.R[rax] = x.sel
		tr := w.trapped(c)
		require.That(t, tr.vector == vecGP && tr.code == x.err && tr.rip == w.code(testCode) && (c.Counts.Unmodelled == 1) == x.unmodels, "%s: %+v, %d not modelled; want #GP with code %#x", x.name, tr, c.Counts.Unmodelled, x.err)
	}
}

func TestFarJump(t *testing.T) {
	w, c := startIn(t, ISA32(), 0x90)
	to := w.code(testCode) + 0x40
	w.mem.Write(testCode-kernelMap, join([]byte{0xea}, le32(uint32(to)), le16(kernelCS)))
	w.mem.Write(testCode-kernelMap+0x40, []byte{0xf4})
	if halt(t, c); c.PC() != to+1 || c.seg[segCS].sel != kernelCS {
		t.Errorf("at %#x with cs %#x", c.PC(), c.seg[segCS].sel)
	}
}

func TestTaskGate(t *testing.T) {
	w, c := startIn(t, ISA32(), 0x0f, 0x0b)
	w.gate(vecUD, 0, 0, 0x85)
	if tr := w.trapped(c); tr.vector != vecGP || tr.code != vecUD<<3|3 || c.Counts.Unmodelled != 1 {
		t.Errorf("%+v, %d not modelled", tr, c.Counts.Unmodelled)
	}
}

// TestReturnOutward returns to user mode: segments that it may not use are lost.
func TestReturnOutward(t *testing.T) {
	const user = 0x40000000
	for _, ds := range []uint16{userDS, kernelDS} {
		w, c := startIn(t, ISA32(), 0xcf)
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, []byte{0x0f, 0x0b})
		for _, i := range []int{segES, segDS} {
			c.seg[i] = unpack(ds, w.load(w.at(worldGDT)+uint64(ds&^7)))
		}
		c.seg[segFS], c.segBase[segFS] = c.seg[segSS], 0x1234
		for i, v := range []uint32{user, userCS32, flagOne | flagIF, user + 0x800, userDS} {
			w.mem.Store(binary.LittleEndian, c.SP()-w.data+uint64(4*i), 4, uint64(v))
		}
		tr := w.trapped(c)
		if tr.vector != vecUD || tr.rip != user || tr.sp != user+0x800 || c.seg[segFS].sel != 0 || c.segBase[segFS] != 0 {
			t.Errorf("with ds %#x: %+v, fs %+v", ds, tr, c.seg[segFS])
		}
		if kept := c.seg[segDS].sel == ds; kept != (ds == userDS) {
			t.Errorf("with ds %#x: behind the return it is %#x", ds, c.seg[segDS].sel)
		}
	}
}

// TestIntoPAE changes the format of the page tables while global pages keep the code in reach.
func TestIntoPAE(t *testing.T) {
	// wrmsr efer; mov %ebx,%cr3; mov %esi,%cr4; mov (%edi),%ebp; hlt
	w, c := startIn(t, ISA32(), join(wrmsrCode(msrEFER), []byte{0x0f, 0x22, 0xdb, 0x0f, 0x22, 0xe6, 0x8b, 0x2f, 0xf4})...)
	maps := append(testMaps(ISA32()), mmu.Mapping{VA: 0x40000000, PA: 0x400000, Size: 0x1000})
	root := require.Must(paeFormat(true, 52).build(w.mem, 0xd00000, maps))(t)
	w.mem.Store(binary.LittleEndian, 0x400010, 4, 55)
	c.R[rax], c.R[rdx], c.R[rbx], c.R[rsi], c.R[rdi] = eferNXE, 0, root, c.cr4|cr4PAE, 0x40000010
	if halt(t, c); c.R[rbp] != 55 || !c.tables.forbidsExecution() {
		t.Errorf("ebp %d at %#x, cr2 %#x", c.R[rbp], c.PC(), c.cr2)
	}
	// long mode is out of reach
	w, c = startIn(t, ISA32(), wrmsrCode(msrEFER)...)
	c.R[rax] = eferLME
	if tr := w.trapped(c); tr.vector != vecGP || c.msr.efer != 0 {
		t.Errorf("EFER.LME: %+v", tr)
	}
}
