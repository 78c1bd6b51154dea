package x86

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// handlers is where the gates of a test point: one hlt for each vector.
const handlers = testCode + 0x800

// hasCode tells the exceptions that push an error code.
var hasCode = map[int]bool{vecDF: true, vecTS: true, vecNP: true, vecSS: true, vecGP: true, vecPF: true, vecAC: true}

// trap holds what a handler finds.
type trap struct {
	vector                 int
	code                   uint64
	rip, cs, flags, sp, ss uint64
}

// start makes a CPU with code and handlers that stop it.
func start(t *testing.T, code ...byte) (*world, *CPU) {
	t.Helper()
	return startIn(t, ISA64(), code...)
}

// startIn is start in any mode.
func startIn(t *testing.T, isa *cpus.ISA, code ...byte) (*world, *CPU) {
	t.Helper()
	w := newWorld(t, isa, cpus.Window, code)
	for v := range uint64(64) {
		w.mem.Write(handlers-kernelMap+v, []byte{0xf4})
	}
	w.gates(func(v int) (uint64, uint8) { return w.code(handlers) + uint64(v), 0 })
	return w, w.cpu()
}

// halt runs c until it halts.
func halt(t *testing.T, c *CPU) {
	t.Helper()
	if e := c.Run(c.Now() + 1e8); e.Reason != cpus.Halted {
		t.Fatalf("stopped for %+v at %#x", e, c.PC())
	}
}

// trapped runs c into a handler.
func (w *world) trapped(c *CPU) trap {
	w.tb.Helper()
	e := c.Run(c.Now() + 1e8)
	v := int(c.PC() - 1 - w.code(handlers))
	require.Need(w.tb, e.Reason == cpus.Halted && v >= 0 && v < 64, "no exception: stopped for %+v at %#x", e, c.PC())
	tr := trap{vector: v}
	sp := c.SP()
	at := func(i uint64) uint64 {
		pa, ok := c.Translate(sp + c.word()*i)
		require.Need(w.tb, ok, "the frame at %#x is not mapped", sp)
		return w.mem.Load(binary.LittleEndian, pa, int(c.word()))
	}
	if hasCode[v] {
		tr.code = at(0)
		sp += c.word()
	}
	tr.rip, tr.cs, tr.flags = at(0), at(1), at(2)
	if tr.sp, tr.ss = sp+3*c.word(), uint64(c.seg[segSS].sel); c.long || tr.cs&3 != 0 {
		tr.sp, tr.ss = at(3), at(4)
	}
	return tr
}

// only64 are the cases of TestExceptions that 32-bit mode or its tables without rights to execute lack.
var only64 = map[string]bool{
	"second page of an operand": true, "not canonical": true, "frame not canonical": true, "jump into data": true,
	"gs base not canonical": true, "cr0 without paging": true, "bad code selector": true, "cmpxchg16b misaligned": true,
}

