package x86

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// codesFile holds lists of instructions, each by a line of bytes, behind their names in brackets.
//
//go:embed testdata/codes.txt
var codesFile string

// codesOf returns the instructions of a list.
func codesOf(name string) (all [][]byte) {
	_, list, found := strings.Cut(codesFile, "["+name+"]\n")
	if !found {
		panic("x86: no list " + name)
	}
	list, _, _ = strings.Cut(list, "[")
	for line := range strings.Lines(list) {
		code, _, _ := strings.Cut(line, "#")
		if code = strings.Join(strings.Fields(code), ""); code == "" {
			continue
		}
		b, err := hex.DecodeString(code)
		if err != nil {
			panic("x86: codes of " + name + ": " + err.Error())
		}
		all = append(all, b)
	}
	return all
}

// gpr is a register operand of an encoding under test; hi names AH to BH by their numbers 4 to 7.
type gpr struct {
	n  int
	hi bool
}

// memop is a memory operand; base and index are -1 when absent.
type memop struct {
	base, index int
	scale       int   // logarithm
	disp        int32 // for rip: the absolute target
	dispBytes   int   // 0, 1 or 4 at least
	rip         bool
	plain       bool // disp alone, without SIB; 32-bit mode only
	seg         byte // prefix, or 0
}

// insn is one instruction to encode. Either rm or mem is the r/m operand; op holds the opcode with its
// escape bytes.
type insn struct {
	pre   []byte // legacy prefixes beside operand size
	width int    // operand size in bytes: 2 gives 66, 8 gives REX.W
	op    []byte
	modrm bool
	reg   gpr // or the opcode extension
	rm    gpr
	mem   *memop
	imm   []byte
	noW   bool    // 64-bit by default
	bytes [2]bool // reg, rm are byte registers
}

// encode returns the bytes of x when it is put at address at.
func (x insn) encode(at uint64) []byte {
	var b []byte
	if x.mem != nil && x.mem.seg != 0 {
		b = append(b, x.mem.seg)
	}
	b = append(b, x.pre...)
	if x.width == 2 {
		b = append(b, 0x66)
	}
	if r := x.rex(); r != 0 {
		b = append(b, r)
	}
	op := append([]byte{}, x.op...)
	if !x.modrm {
		if x.rm.n >= 0 {
			op[len(op)-1] |= byte(x.rm.n & 7)
		}
		return append(append(b, op...), x.imm...)
	}
	b = append(b, op...)
	if x.mem == nil {
		b = append(b, 0xc0|byte(x.reg.n&7)<<3|byte(x.rm.n&7))
		return append(b, x.imm...)
	}
	b = x.mem.encode(b, byte(x.reg.n&7)<<3)
	if x.mem.rip {
		end := at + uint64(len(b)+len(x.imm))
		binary.LittleEndian.PutUint32(b[len(b)-4:], uint32(uint64(x.mem.disp)-end))
	}
	return append(b, x.imm...)
}

// rex returns the REX prefix that x needs, or 0.
func (x insn) rex() byte {
	var r byte
	if x.width == 8 && !x.noW {
		r |= 0x48
	}
	if x.reg.n > 7 {
		r |= 0x44
	}
	need := func(g gpr, isByte bool) bool { return isByte && !g.hi && g.n >= 4 && g.n < 8 }
	if need(x.reg, x.bytes[0]) || x.mem == nil && need(x.rm, x.bytes[1]) {
		r |= 0x40
	}
	if x.mem == nil {
		if x.rm.n > 7 {
			r |= 0x41
		}
		return r
	}
	if x.mem.base > 7 {
		r |= 0x41
	}
	if x.mem.index > 7 {
		r |= 0x42
	}
	return r
}

// encode appends ModRM, SIB and displacement.
func (m *memop) encode(b []byte, reg byte) []byte {
	d32 := binary.LittleEndian.AppendUint32(nil, uint32(m.disp))
	switch {
	case m.rip, m.plain:
		return append(append(b, reg|5), d32...)
	case m.base < 0:
		idx := byte(4)
		if m.index >= 0 {
			idx = byte(m.index & 7)
		}
		return append(append(b, reg|4, byte(m.scale)<<6|idx<<3|5), d32...)
	}
	n := m.dispBytes
	if n == 0 && m.base&7 == 5 {
		n = 1
	}
	mod := map[int]byte{0: 0, 1: 0x40, 4: 0x80}[n]
	if m.index >= 0 || m.base&7 == 4 {
		idx := byte(4)
		if m.index >= 0 {
			idx = byte(m.index & 7)
		}
		b = append(b, mod|reg|4, byte(m.scale)<<6|idx<<3|byte(m.base&7))
	} else {
		b = append(b, mod|reg|byte(m.base&7))
	}
	return append(b, d32[:n]...)
}

// jump32 returns jmp rel32 at address at.
func jump32(at, to uint64) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-at-5))
}

func le16(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
