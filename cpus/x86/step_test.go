package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	sys "syscall"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// The program that is stepped, here and on the host: one segment of code, with pages of data and stack behind.
const (
	traceeText = 0x400000
	traceeCode = traceeText + 0x100
	traceeData = traceeText + 0x2000
	traceePage = 0x1000
)

// The tracee's last two pages are the data of a step. What is called here is behind them, for the simulator alone.
const (
	stepBytes = 2 * traceePage
	stepEnds  = 0x500000
)

// stepState holds what an instruction that is stepped starts from, and what it leaves.
type stepState struct {
	regs   [16]uint64
	rip    uint64
	flags  uint64
	xmm    [16]vec
	mxcsr  uint32
	x87    x87State
	mem    []byte
	signal sys.Signal // SIGTRAP behind an instruction that completed
	addr   uint64     // of a page fault
}

// x87State has the control and status words, the abridged tags and the registers in the order of the stack.
type x87State struct {
	control, status uint16
	tags            uint8
	st              [8]vec
}

// midway reports a trap between two elements of a string.
func (s *stepState) midway(from *stepState) bool { return s.signal == sys.SIGTRAP && s.rip == from.rip }

// drawStep draws registers that point into the data more often than not.
func drawStep(rng *rand.Rand, bits int) *stepState {
	s := &stepState{rip: traceeCode, flags: rng.Uint64()&(arith|flagDF|flagRF) | 0x202, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
	for i := range s.regs {
		switch rng.IntN(16) {
		case 0, 1:
			s.regs[i] = rng.Uint64()
		case 2, 3:
			s.regs[i] = rng.Uint64N(64)
		case 4: // around the end of all addresses
			s.regs[i] = rng.Uint64N(6) - 3
		case 5, 6: // around the end of the data, behind which there is no page
			s.regs[i] = traceeData + stepBytes - 40 + rng.Uint64N(48)
		default:
			s.regs[i] = traceeData + 0x200 + rng.Uint64N(stepBytes-0x400)
		}
	}
	if s.regs[rcx] &= 0xffff; rng.IntN(4) == 0 { // of rep
		s.regs[rcx] &= 7
	}
	if rng.IntN(4) > 0 {
		s.regs[rsp] &^= 7
	}
	for i := range s.xmm {
		s.xmm[i] = vec{rng.Uint64(), rng.Uint64()}
	}
	if bits == 32 {
		for i := range s.regs {
			s.regs[i] &= 1<<32 - 1
		}
		clear(s.regs[8:])
		clear(s.xmm[8:])
	}
	for i := 0; i < stepBytes; i += 8 {
		binary.LittleEndian.PutUint64(s.mem[i:], rng.Uint64())
	}
	return s
}

// stepDifference says in what the two differ.
func stepDifference(want, got *stepState, undefined uint64) string {
	var s []string
	if want.signal != got.signal || want.addr != got.addr {
		s = append(s, fmt.Sprintf("  host %v at %#x, simulator %v at %#x", want.signal, want.addr, got.signal, got.addr))
	}
	if want.rip != got.rip {
		s = append(s, fmt.Sprintf("  rip: host %#x, simulator %#x", want.rip, got.rip))
	}
	for i := range want.regs {
		if want.regs[i] != got.regs[i] {
			s = append(s, fmt.Sprintf("  %s: host %#x, simulator %#x", regNames[i], want.regs[i], got.regs[i]))
		}
	}
	if want.signal == sys.SIGFPE {
		undefined |= arith
	}
	if x := (want.flags ^ got.flags) & (arith | flagDF | flagRF) &^ undefined; x != 0 {
		s = append(s, fmt.Sprintf("  flags: host %#x, simulator %#x", want.flags, got.flags))
	}
	if want.mxcsr != got.mxcsr {
		s = append(s, fmt.Sprintf("  mxcsr: host %#x, simulator %#x", want.mxcsr, got.mxcsr))
	}
	if want.x87 != got.x87 {
		s = append(s, fmt.Sprintf("  x87: host\n    %x, simulator\n    %x", want.x87, got.x87))
	}
	for i := range want.xmm {
		if want.xmm[i] != got.xmm[i] {
			s = append(s, fmt.Sprintf("  xmm%d: host %#x, simulator %#x", i, want.xmm[i], got.xmm[i]))
		}
	}
	if !bytes.Equal(want.mem, got.mem) {
		i := 0
		for want.mem[i] == got.mem[i] {
			i++
		}
		s = append(s, fmt.Sprintf("  memory at %#x: host % x, simulator % x", traceeData+i, want.mem[i:min(i+16, stepBytes)], got.mem[i:min(i+16, stepBytes)]))
	}
	return strings.Join(s, "\n")
}

// stepSegment is a descriptor of user mode.
type stepSegment struct{ kind, flags, base, limit uint64 }

// stepSegments holds the segments of fs and gs in 32-bit mode: data that expand down to a limit, and data that end there. Small
// offsets are inside and outside of them.
var stepSegments = [2]stepSegment{
	{kind: 0xf7, flags: 0x5, base: traceeData + 0x800, limit: 0x1f},
	{kind: 0xf3, flags: 0x5, base: traceeData + 0x1000, limit: 0x2f},
}

// stepSim is the simulator's side.
type stepSim struct {
	w    *world
	c    *CPU
	bits int
}

const stepPhys = 0x200000

func newStepSim(t *testing.T, bits int) *stepSim {
	isa := ISA64()
	if bits == 32 {
		isa = isaPAE()
	}
	w := newWorld(t, isa, cpus.Throughput, nil)
	for i, d := range stepSegments {
		w.store(w.at(worldGDT)+userFS&^7+8*uint64(i), describe(d.kind, d.flags, d.base, d.limit))
	}
	w.mapUser(traceeText, stepPhys, 4*traceePage, pteUser|pteWrite)
	w.mapUser(stepEnds, stepPhys+4*traceePage, traceePage, 0)
	for v := range 64 {
		kind := uint8(0x8e)
		if v == vecBP || v == vecOF {
			kind = 0xee
		}
		w.gate(v, stepEnds+uint64(v), 0, kind)
	}
	w.bus.Native = [2]uint64{stepEnds, stepEnds + 64}
	c := w.cpu()
	c.cr4 |= cr4OSFXSR | cr4OSXMMEXCPT
	c.managesState()
	return &stepSim{w, c, bits}
}

// refuses tells whether the model lacks what the bytes are, or may lack it because they are of a later extension or of
// x87. Hints are no extension.
func (s *stepSim) refuses(code []byte) bool {
	i := 0
	for i < len(code) && isPrefix(code[i], s.bits) {
		i++
	}
	if i+2 >= len(code) {
		return false
	}
	switch op, next := code[i], code[i+1]; {
	case op&0xf8 == 0xd8, (op == 0xc4 || op == 0xc5 || op == 0x62) && (s.bits == 64 || next >= 0xc0), op == 0x8f && next&0x38 != 0:
		return true
	case op == 0x0f:
		return next != 0x0d && next&^7 != 0x18
	}
	return s.c.Counts.Unmodelled > 0
}

// step executes one instruction, with RFLAGS.TF set.
func (s *stepSim) step(code []byte, from *stepState) *stepState { return s.run(code, from, flagTF) }

// run executes instructions up to an exception, with more flags than from has.
func (s *stepSim) run(code []byte, from *stepState, flags uint64) *stepState {
	s.start(code, from, flags)
	if e := s.c.Run(s.c.Now() + 1e9); e.Reason != cpus.Native {
		return &stepState{signal: sys.SIGKILL, mem: make([]byte, stepBytes)}
	}
	return s.outcome()
}

// start has the CPU stand in front of instructions.
func (s *stepSim) start(code []byte, from *stepState, flags uint64) {
	c := s.c
	s.w.user(c)
	s.w.mem.Write(stepPhys+traceeData-traceeText, from.mem)
	s.w.mem.Write(stepPhys+traceeCode-traceeText, code)
	c.R = [engine.Registers]uint64{}
	copy(c.R[:], from.regs[:])
	x := from.x87
	c.fpu = fpu{control: x.control | 0x40, status: x.status &^ fswSummary, tags: x.tags, st: x.st, mxcsr: from.mxcsr, xmm: from.xmm}
	c.setFlags(from.flags|flags, ^uint64(0))
	c.R[rRIP], c.Counts.Unmodelled, c.Halted = from.rip, 0, false
}

// outcome is the state that the handler of an exception finds.
func (s *stepSim) outcome() *stepState {
	c, out := s.c, &stepState{mem: make([]byte, stepBytes)}
	copy(out.regs[:], c.R[:])
	vec, frame, word := c.R[rRIP]-stepEnds, c.R[rsp], c.word()
	if hasCode[int(vec)] {
		frame += word
	}
	out.rip, out.flags, out.regs[rsp] = s.w.load(frame)&c.AddrMask, s.w.load(frame+2*word)&c.AddrMask, s.w.load(frame+3*word)&c.AddrMask
	out.signal = sys.Signal(signals[vec])
	if vec == vecPF {
		out.addr = c.cr2
	}
	out.xmm, out.mxcsr = c.fpu.xmm, c.fpu.mxcsr
	out.x87 = x87State{c.fpu.control, c.fpu.word(), c.fpu.tags, c.fpu.st}
	copy(out.mem, s.w.mem.Bytes(stepPhys+traceeData-traceeText, stepBytes))
	return out
}
