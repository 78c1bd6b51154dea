package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	sys "syscall"
	"testing"

	"kprobesim/internal/require"
)

// edge is a step at the edge of a page, a segment or a string. What Intel's processors do there is in it; the host's say
// so too, but for what other vendors do (hostDepartures).
type edge struct {
	name  string
	bits  int
	code  []byte
	regs  map[int]uint64
	flags uint64            // beside those that are always set
	words map[uint64]uint64 // of memory, by address
	want  func(from, s *stepState) bool
}

// stepEnd is the end of the data, behind which there is no page.
const stepEnd = traceeData + stepBytes

var edges32 = []edge{
	{
		name: "push of a segment register leaves the upper half", bits: 32, code: []byte{0x06},
		regs: map[int]uint64{rsp: traceeData + 8}, words: map[uint64]uint64{traceeData: 0x1122334455667788},
		want: func(_, s *stepState) bool {
			return s.word(traceeData) == 0x1122_002b_5566_7788 && s.regs[rsp] == traceeData+4
		},
	},
	{
		name: "push of a segment register needs 16 bits", bits: 32, code: []byte{0x1e}, regs: map[int]uint64{rsp: stepEnd + 2},
		want: func(_, s *stepState) bool {
			return s.done() && s.regs[rsp] == stepEnd-2 && s.word(stepEnd-8)>>48 == userDS
		},
	},
	{
		name: "push of a segment register around a page's end", bits: 32, code: []byte{0x1e}, regs: map[int]uint64{rsp: stepEnd + 1},
		want: func(_, s *stepState) bool { return s.done() && s.regs[rsp] == stepEnd-3 },
	},
	{
		name: "popa keeps what it loaded before a fault", bits: 32, code: []byte{0x61}, regs: map[int]uint64{rsp: stepEnd - 8},
		words: map[uint64]uint64{stepEnd - 8: 0x55667788_11223344},
		want: func(from, s *stepState) bool {
			return s.faults(stepEnd) && s.regs[rdi] == 0x11223344 && s.regs[rsi] == 0x55667788 && s.regs[rsp] == from.regs[rsp]
		},
	},
	{
		name: "arpl that raises nothing writes nothing", bits: 32, code: []byte{0x2e, 0x63, 0x0b},
		regs: map[int]uint64{rbx: traceeData, rcx: 2}, words: map[uint64]uint64{traceeData: 3},
		want: func(_, s *stepState) bool { return s.done() && s.flags&flagZF == 0 },
	},
	{
		name: "arpl that writes through cs", bits: 32, code: []byte{0x2e, 0x63, 0x0b},
		regs: map[int]uint64{rbx: traceeData, rcx: 3}, words: map[uint64]uint64{traceeData: 2},
		want: func(_, s *stepState) bool { return s.faults(0) },
	},
	{
		name: "pop through cs with a bad stack", bits: 32, code: []byte{0x2e, 0x8f, 0x03},
		regs: map[int]uint64{rbx: traceeData, rsp: stepEnd}, want: func(_, s *stepState) bool { return s.faults(stepEnd) },
	},
	{
		name: "pop through cs with a good stack", bits: 32, code: []byte{0x2e, 0x8f, 0x03},
		regs: map[int]uint64{rbx: traceeData, rsp: traceeData}, want: func(from, s *stepState) bool { return s.faults(0) && s.regs == from.regs },
	},
	{
		name: "bound of 16 bits below the lower limit at a page's end", bits: 32, code: []byte{0x66, 0x62, 0x03},
		regs: map[int]uint64{rbx: stepEnd - 2, rax: 0x8000}, words: map[uint64]uint64{stepEnd - 8: 0},
		want: func(_, s *stepState) bool { return s.faults(0) },
	},
	{
		name: "bound of 32 bits below the lower limit at a page's end", bits: 32, code: []byte{0x62, 0x03},
		regs: map[int]uint64{rbx: stepEnd - 4, rax: 0x80000000}, words: map[uint64]uint64{stepEnd - 8: 0},
		want: func(_, s *stepState) bool { return s.faults(0) },
	},
	{
		name: "bound of 16 bits above the lower limit at a page's end", bits: 32, code: []byte{0x66, 0x62, 0x03},
		regs: map[int]uint64{rbx: stepEnd - 2, rax: 1}, words: map[uint64]uint64{stepEnd - 8: 0},
		want: func(_, s *stepState) bool { return s.faults(stepEnd) },
	},
	{
		name: "a word at cs:ffffffff", bits: 32, code: []byte{0x2e, 0x66, 0x8b, 0x03}, regs: map[int]uint64{rbx: 0xffffffff},
		want: func(_, s *stepState) bool { return s.faults(0xffffffff) },
	},
	{
		name: "a string behind the limit of gs", bits: 32, code: []byte{0x65, 0xad},
		regs: map[int]uint64{rsi: stepSegments[1].limit - 2}, want: func(from, s *stepState) bool { return s.faults(0) && s.regs == from.regs },
	},
	{
		name: "a string inside of fs, which expands down", bits: 32, code: []byte{0x64, 0xad},
		regs: map[int]uint64{rsi: stepSegments[0].limit + 1}, words: map[uint64]uint64{stepSegments[0].base + stepSegments[0].limit + 1: 77},
		want: func(_, s *stepState) bool { return s.done() && s.regs[rax] == 77 },
	},
	{
		name: "a bit far behind the limit of gs", bits: 32, code: []byte{0x65, 0x0f, 0xa3, 0x0b},
		regs: map[int]uint64{rbx: 0, rcx: 8 * (stepSegments[1].limit + 1)}, want: func(_, s *stepState) bool { return s.faults(0) },
	},
	{
		name: "a bit within the limit of gs from an address behind it", bits: 32, code: []byte{0x65, 0x0f, 0xab, 0x0b},
		regs: map[int]uint64{rbx: 0x40, rcx: 0xfffffe00}, words: map[uint64]uint64{stepSegments[1].base: 0},
		want: func(_, s *stepState) bool { return s.done() && s.word(stepSegments[1].base) == 1 },
	},
	{
		name: "into is done", bits: 32, code: []byte{0xce}, flags: flagOF | flagRF, regs: map[int]uint64{rsp: traceeData + 64},
		want: func(_, s *stepState) bool { return s.rip == traceeCode+1 && s.flags&flagRF == 0 },
	},
	{
		name: "the last segment of xlat counts", bits: 32, code: []byte{0x64, 0x2e, 0xd7},
		regs: map[int]uint64{rbx: traceeData, rax: 1}, words: map[uint64]uint64{traceeData: 0x4200},
		want: func(_, s *stepState) bool { return s.done() && s.regs[rax] == 0x42 },
	},
	{name: "lock salc", bits: 32, code: []byte{0xf0, 0xd6}, want: func(_, s *stepState) bool { return s.signal == sys.SIGILL }},
}

