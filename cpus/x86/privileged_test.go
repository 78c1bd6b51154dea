package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// wrmsrCode is mov $n,%ecx; wrmsr.
func wrmsrCode(n uint32) []byte { return append(append([]byte{0xb9}, le32(n)...), 0x0f, 0x30) }

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestModelSpecificRegisters(t *testing.T) {
	for _, n := range []uint32{
		msrEFER, msrSTAR, msrLSTAR, msrCSTAR, msrFMASK, msrFSBase, msrGSBase, msrKernelGSBase,
		msrSysenterCS, msrSysenterESP, msrSysenterEIP, msrDebugCtl, msrBiosSign, msrMiscEnable,
	} {
		// wrmsr; xor %eax,%eax; xor %edx,%edx; rdmsr; hlt
		_, c := start(t, join(wrmsrCode(n), []byte{0x31, 0xc0, 0x31, 0xd2, 0x0f, 0x32, 0xf4})...)
		c.R[rax], c.R[rdx] = 0x501, 0
		if n == msrGSBase {
			c.R[rax], c.R[rdx] = 0x12345678, 0xffff8800
		}
		want := c.R[rdx]<<32 | c.R[rax]
		if n == msrEFER {
			c.R[rax] |= eferNXE
			want |= eferNXE
		}
		if halt(t, c); c.R[rdx]<<32|c.R[rax] != want {
			t.Errorf("msr %#x: read %#x; want %#x", n, c.R[rdx]<<32|c.R[rax], want)
		}
	}
}

// TestUserModeReachesNoNative has user mode fault at what leaves guest execution for the kernel, and has
// the observer told of the level of each instruction.
func TestUserModeReachesNoNative(t *testing.T) {
	const user = 0x40000000
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0xf4)
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, []byte{0x90, 0xff, 0xe3}) // nop; jmp *%ebx
		native := w.code(testCode) + 0x100
		c.Bus.Native = [2]uint64{native, native + 16}
		c.R[rRIP] = native
		if e := c.Run(c.Now() + 100); e.Reason != cpus.Native {
			t.Fatalf("the kernel: %+v", e)
		}
		w.user(c)
		c.R[rRIP], c.R[rbx] = user, native
		var seen []bool
		c.Observe(observeFunc(func(s *cpus.Step) { seen = append(seen, s.User) }))
		tr := w.trapped(c)
		require.That(t, tr.vector == vecPF && tr.rip == native && tr.code&^pfFetch == pfPresent|pfUser, "user mode: %+v", tr)
		require.That(t, len(seen) >= 3 && seen[0] && seen[1] && !seen[2], "levels of instructions: user mode %v", seen)
	})
}

// observeFunc is an observer.
type observeFunc func(*cpus.Step)

func (f observeFunc) Step(s *cpus.Step) { f(s) }

// TestSwitchExceptionStack books time on the exceptions that a task is in the middle of.
func TestSwitchExceptionStack(t *testing.T) {
	_, c := start(t, 0x90, 0x90, 0x90, 0xf4)
	if from := c.SwitchExceptionStack([]uint8{cpus.Breakpoint, cpus.Interrupted}); from != nil {
		t.Errorf("before there were %v", from)
	}
	halt(t, c)
	if from := c.SwitchExceptionStack(nil); len(from) != 2 || from[0] != cpus.Breakpoint || from[1] != cpus.Interrupted {
		t.Errorf("came back as %v", from)
	}
	if n := c.Counters().Count; n[cpus.Interrupted][0] != 4 || n[cpus.Breakpoint][0] != 0 || n[cpus.NoException][0] != 0 {
		t.Errorf("counted %v", n)
	}
	if from := c.SwitchExceptionStack(nil); from != nil {
		t.Errorf("at last there are %v", from)
	}
}

func TestSwapGS(t *testing.T) {
	// mov %gs:8,%rax; swapgs; mov %gs:8,%rbx; hlt
	w, c := start(t, 0x65, 0x48, 0x8b, 4, 0x25, 8, 0, 0, 0, 0x0f, 0x01, 0xf8, 0x65, 0x48, 0x8b, 0x1c, 0x25, 8, 0, 0, 0, 0xf4)
	c.segBase[segGS], c.msr.kernelGS = testData, testData+0x100
	w.store(testData+8, 11)
	w.store(testData+0x108, 22)
	if halt(t, c); c.R[rax] != 11 || c.R[rbx] != 22 {
		t.Errorf("%d, %d; want 11, 22", c.R[rax], c.R[rbx])
	}
}

