package x86

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestResults executes instructions from random states and holds what changes against the results that the engine is told
// of: what reads a register that nobody names would wait for nothing, and what is named and never changes would have
// others wait for it.
func TestResults(t *testing.T) {
	h := resultsHeld{T: t, ran: map[x86asm.Op]int{}, named: map[namedResult]int{}, changed: map[namedResult]int{}}
	for _, bits := range []int{64, 32} {
		h.sim = newStepSim(t, bits)
		h.sim.c.msr.efer |= eferSCE // for syscall
		h.sim.c.answers.leaves[leafFeatures] = leaf{1: featureSMAP}
		rng := rand.New(rand.NewPCG(uint64(bits), 3))
		for range 60_000 {
			h.run(drawBytes(rng, bits), drawStep(rng, bits), 3)
		}
		for i := range 3 * 0xf0 * 12 { // vectors
			code := []byte{[]byte{0x66, 0xf2, 0xf3}[i%3], 0x0f, byte(0x10 + i/36)}
			h.run(append(code, drawBytes(rng, bits)[:13]...), drawStep(rng, bits), 3)
		}
		for i := range 16 * 16 * 4 { // vectors of three bytes
			code := []byte{0x66, 0x0f, 0x38, []byte{0, 0x10}[i&1] | byte(i>>1&15)}
			h.run(append(code, drawBytes(rng, bits)[:12]...), drawStep(rng, bits), 3)
		}
		for _, code := range seldomDrawn {
			for range 60 {
				from := drawStep(rng, bits)
				from.regs[rbx] &^= 63
				switch code[len(code)-1] {
				case 0x30, 0x32:
					from.regs[rcx] = msrTSC
				case 0xd0: // XCR0
					from.regs[rcx] = 0
				case 0xd1:
					from.regs[rcx], from.regs[rax], from.regs[rdx] = 0, partX87|partSSE, 0
				}
				h.run(append(append([]byte{}, code...), drawBytes(rng, bits)...)[:16], from, 0)
			}
		}
	}
	for op := range rows {
		require.That(t, h.ran[op] != 0 || slices.Contains(notHeld, op), "%v completed never", op)
	}
	for _, op := range notHeld {
		require.That(t, h.ran[op] == 0, "%v completed, so that it is held: it does not belong in notHeld", op)
	}
	for x, n := range h.named {
		require.That(t, n < enoughToChange || h.changed[x] != 0, "%v names register %d in %d cases and changed it in none", x.op, x.register, n)
	}
}

// enoughToChange is how often a result may be named that did not change.
const enoughToChange = 20

// notHeld are operations that random bytes do not complete: transfers through descriptors, loads of them and of state images,
// which want values of their own in memory; and traps.
var notHeld = []x86asm.Op{
	x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.IRETD, x86asm.IRETQ, x86asm.SYSRET, x86asm.SYSENTER, x86asm.SYSEXIT,
	x86asm.LDS, x86asm.LES, x86asm.LFS, x86asm.LGS, x86asm.LSS, x86asm.LTR, x86asm.LLDT, x86asm.LGDT, x86asm.LIDT, x86asm.LMSW,
	x86asm.FXSAVE64, x86asm.FXRSTOR, x86asm.FXRSTOR64, x86asm.XRSTOR, x86asm.XRSTOR64, x86asm.LDMXCSR, x86asm.RDPMC, x86asm.INVPCID,
	x86asm.INT, x86asm.ICEBP, x86asm.UD2,
}

// seldomDrawn begin instructions that are privileged or that random bytes seldom are. They are executed at level 0.
var seldomDrawn = codesOf("seldom drawn")

// resultsHeld counts what instructions name, and what they change.
type resultsHeld struct {
	*testing.T
	sim            *stepSim
	ran            map[x86asm.Op]int // that completed
	named, changed map[namedResult]int
}

// namedResult is a result of an operation that its encoding does not name: a register by its number.
type namedResult struct {
	op       x86asm.Op
	exec     uintptr
	register int
}

// run executes an instruction at a level.
func (h *resultsHeld) run(code []byte, from *stepState, level uint8) {
	c := h.sim.c
	dis, known := disassemble(code, h.sim.bits)
	if !known {
		return
	}
	h.sim.start(code, from, 0)
	c.setCPL(level)
	in, op := c.Decode(code, traceeCode)
	regs, xmm, flags := c.R, c.fpu.xmm, c.flags()
	c.R[rRIP] += uint64(op.Len)
	if in.Exec(c, &in.Operands); c.Stop&engine.StopFault == 0 && op.Class != clUndefined {
		h.ran[dis.Op]++
		for r := range 16 {
			h.hold(namedResult{dis.Op, address(in.Exec), r}, &op, c.R[r] != regs[r], in.Operands.dst)
			h.hold(namedResult{dis.Op, address(in.Exec), rXMM + r}, &op, c.fpu.xmm[r] != xmm[r], in.Operands.dst)
		}
		h.holdFlags(dis.Op, &op, (c.flags()^flags)&arith)
	}
	c.Stop, c.fault, c.Check, c.Single, c.Halted = 0, fault{}, 0, 0, false
}

