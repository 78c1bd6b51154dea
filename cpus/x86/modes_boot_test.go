package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// code32 is a selector for kernel code of 32 bits.
const code32 = 0x08

// unpaged makes a CPU of a world as a 32-bit boot protocol leaves it, about to execute code at a physical
// address, with the world's descriptor tables. It also returns tables that map memory to itself.
func unpaged(t *testing.T, isa *cpus.ISA, at uint64, code ...byte) (w *world, c *CPU, root uint64) {
	t.Helper()
	w, _ = startIn(t, isa)
	w.store(w.at(worldGDT)+code32, 0x00cf9b000000ffff)
	maps := append(testMaps(isa), mmu.Mapping{Size: worldRAM, Large: true, Writable: true, Exec: true})
	root = require.Must(isa.Tables(w.mem, 0xd00000, maps))(t)
	w.mem.Write(at, code)
	bus := w.bus
	bus.Root = Unpaged
	c = isa.New(0, w.cfg, bus).(*CPU)
	c.gdt, c.idt = table{worldGDT - directMap, 0x7f}, table{w.at(worldIDT), uint16(64*isa.Bits/4 - 1)}
	c.Boot(at, 0x600000)
	return w, c, root
}

// TestIntoLongMode enters long mode as a boot loader does (SDM vol. 3, 9.8.5), goes on to 64-bit code, back
// to compatibility mode, and from there by a breakpoint to a 64-bit handler and back.
func TestIntoLongMode(t *testing.T) {
	const at, wide, narrow = 0x700000, 0x700100, 0x700200
	code := func(root uint64) []byte {
		return join([]byte{0xb8}, le32(uint32(root)), []byte{0x0f, 0x22, 0xd8}, // mov $root,%eax; mov %eax,%cr3
			[]byte{0xb8, cr4PAE, 0, 0, 0, 0x0f, 0x22, 0xe0}, // mov $PAE,%eax; mov %eax,%cr4
			[]byte{0xb8}, le32(eferSCE|eferLME|eferNXE), []byte{0x31, 0xd2}, wrmsrCode(msrEFER),
			[]byte{0xb8}, le32(cr0PG|cr0WP|cr0PE), []byte{0x0f, 0x22, 0xc0}, // mov %eax,%cr0
			[]byte{0xea}, le32(wide), le16(kernelCS)) // ljmp
	}
	w, c, root := unpaged(t, ISA64(), at)
	w.mem.Write(at, code(root))
	// mov $0x123456789abcdef0,%rbx; mov %rsp,%rcx; push $code32; push $narrow; lretq
	w.mem.Write(wide, join([]byte{0x48, 0xbb}, le64(0x123456789abcdef0), []byte{0x48, 0x89, 0xe1, 0x6a, code32, 0x68}, le32(narrow), []byte{0x48, 0xcb}))
	// mov $5,%eax; dec %eax; dec %eax; int3; inc %edx; hlt
	w.mem.Write(narrow, []byte{0xb8, 5, 0, 0, 0, 0x48, 0x48, 0xcc, 0x42, 0xf4})
	c.R[rdx] = 7
	tr := w.trapped(c)
	require.Need(t, tr.vector == vecBP && tr.rip == narrow+8 && tr.cs == code32 && tr.sp == 0x600000 && c.long, "breakpoint of compatibility mode: %+v, 64-bit code %v", tr, c.long)
	if c.R[rax] != 3 || c.R[rcx] != 0x600000 || c.R[rbx] != 0x9abcdef0 {
		t.Errorf("rax %#x, rcx %#x, rbx %#x", c.R[rax], c.R[rcx], c.R[rbx])
	}
	w.mem.Write(handlers-kernelMap+vecBP+1, []byte{0x48, 0xcf})
	c.Halted = false
	if halt(t, c); c.PC() != narrow+10 || c.long || c.AddrMask>>32 != 0 {
		t.Errorf("back at %#x, 64-bit code %v", c.PC(), c.long)
	}
	// paging off leaves long mode, in compatibility mode only
	w.mem.Write(narrow+10, []byte{0xb8, 1, 0, 0, 0, 0x0f, 0x22, 0xc0, 0xf4})
	c.Halted = false
	if halt(t, c); c.lma() || c.cr0&cr0PG != 0 || c.PC() != narrow+19 {
		t.Errorf("at %#x with CR0 %#x and EFER %#x", c.PC(), c.cr0, c.msr.efer)
	}
}