func TestExceptions(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name   string
			code   []byte
			rax    uint64
			vector int
			err    uint64
			skip   uint64 // bytes of code before the reported rip
			cr2    uint64
		}{
			{"divide by zero", []byte{0x90, 0x31, 0xc9, 0xf7, 0xf1}, 0, vecDE, 0, 3, 0},
			{"ud2", []byte{0x90, 0x0f, 0x0b}, 0, vecUD, 0, 1, 0},
			{"not modelled: rsm", []byte{0x90, 0x0f, 0xaa}, 0, vecUD, 0, 1, 0},
			{"lock without right", []byte{0xf0, 0x89, 0x00}, testData, vecUD, 0, 0, 0},
			{"int3", []byte{0x90, 0xcc}, 0, vecBP, 0, 2, 0},
			{"int 0x21", []byte{0xcd, 0x21}, 0, 0x21, 0, 2, 0},
			{"int beyond the table", []byte{0xcd, 0x80}, 0, vecGP, 0x80<<3 | 2, 0, 0},
			{"read of nothing", []byte{0x90, 0x8b, 0x00}, 0x1234, vecPF, 0, 1, 0x1234},
			{"write to nothing", []byte{0x89, 0x00}, 0x1234, vecPF, pfWrite, 0, 0x1234},
			{"read-modify-write of nothing", []byte{0xff, 0x00}, 0x1234, vecPF, pfWrite, 0, 0x1234},
			{"second page of an operand", []byte{0x48, 0x8b, 0x00}, directMap + worldRAM - 4, vecPF, 0, 0, directMap + worldRAM},
			{"not canonical", []byte{0x8b, 0x00}, 1 << 47, vecGP, 0, 0, 0},
			{"read of page zero", []byte{0x8b, 0x00}, 8, vecPF, 0, 0, 8},
			{"frame not canonical", []byte{0x48, 0x89, 0xc5, 0x8b, 0x45, 0}, 1 << 47, vecSS, 0, 3, 0},
			{"jump to nothing", []byte{0xff, 0xe0}, 0x5678, vecPF, pfFetch, 0, 0x5678},
			{"jump into data", []byte{0xff, 0xe0}, testData, vecPF, pfPresent | pfFetch, 0, testData},
			{"cr1", []byte{0x0f, 0x20, 0xc8}, 0, vecUD, 0, 0, 0},
			{"unknown msr", []byte{0xb9, 0x99, 0, 0, 0, 0x0f, 0x32}, 0, vecGP, 0, 5, 0},
			{"gs base not canonical", []byte{0xb9, 1, 1, 0, 0xc0, 0xba, 0, 0, 0, 0x12, 0x0f, 0x30}, 0, vecGP, 0, 10, 0},
			{"cr0 without paging", []byte{0x0f, 0x22, 0xc0}, 1, vecGP, 0, 0, 0},
			{"bad code selector", []byte{0x6a, 0x68, 0x50, 0x48, 0xcb}, testCode, vecGP, 0x68, 3, 0},
			{"bad data selector", []byte{0x8e, 0xd8}, 0x78, vecGP, 0x78, 0, 0},
			{"code as stack", []byte{0x8e, 0xd0}, kernelCS, vecGP, kernelCS, 0, 0},
			{"cmpxchg16b misaligned", []byte{0x48, 0x0f, 0xc7, 0x08}, testData + 8, vecGP, 0, 0, 0},
		} {
			t.Run(x.name, func(t *testing.T) {
				if isa.Bits == 32 && only64[x.name] {
					t.Skip("does not apply: nothing like it in 32-bit mode")
				}
				w, c := startIn(t, isa, x.code...)
				c.R[rax] = w.moved(x.rax)
				if x.vector == vecPF && !c.tables.forbidsExecution() {
					x.err &^= pfFetch
				}
				sp := c.SP()
				tr := w.trapped(c)
				at := w.code(testCode) + x.skip
				if strings.HasPrefix(x.name, "jump") {
					at = w.moved(x.rax)
				}
				require.That(t, tr.vector == x.vector && tr.code == x.err && tr.rip == at && c.cr2 == x.cr2, "%+v with cr2 %#x; want vector %d, code %#x, rip %#x, cr2 %#x", tr, c.cr2, x.vector, x.err, at, x.cr2)
				require.That(t, tr.cs == kernelCS && tr.ss == kernelDS && (x.name == "bad code selector" || tr.sp == sp), "frame %+v, rsp before %#x", tr, sp)
				require.Equal(t, tr.flags&flagRF != 0, (x.vector != vecBP && x.vector != 0x21), "RF of the frame")
				require.That(t, c.ctl&flagIF == 0, "an interrupt gate leaves IF set")
			})
		}
	})
}

