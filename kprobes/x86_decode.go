package kprobes

import (
	"encoding/binary"
	"errors"

	"golang.org/x/arch/x86/x86asm"
)

// x86MaxInsn is the architecture's limit on the length of an instruction, in bytes.
const x86MaxInsn = 15

var errUndecodable = errors.New("not an instruction that the decoder knows")

// x86Insn is one decoded instruction, as far as probing looks at it.
type x86Insn struct {
	Addr     uint64
	Code     []byte // its bytes
	Opcode   []byte // Code from the opcode on: legacy and REX prefixes are skipped
	PCRel    int    // bytes of the field relative to the next instruction, 0 if none
	PCRelOff int    // offset of that field in Code
	Memory   bool   // the field is a memory operand's displacement, not a branch
}

// Next is the address of the instruction behind.
func (i x86Insn) Next() uint64 { return i.Addr + uint64(len(i.Code)) }

// Target is the address that the relative field stands for.
func (i x86Insn) Target() uint64 { return i.Next() + uint64(i.displacement()) }

func (i x86Insn) displacement() int64 {
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
func (i x86Insn) modrmReg() int {
	if len(i.Opcode) < 2 {
		return -1
	}
	return int(i.Opcode[1] >> 3 & 7)
}

// x86Decode decodes the first instruction of code, which stands at addr.
func x86Decode(code []byte, addr uint64, mode int) (x86Insn, error) {
	if len(code) > x86MaxInsn {
		code = code[:x86MaxInsn]
	}
	if n := x86Supplement(code); n > 0 {
		return x86Insn{Addr: addr, Code: code[:n], Opcode: x86Opcode(code[:n], mode)}, nil
	}
	in, err := x86asm.Decode(code, mode)
	if err != nil || in.Op == 0 || in.Len > len(code) {
		return x86Insn{}, errUndecodable
	}
	c := code[:in.Len]
	return x86Insn{
		Addr: addr, Code: c, Opcode: x86Opcode(c, mode),
		PCRel: in.PCRel, PCRelOff: in.PCRelOff, Memory: x86PCMemory(in),
	}, nil
}

// x86PCMemory reports whether an operand is memory relative to the instruction pointer.
func x86PCMemory(in x86asm.Inst) bool {
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && (m.Base == x86asm.RIP || m.Base == x86asm.EIP) {
			return true
		}
	}
	return false
}

// x86Supplement returns the length of an instruction that x86asm does not know, 0 for all others.
func x86Supplement(code []byte) int {
	for _, s := range x86Unknown() {
		if len(code) >= len(s) && string(code[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}

// x86Unknown lists instructions without operands that x86asm lacks.
func x86Unknown() []string {
	return []string{
		"\xf3\x0f\x1e\xfa", // endbr64
		"\xf3\x0f\x1e\xfb", // endbr32
		"\x0f\x01\xca",     // clac
		"\x0f\x01\xcb",     // stac
		"\x0f\x01\xc1",     // vmcall
		"\x0f\x01\xd9",     // vmmcall
	}
}

// x86Opcode skips the legacy prefixes and, in 64-bit mode, one REX prefix.
func x86Opcode(code []byte, mode int) []byte {
	for len(code) > 0 && x86LegacyPrefix(code[0]) {
		code = code[1:]
	}
	if mode == 64 && len(code) > 0 && code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	return code
}

func x86LegacyPrefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return false
}

// x86Walk calls f for each instruction of the function in order until f returns false. It
// returns the address at which decoding failed, 0 if it did not.
func x86Walk(fn Text, mode int, f func(x86Insn) bool) (stuck uint64) {
	for off := 0; off < len(fn.Code); {
		in, err := x86Decode(fn.Code[off:], fn.Start+uint64(off), mode)
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