func TestSystemCall(t *testing.T) {
	const user = 0x40000000
	// user: syscall; ud2. kernel: sysretq
	w, c := start(t, 0x48, 0x0f, 0x07)
	w.mapUser(user, 0x400000, 0x1000, pageExec)
	w.mem.Write(0x400000, []byte{0x0f, 0x05, 0x0f, 0x0b})
	c.msr.star = kernelCS<<32 | uint64(userCS-16)<<48
	c.msr.lstar, c.msr.fmask = testCode, flagIF|flagDF|flagTF
	w.user(c)
	c.R[rRIP], c.R[rsp] = user, user+0x800
	c.setFlags(flagIF|flagDF|flagCF, ^uint64(0))
	for c.PC() != testCode {
		c.Run(c.Now() + 1)
	}
	if c.cpl != 0 || c.seg[segCS].sel != kernelCS || c.seg[segSS].sel != kernelDS || c.R[rcx] != user+2 || c.flags()&(flagIF|flagDF) != 0 ||
		c.R[r11] != flagIF|flagDF|flagCF|flagOne || c.flags()&flagCF == 0 || c.SP() != user+0x800 {
		t.Fatalf("after syscall: level %d, cs %#x, rcx %#x, r11 %#x, flags %#x", c.cpl, c.seg[segCS].sel, c.R[rcx], c.R[r11], c.flags())
	}
	tr := w.trapped(c)
	require.That(t, tr.vector == vecUD && tr.rip == user+2 && tr.cs == userCS && tr.ss == userDS && tr.flags&^flagRF == flagIF|flagDF|flagCF|flagOne, "after sysret: %+v", tr)
	// a masked TF does not trap on the way in
	w.mem.Write(testCode-kernelMap, []byte{0x90, 0x0f, 0x0b})
	w.user(c)
	c.setFlags(flagTF, ^uint64(0))
	c.R[rRIP], c.Halted = user, false
	if tr := w.trapped(c); tr.vector != vecUD || tr.rip != testCode+1 {
		t.Errorf("syscall with TF: %+v", tr)
	}
	// without EFER.SCE both are undefined
	w, c = start(t, 0x0f, 0x05)
	c.msr.efer &^= eferSCE
	if tr := w.trapped(c); tr.vector != vecUD {
		t.Errorf("syscall without SCE: %+v", tr)
	}
}

func TestDescriptorTables(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// lgdt (%rax); lidt 16(%rax); sgdt 32(%rax); sidt 48(%rax); mov $0x40,%cx; ltr %cx; str %edx; sldt %ebx; hlt
		w, c := startIn(t, isa, 0x0f, 0x01, 0x10, 0x0f, 0x01, 0x58, 16, 0x0f, 0x01, 0x40, 32, 0x0f, 0x01, 0x48, 48, 0x66, 0xb9, 0x40, 0,
			0x0f, 0x00, 0xd9, 0x0f, 0x00, 0xca, 0x0f, 0x00, 0xc3, 0xf4)
		c.gdt, c.idt, c.tr = table{}, table{}, segment{}
		w.mem.Write(testData-directMap, append(le16(0x7f), le64(w.at(worldGDT))...))
		w.mem.Write(testData-directMap+16, append(le16(0x3ff), le64(w.at(worldIDT))...))
		c.R[rax], c.R[rdx], c.R[rbx] = w.at(testData), 0, 7
		halt(t, c)
		if c.gdt != (table{w.at(worldGDT), 0x7f}) || c.idt != (table{w.at(worldIDT), 0x3ff}) || c.tr.base != w.at(worldTSS) || c.R[rdx] != tssSel || c.R[rbx] != 0 {
			t.Errorf("gdt %+v, idt %+v, tr %+v, str %#x, sldt %#x", c.gdt, c.idt, c.tr, c.R[rdx], c.R[rbx])
		}
		require.That(t, w.mem.Load(binary.LittleEndian, testData-directMap+34, isa.Bits/8) == w.at(worldGDT) && w.mem.Load(binary.LittleEndian, testData-directMap+48, 2) == 0x3ff, "sgdt and sidt store other values than were loaded")
	})
}

// toNext returns to the instruction behind it by the far return of opcode op: mov %cs,%eax; push %rax;
// lea 3(%rip),%rax; push %rax; and op with REX.W.
func toNext(op byte) []byte {
	return []byte{0x8c, 0xc8, 0x50, 0x48, 0x8d, 0x05, 3, 0, 0, 0, 0x50, 0x48, op}
}