// TestIntoPaging turns paging on and off in 32-bit mode.
func TestIntoPaging(t *testing.T) {
	const at = 0x700000
	w, c, root := unpaged(t, ISA32(), at)
	// mov %ebx,%cr3; mov %ecx,%cr4; mov %edx,%cr0; mov %fs:(%edi),%ebp; mov %esi,%cr0; mov (%edi),%eax; hlt
	w.mem.Write(at, []byte{0x0f, 0x22, 0xdb, 0x0f, 0x22, 0xe1, 0x0f, 0x22, 0xc2, 0x8b, 0x2f, 0x0f, 0x22, 0xc6, 0x8b, 0x07, 0xf4})
	w.mem.Store(binary.LittleEndian, 0x8000, 4, 41)
	c.R[rbx], c.R[rcx], c.R[rdx], c.R[rsi], c.R[rdi] = root, cr4PSE, cr0PG|cr0PE, cr0PE, w.at(directMap+0x8000)
	halt(t, c)
	if c.R[rbp] != 41 || c.R[rax] == 41 {
		t.Errorf("through the tables %d, without paging %d", c.R[rbp], c.R[rax])
	}
}

// TestModeRules refuses what would leave the modes in disorder, and bits that are reserved.
func TestModeRules(t *testing.T) {
	cr := func(n byte) []byte { return []byte{0x0f, 0x22, 0xc0 | n<<3} }
	for _, x := range []struct {
		name string
		code []byte
		rax  uint64
		rdx  uint64
	}{
		{"NW without CD", cr(0), cr0PG | cr0PE | cr0NW, 0},
		{"upper half of CR0", cr(0), cr0PG | cr0PE | 1<<32, 0},
		{"paging off in 64-bit code", cr(0), cr0PE, 0},
		{"unknown bit of CR4", cr(4), cr4PAE | 1<<11, 0},
		{"CR3 beyond physical addresses", cr(3), 1 << 51, 0},
		{"unknown bit of EFER", wrmsrCode(msrEFER), eferSCE | eferLME | eferNXE | 1<<14, 0},
		{"EFER.LME with paging", wrmsrCode(msrEFER), eferSCE | eferNXE, 0},
	} {
		w, c := start(t, x.code...)
		c.R[rax], c.R[rdx] = x.rax, x.rdx
		cr0, cr3, cr4, efer := c.cr0, c.cr3, c.cr4, c.msr.efer
		tr := w.trapped(c)
		require.That(t, tr.vector == vecGP && tr.code == 0 && c.cr0 == cr0 && c.cr3 == cr3 && c.cr4 == cr4 && c.msr.efer == efer, "%s: %+v; want #GP(0) and no change", x.name, tr)
	}
}