// names reports a result.
func names(op *op, r int) bool { return int(op.O1) == r || int(op.O2) == r || op.Also>>r&1 != 0 }

// hold compares a register. One that the encoding names, or the stack pointer of a push, is another one each time.
func (h *resultsHeld) hold(x namedResult, op *op, changed bool, dst uint8) {
	switch moved := x.register == rsp && op.Flags&(engine.Pushes|engine.Pops) != 0; {
	case changed && !names(op, x.register) && !moved:
		h.Errorf("%v of class %s changes register %d", x.op, classNames[op.Class], x.register)
	case names(op, x.register) && x.register != int(ready(dst)):
		h.named[x]++
		if changed {
			h.changed[x]++
		}
	}
}

// holdFlags compares the flags, of which the carry has a ready time of its own.
func (h *resultsHeld) holdFlags(x x86asm.Op, op *op, changed uint64) {
	if changed != 0 && !names(op, rFlags) && (changed&flagCF != 0 || !names(op, rPartial)) {
		h.Errorf("%v of class %s changes flags %#x", x, classNames[op.Class], changed)
	}
}

// TestSecondWaitsForFirst executes pairs of instructions whose latency is long. The second one reads what the first one
// names last, or something else.
func TestSecondWaitsForFirst(t *testing.T) {
	const slow = 1000
	movRDX := []byte{0x48, 0x89, 0xd1} // mov %rdx,%rcx
	movRAX := []byte{0x48, 0x89, 0xc1}
	for _, x := range []struct {
		name          string
		first, second []byte
		waits         bool
	}{
		{"mul and its upper half", []byte{0x48, 0xf7, 0xe3}, movRDX, true},
		{"mul and its lower half", []byte{0x48, 0xf7, 0xe3}, movRAX, true},
		{"mul of bytes and rdx", []byte{0xf6, 0xe3}, movRDX, false},
		{"imul and its upper half", []byte{0x48, 0xf7, 0xeb}, movRDX, true},
		{"imul and its lower half", []byte{0x48, 0xf7, 0xeb}, movRAX, true},
		{"imul that waits for rax", []byte{0x48, 0x01, 0xd8}, []byte{0x48, 0xf7, 0xeb}, true},
		{"xadd and its source", []byte{0x48, 0x0f, 0xc1, 0xd3}, movRDX, true},
		{"xadd and another register", []byte{0x48, 0x0f, 0xc1, 0xd3}, movRAX, false},
		{"cmpxchg and the accumulator", []byte{0x48, 0x0f, 0xb1, 0xd3}, movRAX, true},
		{"cmpxchg8b and the upper half", []byte{0x0f, 0xc7, 0x0e}, movRDX, true},
		{"loop and its count", []byte{0xe2, 0x00}, []byte{0x48, 0x89, 0xc8}, true},
		{"lods and its value", []byte{0xac}, movRAX, true},
		{"lods and its pointer", []byte{0xac}, []byte{0x48, 0x89, 0xf1}, true},
		{"lods and the other pointer", []byte{0xac}, []byte{0x48, 0x89, 0xf9}, false},
		{"stos and its pointer", []byte{0xaa}, []byte{0x48, 0x89, 0xf9}, true},
		{"stos that waits for its pointer", []byte{0x48, 0x01, 0xdf}, []byte{0xaa}, true},
		{"scas and the flags", []byte{0xae}, []byte{0x0f, 0x94, 0xc1}, true},
		{"vectors", []byte{0x66, 0x0f, 0xfe, 0xc1}, []byte{0x66, 0x0f, 0xfe, 0xd0}, true},
		{"another vector", []byte{0x66, 0x0f, 0xfe, 0xc1}, []byte{0x66, 0x0f, 0xfe, 0xd3}, false},
		{"vector that is changed again", []byte{0x66, 0x0f, 0xfe, 0xc1}, []byte{0x66, 0x0f, 0xfe, 0xc3}, true},
		{"cleared vector", []byte{0x66, 0x0f, 0xfe, 0xc1}, []byte{0x66, 0x0f, 0xef, 0xc0}, false},
	} {
		w := newWorld(t, ISA64(), cpus.Window, append(append(append([]byte{}, x.first...), x.second...), 0xf4))
		for _, n := range ISA64().Classes {
			w.cfg.Classes[n] = cpus.Cost{Latency: slow * clock.PerCycle}
		}
		w.cfg.Classes["hlt"] = cpus.Cost{}
		w.cfg.Memory = w.cfg.L2.Latency
		w.cfg.FrontEnd.ZeroIdioms = true
		c := w.cpu()
		c.cr4 |= cr4OSFXSR
		c.R[rsi], c.R[rdi] = testData, testData+64
		halt(t, c)
		require.That(t, (c.Now().Cycles()/slow == 2) == x.waits, "%s: % x, % x take %d cycles", x.name, x.first, x.second, c.Now().Cycles())
	}
}