func TestUserRights(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const user = 0x40000000
		for _, x := range []struct {
			name   string
			code   []byte
			rax    uint64
			vector int
			err    uint64
		}{
			{"kernel page", []byte{0x8b, 0x00}, testData, vecPF, pfPresent | pfUser},
			{"read-only page", []byte{0x89, 0x00}, user, vecPF, pfPresent | pfUser | pfWrite},
			{"no page", []byte{0x89, 0x00}, user + 0x5000, vecPF, pfUser | pfWrite},
			{"data page", []byte{0xff, 0xe0}, user + 0x1000, vecPF, pfPresent | pfUser | pfFetch},
			{"hlt", []byte{0xf4}, 0, vecGP, 0},
			{"cli", []byte{0xfa}, 0, vecGP, 0},
			{"interrupt gate of the kernel", []byte{0xcd, 0x22}, 0, vecGP, 0x22<<3 | 2},
			{"int3", []byte{0xcc}, 0, vecBP, 0},
		} {
			t.Run(x.name, func(t *testing.T) {
				w, c := startIn(t, isa)
				if x.err&pfFetch != 0 && !c.tables.forbidsExecution() {
					t.Skip("does not apply: these tables do not forbid execution")
				}
				w.gate(0x22, w.code(handlers)+0x22, 0, 0x8e)
				w.mapUser(user, 0x400000, 0x1000, pageExec)
				w.mapUser(user+0x1000, 0x401000, 0x1000, pageWrite)
				w.mem.Write(0x400000, x.code)
				w.user(c)
				c.R[rRIP], c.R[rsp], c.R[rax] = user, user+0x1800, w.moved(x.rax)
				tr := w.trapped(c)
				require.That(t, tr.vector == x.vector && tr.code == x.err && tr.cs == w.userCS() && tr.ss == userDS && tr.sp == user+0x1800, "%+v; want vector %d, code %#x from user mode", tr, x.vector, x.err)
				if sp := c.SP(); c.cpl != 0 || sp > w.at(worldStack) || sp < w.at(worldStack)-64 {
					t.Errorf("handler at level %d with rsp %#x; want 0 and the TSS's stack %#x", c.cpl, sp, w.at(worldStack))
				}
			})
		}
	})
}

func TestStackTable(t *testing.T) {
	w, c := start(t, 0x0f, 0x0b)
	w.gate(vecUD, handlers+vecUD, 1, 0x8e)
	w.trapped(c)
	if c.SP() != worldIST-40 {
		t.Errorf("rsp %#x; want the IST's stack below %#x", c.SP(), uint64(worldIST))
	}
	// the stack is aligned before the frame
	w, c = start(t, 0x0f, 0x0b)
	c.R[rsp] -= 3
	if tr := w.trapped(c); c.SP()&15 != 8 || tr.sp != testStack-3 {
		t.Errorf("rsp %#x, frame %+v", c.SP(), tr)
	}
}

// TestHandlerSegment refuses handlers in a segment of an outer level, or in long mode of 32-bit code. The error code names the
// segment, and says whether the program asked for the interrupt (SDM vol. 3, 6.13).
func TestHandlerSegment(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, sel := range []uint64{userCS, userCS32} {
			for external, code := range [][]byte{{0xcd, vecUD}, {0x0f, 0x0b}} { // int and ud2
				w, c := startIn(t, isa, code...)
				at := w.at(worldIDT) + uint64(vecUD*isa.Bits/4)
				w.store(at, w.load(at)&^0xffff0000|sel<<16)
				if tr := w.trapped(c); tr.vector != vecGP || tr.code != sel&^3|uint64(external) {
					t.Errorf("handler in segment %#x: %+v; want #GP that names it", sel, tr)
				}
			}
		}
	})
}