// TestReservedBitsRefused has the bits of table entries refused that mean nothing (SDM vol. 3, 4.4.2 and 4.5).
func TestReservedBitsRefused(t *testing.T) {
	const va = 0x40000000
	for _, isa := range []*cpus.ISA{ISA64(), isaPAE()} {
		for name, x := range map[string]struct {
			entry uint64
			nxe   bool
			want  uint64
		}{
			"nothing":                        {0x400000 | ptePresent, true, 0},
			"beyond physical addresses":      {0x400000 | ptePresent | 1<<50, true, pfPresent | pfReserved},
			"NX that is not turned on":       {0x400000 | ptePresent | pteNX, false, pfPresent | pfReserved},
			"NX that is":                     {0x400000 | ptePresent | pteNX, true, 0},
			"a reserved bit and no presence": {0x400000 | 1<<50, true, 0x100},
		} {
			w, c := startIn(t, isa, 0x8b, 0x18, 0xf4)
			w.mapPage(va, x.entry)
			c.R[rax] = va
			if !x.nxe {
				c.msr.efer &^= eferNXE
				c.setTables()
				c.flushTLB(true)
				for at := uint64(worldTables); at < worldTables+0x200000; at += 8 { // the kernel's own pages
					e := w.mem.Load(binary.LittleEndian, at, 8)
					w.mem.Store(binary.LittleEndian, at, 8, e&^pteNX)
				}
			}
			if x.want == 0 {
				halt(t, c)
				if c.PC() != w.code(testCode)+3 {
					t.Errorf("%s, %s: at %#x", isa.Name, name, c.PC())
				}
			} else if tr := w.trapped(c); tr.vector != vecPF || tr.code != x.want&0xff || c.cr2 != va {
				t.Errorf("%s, %s: %+v", isa.Name, name, tr)
			}
		}
	}
}

// TestSecondPageOfAStore reports the page that is missing, not the last byte (SDM vol. 3, 4.7).
func TestSecondPageOfAStore(t *testing.T) {
	const va = 0x40000ffc
	for _, code := range [][]byte{{0x48, 0x89, 0x18}, {0x48, 0x01, 0x18}, {0x48, 0x8b, 0x18}} {
		w, c := start(t, code...)
		w.mapPage(va&^0xfff, 0x400000|ptePresent|pteWrite)
		c.R[rax] = va
		tr := w.trapped(c)
		require.That(t, tr.vector == vecPF && c.cr2 == va+4, "% x: %+v with cr2 %#x; want %#x", code, tr, c.cr2, uint64(va+4))
	}
}

// TestAlignmentCheck raises #AC in user mode when CR0.AM and RFLAGS.AC ask for it, and only there.
func TestAlignmentCheck(t *testing.T) {
	const user = 0x40000000
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			am, ac uint64
			at     uint64
			vector int
		}{{cr0AM, flagAC, 2, vecAC}, {cr0AM, flagAC, 4, vecUD}, {0, flagAC, 2, vecUD}, {cr0AM, 0, 2, vecUD}} {
			w, c := startIn(t, isa)
			w.mapUser(user, 0x400000, 0x1000, pageExec)
			w.mapUser(user+0x1000, 0x401000, 0x1000, pageWrite)
			w.mem.Write(0x400000, []byte{0x8b, 0x18, 0x0f, 0x0b}) // mov (%eax),%ebx; ud2
			c.cr0 |= x.am
			w.user(c)
			c.setFlags(x.ac, ^uint64(0))
			c.R[rRIP], c.R[rsp], c.R[rax] = user, user+0x1800, user+0x1000+x.at
			tr := w.trapped(c)
			require.That(t, tr.vector == x.vector && tr.code == 0, "%+v: %+v", x, tr)
		}
	})
}

// TestBranchToNowhere faults at the branch, with the stack as it was.
func TestBranchToNowhere(t *testing.T) {
	for _, code := range [][]byte{{0xff, 0xe0}, {0xff, 0xd0}, {0xff, 0x23}, {0xc3}, {0xc2, 8, 0}} {
		w, c := start(t, code...)
		c.R[rax], c.R[rbx] = 1<<47, testData
		w.store(testData, 1<<47)
		c.R[rsp] -= 64
		w.store(c.SP()-testStack+testStack, 1<<47)
		sp := c.SP()
		tr := w.trapped(c)
		require.That(t, tr.vector == vecGP && tr.code == 0 && tr.rip == testCode && tr.sp == sp, "% x: %+v, rsp was %#x", code, tr, sp)
	}
}