var edges64 = append([]edge{
	{
		name: "movsxd to 16 bits at a page's end", bits: 64, code: []byte{0x66, 0x63, 0x03},
		regs: map[int]uint64{rbx: stepEnd - 2}, words: map[uint64]uint64{stepEnd - 8: 0x8765 << 48},
		want: func(_, s *stepState) bool { return s.done() && s.regs[rax] == 0x8765 },
	},
	{
		name: "trap amid a repetition", bits: 64, code: []byte{0xf3, 0xa4},
		regs: map[int]uint64{rcx: 3, rsi: traceeData, rdi: traceeData + 8},
		want: func(from, s *stepState) bool { return s.midway(from) && s.flags&flagRF != 0 && s.regs[rcx] == 2 },
	},
	{
		name: "trap behind a repetition", bits: 64, code: []byte{0xf3, 0xa4}, flags: flagRF,
		regs: map[int]uint64{rcx: 1, rsi: traceeData, rdi: traceeData + 8},
		want: func(_, s *stepState) bool { return s.done() && s.rip == traceeCode+2 && s.flags&flagRF == 0 },
	},
	{
		name: "flags amid a repetition", bits: 64, code: []byte{0xf2, 0xaf}, flags: flagZF | flagCF,
		regs: map[int]uint64{rcx: 5, rdi: stepEnd - 4, rax: 1}, words: map[uint64]uint64{stepEnd - 8: 0},
		want: func(from, s *stepState) bool {
			return s.midway(from) && s.flags&arith == flagZF|flagCF && s.regs[rcx] == 4
		},
	},
	{
		name: "cmps with both operands bad", bits: 64, code: []byte{0xa6}, regs: map[int]uint64{rsi: 0x10, rdi: 0x2000},
		want: func(_, s *stepState) bool { return s.faults(0x2000) },
	},
	{
		name: "a far bit from an address of 32 bits", bits: 64, code: []byte{0x67, 0x0f, 0xab, 0x0b},
		regs: map[int]uint64{rbx: 1<<40 + 0x100, rcx: 8 * (traceeData - 0x100)}, words: map[uint64]uint64{traceeData: 0},
		want: func(_, s *stepState) bool { return s.done() && s.word(traceeData) == 1 },
	},
	{
		name: "an address of 32 bits wraps below a far bit", bits: 64, code: []byte{0x67, 0x48, 0x0f, 0xa3, 0x0b},
		regs: map[int]uint64{rbx: 0, rcx: 8 * (1<<32 + traceeData)}, words: map[uint64]uint64{traceeData: 1},
		want: func(_, s *stepState) bool { return s.done() && s.flags&flagCF != 0 },
	},
	{
		name: "bswap of 16 bits", bits: 64, code: []byte{0x66, 0x0f, 0xc8}, regs: map[int]uint64{rax: 0x123456789abcdef0},
		want: func(_, s *stepState) bool { return s.done() && s.regs[rax] == 0x123456789abc0000 },
	},
}, longEdges()...)