func TestDoubleFault(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0x8b, 0x00)
		w.gate(vecPF, w.code(handlers), 0, 0x6e) // not present
		if tr := w.trapped(c); tr.vector != vecDF || tr.code != 0 || tr.rip != w.code(testCode) {
			t.Errorf("page fault without handler: %+v; want a double fault", tr)
		}
		// a benign exception is no first half of a double fault
		w, c = startIn(t, isa, 0x0f, 0x0b)
		w.gate(vecUD, w.code(handlers), 0, 0x6e)
		if tr := w.trapped(c); tr.vector != vecNP || tr.code != vecUD<<3|3 || tr.rip != w.code(testCode) {
			t.Errorf("#UD without handler: %+v; want #NP", tr)
		}
		// and one of int n points at the instruction
		w, c = startIn(t, isa, 0x90, 0xcc)
		w.gate(vecBP, w.code(handlers), 0, 0x6e)
		if tr := w.trapped(c); tr.vector != vecNP || tr.code != vecBP<<3|2 || tr.rip != w.code(testCode)+1 {
			t.Errorf("int3 without handler: %+v; want #NP at it", tr)
		}
	})
}

func TestShutdown(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for name, spoil := range map[string]func(w *world, c *CPU){
			"no table":         func(_ *world, c *CPU) { c.idt = table{} },
			"unmapped handler": func(w *world, c *CPU) { c.idt.base = 0x1000 },
			"no stack":         func(w *world, c *CPU) { c.R[rsp] = 0x1000 },
		} {
			w, c := startIn(t, isa, 0x8b, 0x00)
			spoil(w, c)
			e := c.Run(1e9)
			require.That(t, e.Reason == cpus.Shutdown && strings.Contains(e.Detail, "triple fault") && strings.Contains(e.Detail, fmt.Sprintf("%#x", w.code(testCode))), "%s: %+v; want a shutdown that says where", name, e)
		}
	})
}

func TestAccessedAndDirty(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const va = 0x40000000
		w, c := startIn(t, isa, 0x8b, 0x18, 0xf4, 0x89, 0x18, 0xf4)
		w.mapPage(va, 0x400000|ptePresent|pteWrite)
		c.R[rax] = va
		entry := func() uint64 { return w.mem.Load(binary.LittleEndian, w.pte(va), w.entry()) & (pteAccessed | pteDirty) }
		require.That(t, entry() == 0, "bits set before any access")
		if halt(t, c); entry() != pteAccessed {
			t.Errorf("after a read: %#x", entry())
		}
		c.Halted = false
		if halt(t, c); entry() != pteAccessed|pteDirty {
			t.Errorf("after a write: %#x", entry())
		}
	})
}

func TestStaleTranslations(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const va = 0x40000000
		// mov (%rax),%ebx; hlt; mov (%rax),%ecx; invlpg (%rax); mov (%rax),%edx; hlt
		w, c := startIn(t, isa, 0x8b, 0x18, 0xf4, 0x8b, 0x08, 0x0f, 0x01, 0x38, 0x8b, 0x10, 0xf4)
		w.mem.Store(binary.LittleEndian, 0x400000, 4, 1)
		w.mem.Store(binary.LittleEndian, 0x401000, 4, 2)
		w.mapPage(va, 0x400000|ptePresent)
		c.R[rax] = va
		halt(t, c)
		w.mapPage(va, 0x401000|ptePresent)
		c.Halted = false
		halt(t, c)
		if c.R[rbx] != 1 || c.R[rcx] != 1 || c.R[rdx] != 2 {
			t.Errorf("read %d, %d without and %d with invlpg; want 1, 1, 2", c.R[rbx], c.R[rcx], c.R[rdx])
		}
	})
}