// TestDescriptorBits sets the accessed bit of a segment that is loaded and the busy bit of a task, which
// cannot be loaded again.
func TestDescriptorBits(t *testing.T) {
	// mov %eax,%fs; ltr %bx; ltr %bx
	w, c := start(t, 0x8e, 0xe0, 0x0f, 0x00, 0xdb, 0x0f, 0x00, 0xdb)
	const sel = 0x68
	w.store(worldGDT+sel, 0x00cf92000000ffff)
	c.R[rax], c.R[rbx] = sel, tssSel
	tr := w.trapped(c)
	require.That(t, tr.vector == vecGP && tr.code == tssSel && tr.rip == testCode+5, "busy task: %+v", tr)
	require.Equal(t, w.load(worldGDT+sel), 0x00cf93000000ffff, "the segment's descriptor")
	require.Equal(t, w.load(worldGDT+tssSel)>>40&0xff, 0x8b, "the task's type")
}

// TestPresence tells what is missing: a stack, a segment, a task or a table of descriptors.
func TestPresence(t *testing.T) {
	const sel = 0x68
	for _, x := range []struct {
		name   string
		code   []byte
		desc   uint64
		vector int
	}{
		{"ss", []byte{0x8e, 0xd0}, 0x00cf13000000ffff, vecSS},
		{"ds", []byte{0x8e, 0xd8}, 0x00cf13000000ffff, vecNP},
		{"task", []byte{0x0f, 0x00, 0xd8}, describe(0x09, 0, 0x1000, 0x67), vecNP},
		{"table", []byte{0x0f, 0x00, 0xd0}, describe(0x02, 0, 0x1000, 0x67), vecNP},
		{"task in memory", []byte{0x0f, 0x00, 0x1b}, describe(0x09, 0, 0x1000, 0x67), vecNP},
	} {
		w, c := start(t, x.code...)
		w.store(worldGDT+sel, x.desc)
		w.store(worldGDT+sel+8, 0)
		w.store(testData, sel)
		c.R[rax], c.R[rbx] = sel, testData
		if tr := w.trapped(c); tr.vector != x.vector || tr.code != sel {
			t.Errorf("%s: %+v; want vector %d", x.name, tr, x.vector)
		}
		require.That(t, c.tr.sel != sel && c.ldt.sel != sel && c.seg[segDS].sel != sel && c.seg[segSS].sel != sel, "%s: it is loaded all the same", x.name)
	}
}

// TestFarLevels refuses jumps and calls to code of another level, and allows a conforming segment.
func TestFarLevels(t *testing.T) {
	const sel = 0x68
	for name, x := range map[string]struct {
		kind uint64
		ok   bool
	}{"same level": {0x9b, true}, "outer level": {0xfb, false}, "conforming": {0x9f, true}, "outer conforming": {0xff, false}} {
		w, c := startIn(t, ISA32(), 0x90)
		w.store(w.at(worldGDT)+sel, describe(x.kind, 0xc, 0, 0xfffff))
		w.mem.Write(testCode-kernelMap, join([]byte{0xea}, le32(uint32(w.code(testCode)+0x40)), le16(sel)))
		w.mem.Write(testCode-kernelMap+0x40, []byte{0xf4})
		if halt(t, c); (c.PC() == w.code(testCode)+0x41) != x.ok || x.ok && c.cpl != 0 {
			t.Errorf("%s: at %#x", name, c.PC())
		}
	}
}

// TestFarReturnOutward goes to user mode by lret, which drops its arguments from both stacks.
func TestFarReturnOutward(t *testing.T) {
	const user = 0x40000000
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		code := []byte{0xca, 16, 0}
		if isa.Bits == 64 {
			code = append([]byte{0x48}, code...)
		}
		w, c := startIn(t, isa, code...)
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, []byte{0x0f, 0x0b})
		words := []uint64{user, w.userCS()}
		for range 16 / c.word() {
			words = append(words, 0)
		}
		w.frame(c, append(words, user+0x800, userDS)...)
		if tr := w.trapped(c); tr.vector != vecUD || tr.rip != user || tr.cs != w.userCS() || tr.sp != user+0x810 || tr.ss != userDS {
			t.Errorf("%+v", tr)
		}
	})
}

