package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// popTF is push $0x102; popf, which sets TF from the next instruction on.
var popTF = []byte{0x68, 2, 1, 0, 0, 0x9d}

// steps runs c and returns the rip of each #DB, resuming after each as its handler would by iretq. dr6
// collects the status of each.
func (w *world) steps(c *CPU, n int) (rips, dr6 []uint64) {
	w.tb.Helper()
	for range n {
		tr := w.trapped(c)
		if tr.vector != vecDB {
			break
		}
		rips, dr6 = append(rips, tr.rip-w.code(testCode)), append(dr6, c.dreg[6]&^dr6Ones)
		c.Halted = false
		w.mem.Write(handlers-kernelMap+0x100, w.iret())
		c.R[rRIP] = w.code(handlers) + 0x100
	}
	return rips, dr6
}

func equal(a []uint64, b ...uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSingleStep(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name string
			code []byte
			want []uint64
		}{
			{"after each instruction", []byte{0x90, 0xff, 0xc0, 0x90}, []uint64{7, 9, 10}},
			{"branch", []byte{0xeb, 2, 0x90, 0x90, 0x90}, []uint64{10, 11}},
			{"call and ret", []byte{0xe8, 1, 0, 0, 0, 0x90, 0xc3}, []uint64{12, 11, 12}},
			{"popf that ends it traps once more", []byte{0x6a, 2, 0x9d, 0x90, 0x0f, 0x0b}, []uint64{8, 9}},
			{"between repetitions", []byte{0xb9, 3, 0, 0, 0, 0xf3, 0xaa, 0x90}, []uint64{11, 11, 11, 13, 14}},
			{"no repetition", []byte{0x31, 0xc9, 0xf3, 0xaa, 0x90}, []uint64{8, 10, 11}},
			{"repetition that finds", []byte{0xb9, 3, 0, 0, 0, 0xf2, 0xae, 0x90}, []uint64{11, 13, 14}},
			{"behind a load of ss", []byte{0x8e, 0xd2, 0x90, 0x90}, []uint64{9, 10}},
		} {
			w, c := startIn(t, isa, append(popTF[:6:6], x.code...)...)
			c.R[rdi], c.R[rdx] = w.at(testData), kernelDS
			rips, dr6 := w.steps(c, len(x.want))
			require.That(t, equal(rips, x.want...), "%s: traps at %v; want %v", x.name, rips, x.want)
			for _, d := range dr6 {
				if d != dr6BS {
					t.Errorf("%s: DR6 %#x", x.name, d)
				}
			}
		}
	})
}

func TestTrapFlagInFrames(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// int3 with TF pushes TF and clears it: the handler does not trap
		w, c := startIn(t, isa, append(popTF[:6:6], 0xcc)...)
		if tr := w.trapped(c); tr.vector != vecBP || tr.flags&flagTF == 0 || c.ctl&flagTF != 0 {
			t.Errorf("int3 with TF: %+v, TF now %#x", tr, c.ctl&flagTF)
		}
		// so does a fault, whose instruction has not been stepped
		w, c = startIn(t, isa, append(popTF[:6:6], 0x0f, 0x0b)...)
		if tr := w.trapped(c); tr.vector != vecUD || tr.flags&flagTF == 0 {
			t.Errorf("ud2 with TF: %+v", tr)
		}
		// iretq into TF executes exactly one instruction
		w, c = startIn(t, isa)
		w.mem.Write(testCode-kernelMap, w.iret())
		w.mem.Write(testCode-kernelMap+0x40, []byte{0x90, 0x90})
		w.frame(c, w.code(testCode)+0x40, kernelCS, 2|flagTF, w.at(testStack), kernelDS)
		if rips, _ := w.steps(c, 1); !equal(rips, 0x41) {
			t.Errorf("iretq with TF: trap at %#x; want 0x41", rips)
		}
	})
}