// TestSerializingInstructions holds the count against the list of the SDM, vol. 3, 8.3: of the instructions
// here, the first serialize, the others do not, and one that faults has not.
func TestSerializingInstructions(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want uint64
	}{
		{"cpuid", []byte{0x0f, 0xa2}, 1},
		{"invlpg (%rax)", []byte{0x0f, 0x01, 0x38}, 1},
		{"lgdt (%rax)", []byte{0x0f, 0x01, 0x10}, 1},
		{"lidt (%rax)", []byte{0x0f, 0x01, 0x18}, 1},
		{"lldt %cx", []byte{0x0f, 0x00, 0xd1}, 1},
		{"ltr %bx", []byte{0x0f, 0x00, 0xdb}, 1},
		{"mov %cr0,%rdx; mov %rdx,%cr0", []byte{0x0f, 0x20, 0xc2, 0x0f, 0x22, 0xc2}, 1},
		{"mov %rsi,%cr2", []byte{0x0f, 0x22, 0xd6}, 1},
		{"mov %cr3,%rdx; mov %rdx,%cr3", []byte{0x0f, 0x20, 0xda, 0x0f, 0x22, 0xda}, 1},
		{"mov %cr4,%rdx; mov %rdx,%cr4", []byte{0x0f, 0x20, 0xe2, 0x0f, 0x22, 0xe2}, 1},
		{"mov %rcx,%dr1", []byte{0x0f, 0x23, 0xc9}, 1},
		{"wbinvd", []byte{0x0f, 0x09}, 1},
		{"invd", []byte{0x0f, 0x08}, 1},
		{"wrmsr of the FS base", wrmsrCode(msrFSBase), 1},
		{"mov $0x500,%eax; wrmsr of EFER", join([]byte{0xb8, 0, 5, 0, 0}, wrmsrCode(msrEFER)), 1},
		{"iretq", join([]byte{0x8c, 0xd0, 0x50, 0x54, 0x9c}, toNext(0xcf)), 1},
		{"mov %rcx,%cr8", []byte{0x44, 0x0f, 0x22, 0xc1}, 0},
		{"mov %cr2,%rcx", []byte{0x0f, 0x20, 0xd1}, 0},
		{"sgdt (%rax)", []byte{0x0f, 0x01, 0x00}, 0},
		{"clts", []byte{0x0f, 0x06}, 0},
		{"swapgs", []byte{0x0f, 0x01, 0xf8}, 0},
		{"mfence", []byte{0x0f, 0xae, 0xf0}, 0},
		{"lretq", toNext(0xcb), 0},
		{"int3", []byte{0xcc}, 0},
		{"wrmsr of an unknown register", wrmsrCode(0x99), 0},
		{"mov %rcx,%cr0 without paging", []byte{0x0f, 0x22, 0xc1}, 0},
		{"mov %rax,%cr8 beyond its bits", []byte{0x44, 0x0f, 0x22, 0xc0}, 0},
	} {
		w, c := start(t, append(tt.code, 0xf4)...)
		w.mem.Write(testData-directMap, append(le16(0x7f), le64(w.at(worldGDT))...))
		c.R[rax], c.R[rbx], c.R[rcx] = w.at(testData), tssSel, 0
		if halt(t, c); c.Counts.ContextSyncs != tt.want {
			t.Errorf("%s counts %d times, want %d", tt.name, c.Counts.ContextSyncs, tt.want)
		}
	}
}

func TestSegmentRegisters(t *testing.T) {
	// pushq $0x18; pop %fs; mov %fs,%eax; xor %ecx,%ecx; mov %ecx,%gs; push %fs; pop %rbx; hlt
	_, c := start(t, 0x6a, 0x18, 0x0f, 0xa1, 0x8c, 0xe0, 0x31, 0xc9, 0x8e, 0xe9, 0x0f, 0xa0, 0x5b, 0xf4)
	c.segBase[segFS] = 0x1234
	if halt(t, c); c.R[rax] != kernelDS || c.R[rbx] != kernelDS || c.segBase[segFS] != 0 {
		t.Errorf("fs %#x and %#x with base %#x", c.R[rax], c.R[rbx], c.segBase[segFS])
	}
}

