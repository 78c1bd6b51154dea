package ppc64

import (
	"encoding/binary"
	"slices"

	"kprobesim/kprobes"
)

// detour fills in the template and appends the branch to where the probed instruction leads. The instruction
// itself is not copied: the buffer passes it to the emulator as a number.
// The order of the marks is that of Optimizer.Marks.
func detour(t kprobes.Template, r kprobes.Region, d kprobes.DetourAt) ([]byte, *kprobes.Refusal) {
	code, unsuitable := slices.Clone(t.Code), kprobes.Refuse(kprobes.RuleUnsupported, d.Addr,
		"the image's detour template has no room for its values")
	if !t.Room(len(address())*wordSize, wordSize, len(number())*wordSize, wordSize) {
		return nil, unsuitable
	}
	w := wordOf(r.Code)
	if !fill(code[t.Marks[0]:], address(), d.Probe) || !fill(code[t.Marks[2]:], number(), uint64(w)) {
		return nil, unsuitable
	}
	for i, mark := range []int{t.Marks[1], t.Marks[3]} {
		call, refused := branch(d.Addr+uint64(mark), d.Calls[i], true)
		if refused != nil {
			return nil, refused
		}
		copy(code[mark:], call)
	}
	next, taken := w.target(r.Addr)
	if !taken {
		next = r.End()
	}
	back, refused := jump(d.Addr+uint64(len(code)), next)
	if refused != nil {
		return nil, refused
	}
	return append(code, back...), nil
}

// loading is one of the instructions that load a number into a register: its primary opcode, and which bits of
// the number its immediate has. An instruction without an immediate shifts what has been loaded up.
type loading struct {
	opcode uint32
	shift  int
}

const noImmediate = -1

// address returns the instructions that load 64 bits: lis, ori, a shift up by 32, oris, ori.
func address() []loading {
	return []loading{{opADDIS, 48}, {opORI, 32}, {opMD, noImmediate}, {opORIS, 16}, {opORI, 0}}
}

// number returns the instructions that load 32 bits: lis, ori. lis makes the upper half of the register.
func number() []loading { return []loading{{opADDIS, 16}, {opORI, 0}} }

// fill puts a number into the immediates of the instructions that load it. Other instructions in their place
// are a mistake of the image.
func fill(code []byte, how []loading, value uint64) bool {
	for i, l := range how {
		at := code[i*wordSize:]
		w := wordOf(at)
		if w.opcode() != l.opcode {
			return false
		}
		if l.shift != noImmediate {
			binary.BigEndian.PutUint32(at, uint32(w)&^immediate|uint32(value>>l.shift)&immediate)
		}
	}
	return true
}

// jump encodes b.
func jump(from, to uint64) ([]byte, *kprobes.Refusal) { return branch(from, to, false) }

// reach is how far an I-form branch leads forward and back, in bytes: its displacement has 24 bits and counts
// words.
const reach = 1 << 25

// branch encodes b, or bl.
func branch(from, to uint64, link bool) ([]byte, *kprobes.Refusal) {
	d := int64(to - from)
	if d < -reach || d >= reach || d%wordSize != 0 {
		return nil, kprobes.Refuse(kprobes.RuleOutOfRange, from,
			"the branch at %#x does not reach %#x: more than 32 MiB apart", from, to)
	}
	w := uint32(opBranch)<<26 | uint32(d)&0x03fffffc
	if link {
		w |= 1
	}
	return bytesOf(w), nil
}