// arm sets a breakpoint register. kind is that of DR7: 0 execution, 1 writes, 3 accesses.
func arm(c *CPU, i int, at uint64, kind, length uint64) {
	c.dreg[i] = at
	c.dreg[7] |= 2<<(2*i) | (kind|map[uint64]uint64{1: 0, 2: 1, 4: 3, 8: 2}[length]<<2)<<(16+4*i)
	c.arm()
	c.ForgetData()
}

func TestInstructionBreakpoint(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// nop; nop; nop; ud2
		w, c := startIn(t, isa, 0x90, 0x90, 0x90, 0x0f, 0x0b)
		arm(c, 2, w.code(testCode)+1, 0, 1)
		tr := w.trapped(c)
		if tr.vector != vecDB || tr.rip != w.code(testCode)+1 || tr.flags&flagRF == 0 || c.dreg[6]&0xf != 4 {
			t.Fatalf("%+v, DR6 %#x; want a fault before the instruction", tr, c.dreg[6])
		}
		// the frame has RF, so iretq passes the breakpoint once
		c.Halted = false
		w.mem.Write(handlers-kernelMap+0x100, w.iret())
		c.R[rRIP] = w.code(handlers) + 0x100
		if tr = w.trapped(c); tr.vector != vecUD || tr.rip != w.code(testCode)+3 {
			t.Errorf("after iretq with RF: %+v; want to reach ud2", tr)
		}
	})
}

func TestBreakpointComesBack(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// 1: nop; jmp 1b
		w, c := startIn(t, isa, 0x90, 0xeb, 0xfd)
		arm(c, 0, w.code(testCode), 0, 1)
		if rips, _ := w.steps(c, 3); !equal(rips, 0, 0, 0) {
			t.Errorf("breakpoint in a loop: %v; want three hits", rips)
		}
	})
}

func TestDataBreakpoint(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name         string
			kind, length uint64
			off          int64 // of the access from the breakpoint
			code         []byte
			hit          bool
		}{
			{"write", 1, 4, 0, []byte{0x89, 0x03}, true},
			{"read of a write breakpoint", 1, 4, 0, []byte{0x8b, 0x03}, false},
			{"read", 3, 4, 0, []byte{0x8b, 0x03}, true},
			{"overlap from below", 1, 4, -3, []byte{0x89, 0x03}, true},
			{"just below", 1, 4, -4, []byte{0x89, 0x03}, false},
			{"last byte", 1, 8, 7, []byte{0x88, 0x03}, true},
			{"just above", 1, 8, 8, []byte{0x88, 0x03}, false},
			{"locked add", 1, 4, 0, []byte{0xf0, 0x01, 0x03}, true},
			{"push", 1, 8, 8, []byte{0x48, 0x89, 0xdc, 0x50}, true},
		} {
			if isa.Bits == 32 && x.name == "push" {
				continue // of eight bytes
			}
			w, c := startIn(t, isa, append(x.code[:len(x.code):len(x.code)], 0x90, 0xf4)...)
			c.R[rbx] = w.at(testData) + 0x40 + uint64(x.off)
			arm(c, 1, w.at(testData)+0x40, x.kind, x.length)
			halt(t, c)
			if hit := c.PC() == w.code(handlers)+vecDB+1; hit != x.hit {
				t.Errorf("%s: trap %v; want %v", x.name, hit, x.hit)
				continue
			}
			if rip := w.load(c.SP()) & c.AddrMask; x.hit && (rip != w.code(testCode)+uint64(len(x.code)) || c.dreg[6]&0xf != 2) {
				t.Errorf("%s: trap at %#x, DR6 %#x; want it behind the instruction", x.name, rip, c.dreg[6])
			}
		}
	})
}

func TestGeneralDetect(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0x0f, 0x21, 0xf8)
		c.dreg[7] |= dr7GD
		if tr := w.trapped(c); tr.vector != vecDB || tr.rip != w.code(testCode) || c.dreg[6]&dr6BD == 0 || c.dreg[7]&dr7GD != 0 {
			t.Errorf("%+v, DR6 %#x, DR7 %#x", tr, c.dreg[6], c.dreg[7])
		}
	})
}