// TestReloadOfCR3 forgets what is not global.
func TestReloadOfCR3(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const va = 0x40000000
		// mov (%rax),%ebx; hlt; mov %rdx,%cr3; mov (%rax),%ecx; hlt
		for _, global := range []uint64{0, pteGlobal} {
			w, c := startIn(t, isa, 0x8b, 0x18, 0xf4, 0x0f, 0x22, 0xda, 0x8b, 0x08, 0xf4)
			w.mem.Store(binary.LittleEndian, 0x400000, 4, 1)
			w.mem.Store(binary.LittleEndian, 0x401000, 4, 2)
			w.mapPage(va, 0x400000|ptePresent|global)
			c.R[rax], c.R[rdx] = va, c.cr3
			halt(t, c)
			w.mapPage(va, 0x401000|ptePresent|global)
			c.Halted = false
			if halt(t, c); (c.R[rcx] == 2) != (global == 0) {
				t.Errorf("with the global bit %#x a reload leaves %d to read", global, c.R[rcx])
			}
		}
	})
}

func TestReturnFaults(t *testing.T) {
	eachMode(t, returnFaults)
}

func returnFaults(t *testing.T, isa *cpus.ISA) {
	for _, x := range []struct {
		name   string
		rip    uint64
		cs, ss uint64
		vector int
		code   uint64
	}{
		{"not canonical", 1 << 47, kernelCS, kernelDS, vecGP, 0},
		{"data as code", testCode, kernelDS, kernelDS, vecGP, kernelDS},
		{"code of another level", testCode, kernelCS | 3, userDS, vecGP, kernelCS},
		{"null stack for user mode", testCode, userCS, 3, vecGP, 0},
		{"stack of another level", testCode, userCS, kernelDS, vecGP, kernelDS},
		{"beyond the table", testCode, 0x80, kernelDS, vecGP, 0x80},
	} {
		w, c := startIn(t, isa)
		w.mem.Write(testCode-kernelMap, w.iret())
		if x.cs == userCS {
			x.cs = w.userCS()
		}
		if isa.Bits == 32 && x.name == "not canonical" {
			continue // no such address
		}
		w.frame(c, x.rip, x.cs, flagOne, w.at(testStack), x.ss)
		sp := c.SP()
		tr := w.trapped(c)
		require.That(t, tr.vector == x.vector && tr.code == x.code && tr.rip == w.code(testCode) && tr.sp == sp, "%s: %+v; want vector %d, code %#x at the iretq", x.name, tr, x.vector, x.code)
	}
}

func TestWriteProtect(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const va = 0x40000000
		// mov %rax,%cr0; movl $7,(%rbx); hlt
		for _, wp := range []uint64{0, cr0WP} {
			w, c := startIn(t, isa, 0x0f, 0x22, 0xc0, 0xc7, 0x03, 7, 0, 0, 0, 0xf4)
			w.mapPage(va, 0x400000|ptePresent)
			c.R[rax], c.R[rbx] = c.cr0&^cr0WP|wp, va
			halt(t, c)
			got := w.mem.Load(binary.LittleEndian, 0x400000, 4)
			require.That(t, (got == 7) == (wp == 0), "with WP %#x the read-only page holds %d", wp, got)
		}
	})
}

// A kernel in 32-bit mode does not learn from cpuid that there is a mode which it cannot enter.
func TestCpuid(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name string
			leaf uint64
			reg  int
			bit  uint
			both bool // the bit is there in every mode
		}{
			{"physical address extension", 1, rdx, 6, true},
			{"sysenter", 1, rdx, 11, true},
			{"x87", 1, rdx, 0, true},
			{"fxsave", 1, rdx, 24, true},
			{"SSE2", 1, rdx, 26, true},
			{"cmpxchg16b", 1, rcx, 13, false},
			{"pages that are not executed", 0x80000001, rdx, 20, true},
			{"syscall", 0x80000001, rdx, 11, false},
			{"long mode", 0x80000001, rdx, 29, false},
		} {
			_, c := startIn(t, isa, 0x0f, 0xa2, 0xf4)
			c.R[rax] = x.leaf
			halt(t, c)
			want := x.both || isa.Bits == 64
			require.Equal(t, c.R[x.reg]>>x.bit&1 == 1, want, "%s", x.name)
		}
	})
}