func TestControlRegisters(t *testing.T) {
	// mov %cr0,%rax; mov %rax,%cr0; mov %cr3,%rbx; mov %rbx,%cr3; mov %cr4,%rcx; mov %rcx,%cr4; mov %rdx,%cr2; mov %cr2,%rsi; clts;
	// mov %rdx,%dr1; mov %dr1,%rdi; wbinvd; invd; hlt
	_, c := start(t, 0x0f, 0x20, 0xc0, 0x0f, 0x22, 0xc0, 0x0f, 0x20, 0xdb, 0x0f, 0x22, 0xdb, 0x0f, 0x20, 0xe1, 0x0f, 0x22, 0xe1,
		0x0f, 0x22, 0xd2, 0x0f, 0x20, 0xd6, 0x0f, 0x06, 0x0f, 0x23, 0xca, 0x0f, 0x21, 0xcf, 0x0f, 0x09, 0x0f, 0x08, 0xf4)
	c.cr0 |= cr0TS
	c.R[rdx] = 0x1122334455667788
	cr0, cr3, cr4 := c.cr0, c.cr3, c.cr4
	if halt(t, c); c.R[rax] != cr0 || c.R[rbx] != cr3 || c.R[rcx] != cr4 || c.R[rsi] != c.R[rdx] || c.R[rdi] != c.R[rdx] || c.cr0 != cr0&^cr0TS {
		t.Errorf("cr0 %#x cr3 %#x cr4 %#x cr2 %#x dr1 %#x", c.R[rax], c.R[rbx], c.R[rcx], c.R[rsi], c.R[rdi])
	}
}

// TestPricesByOperand has a loop of one instruction, 100 times, cost what the class of its register says. The memo
// remembers the first rounds, in which the register is another one.
func TestPricesByOperand(t *testing.T) {
	for _, x := range []struct {
		class string
		msr   uint32
		op    byte
	}{
		{"wrmsr", msrSTAR, 0x30},
		{"wrmsr_base", msrFSBase, 0x30},
		{"wrmsr_base", msrKernelGSBase, 0x30},
		{"wrmsr_debugctl", msrDebugCtl, 0x30},
		{"rdmsr", msrSTAR, 0x32},
		{"rdmsr_base", msrGSBase, 0x32},
		{"rdmsr_debugctl", msrDebugCtl, 0x32},
	} {
		for _, model := range []string{cpus.Throughput, cpus.Window} {
			took := func(class string) int64 {
				// mov $200,%ebx; l: mov %rsp,%rax; xor %edx,%edx; OP; dec %ebx; cmp $100,%ebx; cmove %esi,%ecx; test %ebx,%ebx; jnz l; hlt
				code := join([]byte{0xbb}, le32(200), []byte{
					0x31, 0xc0, 0x31, 0xd2, 0x0f, x.op, 0xff, 0xcb, 0x83, 0xfb, 100, 0x0f, 0x44, 0xce, 0x85, 0xdb, 0x75, 0xee, 0xf4,
				})
				w := newWorld(t, ISA64(), model, code)
				for _, n := range ISA64().Classes {
					w.cfg.Classes[n] = cpus.Cost{Issue: 10 * clock.PerCycle, Serialize: true}
				}
				w.cfg.Classes[class] = cpus.Cost{Issue: 25 * clock.PerCycle, Serialize: true}
				c := w.cpu()
				c.R[rcx], c.R[rsi] = msrCSTAR, uint64(x.msr)
				halt(t, c)
				return c.Now().Cycles()
			}
			want := int64(100 * 15)
			if x.class == "wrmsr" || x.class == "rdmsr" {
				want = 200 * 15
			}
			if got := took(x.class) - took("undefined"); got != want {
				t.Errorf("%s, %s of %#x: %d cycles more, want %d", model, x.class, x.msr, got, want)
			}
		}
	}
}

// TestReturnPrices has a return to user mode cost what iret_outer does, and one within the kernel what iret does.
func TestReturnPrices(t *testing.T) {
	const user = 0x40000000
	took := func(class string, outer bool) int64 {
		w, _ := startIn(t, ISA64())
		w.cfg.Classes[class] = cpus.Cost{Issue: 500 * clock.PerCycle, Serialize: true}
		c := w.cpu()
		w.mapUser(user, 0x400000, 0x1000, pageExec)
		w.mem.Write(0x400000, []byte{0x0f, 0x0b}) // ud2
		w.mem.Write(testCode-kernelMap, w.iret())
		if outer {
			w.frame(c, user, w.userCS(), flagOne, user+0x800, userDS)
		} else {
			w.frame(c, w.code(handlers), kernelCS, flagOne, worldStack-0x100, kernelDS)
		}
		halt(t, c)
		return c.Now().Cycles()
	}
	for _, outer := range []bool{false, true} {
		own, other := "iret", "iret_outer"
		if outer {
			own, other = other, own
		}
		usual := took("wbinvd", outer)
		if took(own, outer) <= usual+400 || took(other, outer) != usual {
			t.Errorf("to user mode %t: %d cycles, %d where %s takes 500, %d where %s does", outer,
				usual, took(own, outer), own, took(other, outer), other)
		}
	}
}
