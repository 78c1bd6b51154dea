package x86

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/kprobes"
)

// maxInsn is the architecture's limit on the length of an instruction, in bytes.
// A longer one raises #GP (SDM vol. 3, 6.15, interrupt 13).
const maxInsn = 15

var errUndecodable = errors.New("not an instruction that the decoder knows")

// insn is one decoded instruction, as far as probing looks at it.
type insn struct {
	Addr     uint64
	Code     []byte // its bytes
	Opcode   []byte // Code from the opcode on, of two bytes at least behind 0f: legacy and REX prefixes are skipped
	PCRel    int    // bytes of the field relative to the next instruction, 0 if none
	PCRelOff int    // offset of that field in Code
	Memory   bool   // the field is a memory operand's displacement, not a branch
}

// next is the address of the instruction behind.
func (i insn) next() uint64 { return i.Addr + uint64(len(i.Code)) }

// target is the address that the relative field stands for.
func (i insn) target() uint64 { return i.next() + uint64(i.displacement()) }

func (i insn) displacement() int64 {
	f := i.Code[i.PCRelOff:]
	switch i.PCRel {
	case 1:
		return int64(int8(f[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(f)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(f)))
	}
	return 0
}

// modrmReg is the reg field of the ModR/M byte behind a one-byte opcode, -1 if there is none.
// It extends the opcode of the unary groups and of group 5 (SDM vol. 2, A.4).
func (i insn) modrmReg() int {
	if len(i.Opcode) < 2 {
		return -1
	}
	return int(i.Opcode[1] >> 3 & 7)
}

// decode decodes the first instruction of code, which stands at addr.
func decode(code []byte, addr uint64, mode int) (insn, error) {
	if n := supplement(code); n > 0 {
		return insn{Addr: addr, Code: code[:n], Opcode: opcodeOf(code[:n], mode)}, nil
	}
	in, err := x86asm.Decode(code, mode)
	if err != nil || in.Op == 0 || in.Len > len(code) {
		return insn{}, errUndecodable
	}
	c := code[:in.Len]
	return insn{
		Addr: addr, Code: c, Opcode: opcodeOf(c, mode),
		PCRel: in.PCRel, PCRelOff: in.PCRelOff, Memory: pcMemory(in),
	}, nil
}

// pcMemory reports whether an operand is memory relative to the instruction pointer.
// Only 64-bit mode has such operands, with mod 00 and r/m 101 (SDM vol. 2, 2.2.1.6).
func pcMemory(in x86asm.Inst) bool {
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && (m.Base == x86asm.RIP || m.Base == x86asm.EIP) {
			return true
		}
	}
	return false
}

// supplement returns the length of an instruction that x86asm does not know, 0 for all others.
func supplement(code []byte) int {
	for _, s := range unknown() {
		if len(code) >= len(s) && string(code[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}

// unknown lists instructions without operands that x86asm lacks.
func unknown() []string {
	return []string{
		"\xf3\x0f\x1e\xfa", // endbr64
		"\xf3\x0f\x1e\xfb", // endbr32
		"\x0f\x01\xca",     // clac
		"\x0f\x01\xcb",     // stac
		"\x0f\x01\xc1",     // vmcall
		"\x0f\x01\xc2",     // vmlaunch
		"\x0f\x01\xc3",     // vmresume
		"\x0f\x01\xc4",     // vmxoff
		"\x0f\x01\xd9",     // vmmcall
	}
}

// opcodeOf skips the legacy prefixes and, in 64-bit mode, one REX prefix.
// A REX prefix counts only directly in front of the opcode (SDM vol. 2, 2.2.1), hence after the
// others.
func opcodeOf(code []byte, mode int) []byte {
	for len(code) > 0 && legacyPrefix(code[0]) {
		code = code[1:]
	}
	if mode == 64 && len(code) > 0 && code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	return code
}

// Groups 1 to 4 of SDM vol. 2, 2.1.1.
func legacyPrefix(b byte) bool {
	return strings.IndexByte("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", b) >= 0
}

// walk calls f for each instruction of the function in order until f returns false. It
// returns the address at which decoding failed, 0 if it did not.
func walk(fn kprobes.Text, mode int, f func(insn) bool) (stuck uint64) {
	return walkBy(fn, func(code []byte, at uint64) (insn, error) { return decode(code, at, mode) }, f)
}

// walkBy is walk with a decoder.
func walkBy(fn kprobes.Text, decode func([]byte, uint64) (insn, error), f func(insn) bool) (stuck uint64) {
	for off := 0; off < len(fn.Code); {
		in, err := decode(fn.Code[off:], fn.Start+uint64(off))
		if err != nil {
			return fn.Start + uint64(off)
		}
		if !f(in) {
			return 0
		}
		off += len(in.Code)
	}
	return 0
}
