package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/hosttools"
)

// sequence draws code of the instructions that kernels execute most, with the operands of one and the same few
// registers, so that results, flags and accesses meet. RBX and RDI lead to data, and RSP to a stack: they are read
// alone.
type sequence struct {
	rng  *rand.Rand
	bits int
	code []byte
}

// free are the registers that may change: among them some that code of the host keeps in memory.
func (s *sequence) free() int {
	all := []int{rax, rcx, rdx, rbp, rsi}
	if s.bits == 64 {
		all = append(all, r8, r9, r12, r13, r15)
	}
	return all[s.rng.IntN(len(all))]
}

// rex is the prefix for a size and the upper bits of three registers, or nothing in 32-bit mode.
func (s *sequence) rex(size, reg, index, base int) {
	if size == 2 {
		s.code = append(s.code, 0x66)
	}
	if s.bits == 32 {
		return
	}
	x := byte(0x40 | reg>>3<<2 | index>>3<<1 | base>>3)
	if size == 8 {
		x |= 8
	}
	if x != 0x40 || size == 1 { // where spl and its like begin
		s.code = append(s.code, x)
	}
}

// modRM writes an instruction whose second operand is a register, or one time in three memory.
func (s *sequence) modRM(size, reg int, memory bool, op ...byte) {
	if !memory {
		rm := s.free()
		if size == 1 && s.bits == 32 {
			rm &= 3
		}
		s.rex(size, reg, 0, rm)
		s.code = append(append(s.code, op...), byte(0xc0|reg&7<<3|rm&7))
		return
	}
	base := []int{rbx, rdi}[s.rng.IntN(2)]
	if s.rng.IntN(4) == 0 { // base + index*scale + disp32, with an index that was cut off
		index := []int{rcx, rsi}[s.rng.IntN(2)]
		s.code = append(s.code, 0x83, byte(0xe0|index), 63)
		s.rex(size, reg, index, base)
		s.code = append(append(s.code, op...), byte(0x84|reg&7<<3), byte(s.rng.IntN(4)<<6|index<<3|base))
		s.code = binary.LittleEndian.AppendUint32(s.code, uint32(s.rng.IntN(200)))
		return
	}
	s.rex(size, reg, 0, base)
	s.code = append(append(s.code, op...), byte(0x40|reg&7<<3|base), byte(s.rng.IntN(256)))
}

// opcodeOf has the lowest bit for sizes of more than a byte.
func opcodeOf(size int, op byte) byte {
	if size > 1 {
		op |= 1
	}
	return op
}

func (s *sequence) size(of ...int) int {
	size := of[s.rng.IntN(len(of))]
	if s.bits == 32 {
		size = min(size, 4)
	}
	return size
}

// instruction writes one.
func (s *sequence) instruction() {
	reg, memory := s.free(), s.rng.IntN(3) == 0
	cond := byte(s.rng.IntN(16))
	switch s.rng.IntN(20) {
	case 0, 1, 2, 3: // arithmetic in both directions
		size := s.size(1, 4, 4, 8, 8, 2)
		if size == 1 && s.bits == 32 {
			reg &= 3
		}
		s.modRM(size, reg, memory, opcodeOf(size, []byte{0, 8, 0x20, 0x28, 0x30, 0x38, 2, 0xa, 0x22, 0x2a, 0x32, 0x3a, 0x84}[s.rng.IntN(13)]))
	case 4, 5: // and with a constant
		size := s.size(4, 8)
		s.modRM(size, []int{0, 1, 4, 5, 6, 7}[s.rng.IntN(6)], memory, 0x83)
		s.code = append(s.code, byte(s.rng.IntN(256)))
	case 6: // a constant of four bytes
		s.modRM(s.size(4, 8), []int{0, 1, 4, 5, 6, 7}[s.rng.IntN(6)], memory, 0x81)
		s.code = binary.LittleEndian.AppendUint32(s.code, s.rng.Uint32())
	case 7, 8:
		size := s.size(1, 2, 4, 8, 8)
		if size == 1 && s.bits == 32 {
			reg &= 3
		}
		s.modRM(size, reg, memory, opcodeOf(size, []byte{0x88, 0x8a}[s.rng.IntN(2)]))
	case 9: // movzx, movsx
		size, op := s.size(4, 8), []byte{0xb6, 0xb7, 0xbe, 0xbf}[s.rng.IntN(4)]
		if s.bits == 32 && op&1 == 0 {
			memory = true
		}
		s.modRM(size, reg, memory, 0x0f, op)
	case 10: // lea
		s.modRM(s.size(4, 8), reg, true, 0x8d)
	case 11, 12: // shifts and rotates by a constant, or by cl
		op := []int{0, 1, 4, 5, 7}[s.rng.IntN(5)]
		if s.rng.IntN(3) == 0 {
			s.modRM(s.size(4, 8), op, false, 0xd3)
			return
		}
		s.modRM(s.size(4, 8), op, memory && s.rng.IntN(3) == 0, 0xc1)
		s.code = append(s.code, byte(s.rng.IntN(70)))
	default:
		s.rarer(reg, memory, cond)
	}
}