func TestInterrupts(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name string
			code []byte
			want uint64 // rip that is interrupted
		}{
			{"sti holds off one instruction", []byte{0xfb, 0x90, 0x90, 0xf4}, 2},
			{"sti when IF is set does not", []byte{0xfb, 0x90, 0xfb, 0x90, 0xf4}, 2},
			{"hlt behind sti is left", []byte{0xfb, 0xf4, 0x90}, 2},
			{"sti, cli lets nothing in", []byte{0xfb, 0xfa, 0x90, 0xfb, 0x90, 0x90}, 5},
			{"popf lets it in at once", []byte{0x68, 2, 2, 0, 0, 0x9d, 0x90, 0xf4}, 6},
			{"load of ss holds off", []byte{0x68, 2, 2, 0, 0, 0x8e, 0xd2, 0x9d, 0x8e, 0xd2, 0x90, 0x90}, 8},
		} {
			w, c := startIn(t, isa, x.code...)
			c.R[rdx] = kernelDS
			w.irq.queue = []uint8{0x30}
			c.Interrupt()
			tr := w.trapped(c)
			require.That(t, tr.vector == 0x30 && tr.rip == w.code(testCode)+x.want && tr.flags&flagIF != 0 && tr.flags&flagRF == 0, "%s: %+v; want interrupt 0x30 at +%d", x.name, tr, x.want)
		}
	})
}

func TestHaltWaits(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0xfb, 0xf4, 0x90)
		halt(t, c)
		if e := c.Run(c.Now() + 1000); e.Reason != cpus.Halted || c.PC() != w.code(testCode)+2 {
			t.Fatalf("%+v at %#x; want to stay halted", e, c.PC())
		}
		w.irq.queue = []uint8{0x31}
		c.Interrupt()
		if tr := w.trapped(c); tr.vector != 0x31 || tr.rip != w.code(testCode)+2 {
			t.Errorf("woken by %+v", tr)
		}
	})
}

func TestRepetitionResumes(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const va = 0x40000000
		for _, df := range []bool{false, true} {
			// rep movsb; hlt
			w, c := startIn(t, isa, 0xf3, 0xa4, 0xf4)
			w.mapPage(va, 0x400000|ptePresent|pteWrite)
			w.mapPage(va+0x1000, 0x401000|ptePresent|pteWrite)
			first, absent := uint64(va+0xff0), uint64(va+0x1000)
			if df {
				c.ctl |= flagDF
				first, absent = va+0x100f, va
			}
			w.mapPage(absent, 0)
			for i := range uint64(64) {
				w.mem.Store(binary.LittleEndian, testData-directMap+i, 1, 0x40+i)
			}
			c.R[rsi], c.R[rdi], c.R[rcx] = w.at(testData)+16, first, 32
			tr := w.trapped(c)
			cr2 := absent
			if df {
				cr2 += 0xfff
			}
			if tr.vector != vecPF || tr.rip != w.code(testCode) || c.cr2 != cr2 || c.R[rcx] != 16 || c.R[rdi] != cr2 {
				t.Fatalf("%+v, cr2 %#x, rcx %d, rdi %#x; want a fault half way", tr, c.cr2, c.R[rcx], c.R[rdi])
			}
			w.mapPage(absent, 0x402000|ptePresent|pteWrite)
			w.mem.Write(handlers-kernelMap+0x100, append(w.dropWord(), w.iret()...))
			c.Halted, c.R[rRIP] = false, w.code(handlers)+0x100
			halt(t, c)
			if c.PC() != w.code(testCode)+3 || c.R[rcx] != 0 || w.mem.Load(binary.LittleEndian, 0x402000+map[bool]uint64{true: 0xfff}[df], 1) == 0 {
				t.Errorf("resumed: rip %#x, rcx %d", c.PC(), c.R[rcx])
			}
		}
	})
}