// TestSysenter64 enters and leaves 64-bit mode by sysenter and sysexit, and leaves for compatibility mode.
func TestSysenter64(t *testing.T) {
	const user = 0x40000000
	for _, wide := range []bool{true, false} {
		code := []byte{0x0f, 0x35}
		if wide {
			code = append([]byte{0x48}, code...)
		}
		w, c := start(t, code...)
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, []byte{0x0f, 0x34, 0x0f, 0x0b})
		c.msr.sysenter = [3]uint64{kernelCS, testStack, testCode}
		w.user(c)
		c.R[rRIP], c.R[rdx], c.R[rcx] = user, user+2, user+0x800
		tr := w.trapped(c)
		want := uint64(kernelCS+16) | 3
		if wide {
			want = kernelCS + 32 | 3
		}
		require.That(t, tr.vector == vecUD && tr.rip == user+2 && tr.sp == user+0x800 && tr.cs == want && tr.ss == want+8, "REX.W %v: %+v; want cs %#x", wide, tr, want)
	}
}

// TestNoSysenter refuses sysenter where the MSR names no segment, whatever privilege level it has.
func TestNoSysenter(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for level := range uint64(4) {
			w, c := startIn(t, isa, 0x0f, 0x34)
			c.msr.sysenter = [3]uint64{level, w.at(testStack), w.code(testCode)}
			if tr := w.trapped(c); tr.vector != vecGP || tr.code != 0 || tr.rip != w.code(testCode) {
				t.Errorf("selector %d: %+v", level, tr)
			}
		}
	})
}

// TestNestedReturn refuses iretq with NT (SDM vol. 2, IRET).
func TestNestedReturn(t *testing.T) {
	w, c := start(t, 0x48, 0xcf)
	c.setFlags(flagNT, flagNT)
	if tr := w.trapped(c); tr.vector != vecGP || tr.code != 0 || tr.rip != testCode {
		t.Errorf("%+v", tr)
	}
}

// TestInt1 is a trap with the vector of debugging, which says nothing in DR6.
func TestInt1(t *testing.T) {
	w, c := start(t, 0x90, 0xf1)
	before := c.dreg[6]
	if tr := w.trapped(c); tr.vector != vecDB || tr.rip != testCode+2 || c.dreg[6] != before {
		t.Errorf("%+v, DR6 %#x", tr, c.dreg[6])
	}
}

// TestShortAddresses has the prefix 67 cut addresses off at 16 bits in 32-bit mode.
func TestShortAddresses(t *testing.T) {
	w, c := startIn(t, ISA32(), 0x67, 0x8b, 0x40, 0x10, 0xf4) // mov 16(%bx,%si),%eax
	w.mapPage(0x1000, 0x400000|ptePresent)
	w.mem.Store(binary.LittleEndian, 0x400014, 4, 99)
	c.R[rbx], c.R[rsi] = 0xabcd0ff0, 0x12340014
	if halt(t, c); c.R[rax] != 99 {
		t.Errorf("read %d", c.R[rax])
	}
}

// TestShortTableBase has the prefix 66 take 24 bits of the base of a descriptor table.
func TestShortTableBase(t *testing.T) {
	for _, x := range []struct {
		code []byte
		want uint64
	}{{[]byte{0x66, 0x0f, 0x01, 0x18}, 0x563412}, {[]byte{0x0f, 0x01, 0x18}, 0x78563412}} { // lidt (%eax)
		w, c := startIn(t, ISA32(), append(x.code, 0xf4)...)
		w.mem.Write(testData-directMap, []byte{0xff, 7, 0x12, 0x34, 0x56, 0x78})
		c.R[rax] = w.at(testData)
		if halt(t, c); c.idt != (table{x.want, 0x7ff}) {
			t.Errorf("% x: %#x", x.code, c.idt)
		}
	}
}
