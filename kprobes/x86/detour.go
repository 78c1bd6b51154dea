package x86

import (
	"encoding/binary"
	"slices"

	"kprobesim/kprobes"
)

const callRel32 = 0xe8

// detour fills in the template and appends the copied instructions and the jump back.
// Each instruction is moved by itself, as a displacement counts from where its own copy ends.
// Lengths do not change, so the copy ends where the region's length says.
func detour(t kprobes.Template, r kprobes.Region, d kprobes.DetourAt, mode int) ([]byte, *kprobes.Refusal) {
	code := slices.Clone(t.Code)
	if err := fillTemplate(code, t, d, mode); err != nil {
		return nil, err
	}
	for n := 0; n < len(r.Code); {
		at := r.Addr + uint64(n)
		in, err := decode(r.Code[n:], at, mode)
		if err != nil {
			return nil, kprobes.Refuse(kprobes.RuleUndecodable, at, "no instruction can be read at %#x", at)
		}
		moved, ok := move(in, d.Addr+uint64(len(code)))
		if !ok {
			return nil, kprobes.Refuse(kprobes.RuleDisplacement, at,
				"the operand of the instruction at %#x is out of reach of the detour buffer at %#x",
				at, d.Addr)
		}
		code = append(code, moved...)
		n += len(in.Code)
	}
	back, refused := jump(d.Addr+uint64(len(code)), r.End())
	if refused != nil {
		return nil, refused
	}
	return append(code, back...), nil
}

// fillTemplate sets the probe's address, an immediate of pointer size, and the call.
// A template without room for them is a mistake of the image, which shows as a refusal: the kernel
// runs on with breakpoints.
func fillTemplate(code []byte, t kprobes.Template, d kprobes.DetourAt, mode int) *kprobes.Refusal {
	size := mode / 8
	if !t.Room(size, jumpSize) {
		return kprobes.Refuse(kprobes.RuleUnsupported, d.Addr, "the image's detour template has no room for its values")
	}
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], d.Probe)
	copy(code[t.Marks[0]:], value[:size])
	call, refused := rel32(callRel32, d.Addr+uint64(t.Marks[1]), d.Calls[0])
	copy(code[t.Marks[1]:], call)
	return refused
}