// longEdges are members of groups without a meaning, of which prefixes make 16 bytes: their length decides (#GP), and with a
// prefix less their meaning (#UD).
func longEdges() (all []edge) {
	for _, x := range []struct {
		name string
		code []byte // with the parts of an address of 32 bits
		n    int    // bytes
	}{
		{"c6 /1", []byte{0xc6, 0x8c}, 8},
		{"c7 /4", []byte{0xc7, 0xa4}, 11},
		{"c7 /6", []byte{0xc7, 0xb4}, 11},
		{"fe /4", []byte{0xfe, 0xa4}, 7},
		{"ff /7", []byte{0xff, 0xbc}, 7},
		{"0f 00 /7", []byte{0x0f, 0, 0xbc}, 8},
		{"0f ba /2", []byte{0x0f, 0xba, 0x94}, 9},
	} {
		for _, short := range []int{0, 1} {
			code := append(bytes.Repeat([]byte{0x2e}, 16-short-x.n), x.code...)
			all = append(all, edge{
				name: fmt.Sprintf("%s of %d bytes", x.name, 16-short), bits: 64, code: code,
				want: func(_, s *stepState) bool { return short == 1 && s.signal == sys.SIGILL || short == 0 && s.faults(0) },
			})
		}
	}
	several := append(bytes.Repeat([]byte{0x2e}, 2), 0x67, 0x4c, 0x47, 0xc7, 0x9c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	return append(all, edge{
		name: "c7 /3 behind prefixes of 5 bytes", bits: 64, code: several[:16],
		want: func(_, s *stepState) bool { return s.faults(0) },
	})
}

// done reports an instruction that completed, and faults one that faulted, at an address or for another reason.
func (s *stepState) done() bool { return s.signal == sys.SIGTRAP }

func (s *stepState) faults(at uint64) bool {
	return s.signal == sys.SIGSEGV && s.addr == at && s.rip == traceeCode && s.flags&flagRF != 0
}

func (s *stepState) word(at uint64) uint64 { return binary.LittleEndian.Uint64(s.mem[at-traceeData:]) }

// from is the state that an edge starts from.
func (x *edge) from() *stepState {
	s := &stepState{rip: traceeCode, flags: 0x202 | x.flags, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
	for r, v := range x.regs {
		s.regs[r] = v
	}
	for at, v := range x.words {
		binary.LittleEndian.PutUint64(s.mem[at-traceeData:], v)
	}
	return s
}

// bytes is the code of an edge as far as a processor looks.
func (x *edge) bytes() []byte { return append(slices.Clone(x.code), make([]byte, 16-len(x.code))...) }

func TestEdges(t *testing.T) {
	sims := map[int]*stepSim{64: newStepSim(t, 64), 32: newStepSim(t, 32)}
	for _, x := range slices.Concat(edges64, edges32) {
		t.Run(fmt.Sprintf("%d bits/%s", x.bits, x.name), func(t *testing.T) {
			from := x.from()
			if s := sims[x.bits].step(x.bytes(), from); !x.want(from, s) {
				t.Errorf("% x: %v at %#x, rip %#x, flags %#x, registers %#x", x.code, s.signal, s.addr, s.rip, s.flags, s.regs)
			}
		})
	}
}

// TestFlagsOfFaultAmidRepetition has a comparison of strings fault at its second element, without a trap between them.
func TestFlagsOfFaultAmidRepetition(t *testing.T) {
	s := newStepSim(t, 64)
	for _, code := range [][]byte{{0xf2, 0xaf}, {0xf3, 0xaf}, {0xf2, 0xa7}, {0xf3, 0xa7}} {
		from := &stepState{rip: traceeCode, flags: 0x202 | flagSF | flagCF, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
		from.regs[rcx], from.regs[rsi], from.regs[rdi] = 5, traceeData, stepEnd-4
		if code[0] == 0xf2 {
			from.regs[rax], from.mem[0] = 1, 1 // unlike what is read
		}
		got := s.run(append(code, make([]byte, 14)...), from, 0)
		require.That(t, got.faults(stepEnd) && got.flags&arith == flagSF|flagCF && got.regs[rcx] == 4 && got.regs[rdi] == stepEnd, "% x: %v at %#x, flags %#x, registers %#x", code, got.signal, got.addr, got.flags, got.regs)
	}
}

// TestRepetitionShowsRF has an interrupt arrive amid a repetition, which is left for it after maxRepeat elements.
func TestRepetitionShowsRF(t *testing.T) {
	s := newStepSim(t, 64)
	from := &stepState{rip: traceeCode, flags: 0x202, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
	from.regs[rcx], from.regs[rsi], from.regs[rdi] = maxRepeat+5, traceeData, traceeData
	s.w.irq.queue = []uint8{40}
	got := s.run([]byte{0xf3, 0xac, 0x0f, 0x0b}, from, 0)
	require.Need(t, got.rip == traceeCode && got.flags&flagRF == 0, "an interrupt in front of it: rip %#x, flags %#x", got.rip, got.flags)
	c := s.c
	s.start([]byte{0xf3, 0xac, 0x0f, 0x0b}, from, 0)
	c.Steps(1, c.Now()+1e9)
	if c.R[rcx] != 5 || c.R[rRIP] != traceeCode {
		t.Fatalf("rcx %d, rip %#x behind %d elements", c.R[rcx], c.R[rRIP], maxRepeat)
	}
	s.w.irq.queue = []uint8{40}
	c.Run(c.Now() + 1e9)
	if got := s.outcome(); got.rip != traceeCode || got.flags&flagRF == 0 || got.regs[rcx] != 5 {
		t.Errorf("an interrupt amid it: rip %#x, flags %#x, rcx %d", got.rip, got.flags, got.regs[rcx])
	}
	s.start([]byte{0xf3, 0xac, 0x0f, 0x0b}, from, 0)
	c.Steps(2, c.Now()+1e9)
	if c.R[rRIP] != traceeCode+2 || c.R[rcx] != 0 || c.ctl&flagRF != 0 || c.Single != 0 {
		t.Errorf("behind it: rip %#x, rcx %d, flags %#x, single %d", c.R[rRIP], c.R[rcx], c.flags(), c.Single)
	}
}

// TestWatchAmidRepetition has a data breakpoint hit by the third element.
func TestWatchAmidRepetition(t *testing.T) {
	for _, observed := range []bool{false, true} {
		s := newStepSim(t, 64)
		from := &stepState{rip: traceeCode, flags: 0x202, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
		from.regs[rcx], from.regs[rdi] = 5, traceeData
		s.start([]byte{0xf3, 0xaa, 0x0f, 0x0b}, from, 0)
		s.c.dreg[0], s.c.dreg[7] = traceeData+2, dr7Ones|1|watchWrites<<16
		s.c.arm()
		if observed {
			s.c.Observe(silent{})
		}
		s.c.Run(s.c.Now() + 1e9)
		got := s.outcome()
		if got.signal != sys.SIGTRAP || got.rip != traceeCode || got.flags&flagRF == 0 || got.regs[rcx] != 2 {
			t.Errorf("observed %v: %v, rip %#x, flags %#x, rcx %d", observed, got.signal, got.rip, got.flags, got.regs[rcx])
		}
	}
}
