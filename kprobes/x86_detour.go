package kprobes

import (
	"encoding/binary"
	"slices"
)

const x86CallRel32 = 0xe8

// x86Detour fills in the template and appends the copied instructions and the jump back.
func x86Detour(t Template, r Region, d DetourAt, mode int) (Detour, *Refusal) {
	code := slices.Clone(t.Code)
	if err := x86FillTemplate(code, t, d, mode); err != nil {
		return Detour{}, err
	}
	copied := len(code)
	for n := 0; n < len(r.Code); {
		at := r.Addr + uint64(n)
		in, err := x86Decode(r.Code[n:], at, mode)
		if err != nil {
			return Detour{}, refuse(RuleUndecodable, at, "no instruction can be read at %#x", at)
		}
		moved, ok := x86Move(in, d.Addr+uint64(len(code)))
		if !ok {
			return Detour{}, refuse(RuleDisplacement, at,
				"the operand of the instruction at %#x is out of reach of the detour buffer at %#x",
				at, d.Addr)
		}
		code = append(code, moved...)
		n += len(in.Code)
	}
	back, refused := x86Jump(d.Addr+uint64(len(code)), r.End())
	if refused != nil {
		return Detour{}, refused
	}
	return Detour{Code: append(code, back...), Copied: copied}, nil
}

// x86FillTemplate sets the probe's address, an immediate of pointer size, and the call.
func x86FillTemplate(code []byte, t Template, d DetourAt, mode int) *Refusal {
	size := mode / 8
	if t.Value < 0 || t.Call < 0 || t.Value+size > len(code) || t.Call+x86JumpSize > len(code) {
		return refuse(RuleUnsupported, d.Addr, "the image's detour template has no room for its values")
	}
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], d.Probe)
	copy(code[t.Value:], value[:size])
	call, refused := x86Rel32(x86CallRel32, d.Addr+uint64(t.Call), d.Callback)
	copy(code[t.Call:], call)
	return refused
}
