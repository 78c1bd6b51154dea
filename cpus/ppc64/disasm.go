package ppc64

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// disasm prints an instruction in GNU syntax. The decoder prints targets of branches as numbers; name turns
// them into symbols.
func disasm(code []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	if len(code) < insnBytes {
		return "(bad)", insnBytes
	}
	word := binary.BigEndian.Uint32(code)
	if _, ok := supplement(word); ok {
		return "mcrxr", insnBytes
	}
	x, err := ppc64asm.Decode(code[:insnBytes], binary.BigEndian)
	if err != nil || x.Op == 0 {
		return "(bad)", insnBytes
	}
	text := ppc64asm.GNUSyntax(x, pc)
	if name != nil {
		text = symbol(text, x, pc, name)
	}
	return text, insnBytes
}

// symbol appends the symbol of a branch's target.
func symbol(text string, x ppc64asm.Inst, pc uint64, name func(uint64) (string, uint64)) string {
	for _, a := range x.Args {
		var to uint64
		switch a := a.(type) {
		case ppc64asm.PCRel:
			to = pc + uint64(int64(a))
		case ppc64asm.Label:
			to = uint64(int64(int32(a)))
		default:
			continue
		}
		if sym, base := name(to); sym != "" {
			return fmt.Sprintf("%s <%s+%#x>", text, sym, to-base)
		}
	}
	return text
}