// rarer writes an instruction of the other kinds.
func (s *sequence) rarer(reg int, memory bool, cond byte) {
	switch s.rng.IntN(7) {
	case 0: // imul with two and with three operands
		switch size := s.size(4, 8); s.rng.IntN(3) {
		case 0:
			s.modRM(size, reg, memory, 0x0f, 0xaf)
		case 1:
			s.modRM(size, reg, memory, 0x6b)
			s.code = append(s.code, byte(s.rng.IntN(256)))
		default:
			s.modRM(size, reg, memory, 0x69)
			s.code = binary.LittleEndian.AppendUint32(s.code, s.rng.Uint32())
		}
	case 1: // not, neg, inc, dec
		if s.rng.IntN(2) == 0 {
			s.modRM(s.size(4, 8), 2+s.rng.IntN(2), memory, 0xf7)
		} else {
			s.modRM(s.size(4, 8), s.rng.IntN(2), memory, 0xff)
		}
	case 2: // setcc of a low byte
		s.code = append(s.code, 0x0f, 0x90|cond, byte(0xc0|[]int{rax, rcx, rdx}[s.rng.IntN(3)]))
	case 3: // cmov
		s.modRM(s.size(4, 8), reg, memory, 0x0f, 0x40|cond)
	case 4: // sbb and xchg of registers, cmpxchg
		switch s.rng.IntN(3) {
		case 0:
			s.rex(s.size(4, 8), reg, 0, reg)
			s.code = append(s.code, 0x19, byte(0xc0|reg&7<<3|reg&7))
		case 1:
			s.modRM(s.size(4, 8), reg, false, 0x87)
		default:
			s.modRM(s.size(4, 8), reg, true, 0x0f, 0xb1)
		}
	case 5: // cdqe, cqo, bswap
		if s.bits == 64 && s.rng.IntN(2) == 0 {
			s.code = append(s.code, 0x48)
		}
		s.code = append(s.code, [][]byte{{0x98}, {0x99}, {0x0f, 0xca}}[s.rng.IntN(3)]...)
	default: // push and pop; a branch over an instruction of two bytes
		if s.rng.IntN(2) == 0 {
			s.code = append(s.code, byte(0x50|[]int{rax, rdx, rsi}[s.rng.IntN(3)]), byte(0x58|[]int{rcx, rdx, rbp}[s.rng.IntN(3)]))
			return
		}
		s.code = append(s.code, 0x70|cond, 2, 0x89, 0xc2)
	}
}

// state sets registers, flags and data of a CPU.
func (s *sequence) state(w *world, c *CPU, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	values := []uint64{0, 1, 2, 0x7f, 0x80, 0xff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, ^uint64(0)}
	for r := rax; r <= r15; r++ {
		v := values[rng.IntN(len(values))]
		if rng.IntN(2) == 0 {
			v = rng.Uint64()
		}
		c.R[r] = v & c.AddrMask
		if r > rdi && s.bits == 32 {
			c.R[r] = 0
		}
	}
	c.R[rbx], c.R[rdi] = w.at(testData)+0x800, w.at(testData)+0x1000-rng.Uint64N(40)
	c.R[rsp] = w.at(testData) + 0x2800 + 8*rng.Uint64N(4)
	c.R[rRIP], c.Halted = w.code(testCode), false
	c.setFlags(rng.Uint64()&arith|flagOne, ^uint64(0))
	data := w.mem.Raw()[testData-directMap:][:0x3000]
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], rng.Uint64())
	}
}

// TestUntimedSequences executes random sequences without a cost model, by functions and by host code, and with one. Between two executions the micro-TLB may be empty: then every way out of
// the frequent case is gone.
func TestUntimedSequences(t *testing.T) { eachPath(t, untimedSequences) }

func untimedSequences(t *testing.T) {
	rounds := 40
	if hosttools.Whole(t, "150 random sequences in each mode", "40 of them") {
		rounds = 150
	}
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		s := &sequence{rng: rand.New(rand.NewPCG(11, uint64(isa.Bits))), bits: isa.Bits}
		for range rounds {
			s.code = nil
			for range 3 + s.rng.IntN(14) {
				s.instruction()
			}
			s.code = append(s.code, 0xf4)
			s.compare(t, isa)
		}
	})
}

// compare executes the sequence some times in both ways.
func (s *sequence) compare(t *testing.T, isa *cpus.ISA) {
	t.Helper()
	gw, general := startIn(t, isa, s.code...)
	qw, quick := startIn(t, isa, s.code...)
	quick.Untimed(1, 1<<60)
	for i := range 3 * warmRuns {
		seed := s.rng.Uint64()
		s.state(gw, general, seed)
		s.state(qw, quick, seed)
		if i > warmRuns && s.rng.IntN(2) == 0 {
			quick.ForgetData()
		}
		s.run(t, general)
		s.run(t, quick)
		same := general.R == quick.R && general.flags() == quick.flags() &&
			bytes.Equal(gw.mem.Raw()[testData-directMap:][:0x3000], qw.mem.Raw()[testData-directMap:][:0x3000])
		if !same || general.Counters().Instructions != quick.Counters().Instructions {
			t.Fatalf("execution %d of % x:\nuntimed %s\ntimed   %s", i, s.code, describeState(quick), describeState(general))
		}
	}
}

func (s *sequence) run(t *testing.T, c *CPU) {
	t.Helper()
	if e := c.Run(c.Now() + 1e7); e.Reason != cpus.Halted {
		t.Fatalf("% x stopped for %+v", s.code, e)
	}
}

// describeState shows registers and flags.
func describeState(c *CPU) string {
	return fmt.Sprintf("%x flags %#x, %d instructions", c.R[:engine.PC], c.flags(), c.Counters().Instructions)
}
