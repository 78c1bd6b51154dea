package x86

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// tidy mends what the decoder's GNU syntax prints for an absent index and for an absolute address
// of zero.
var tidy = strings.NewReplacer(",%riz)", ")", ",%eiz)", ")", "%gs:,", "%gs:0x0,", "%fs:,", "%fs:0x0,")

// disasm prints instructions of a mode in GNU syntax, addresses by symbol where name knows one.
func disasm(mode int) func([]byte, uint64, func(uint64) (string, uint64)) (string, int) {
	return func(code []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
		x, ok := disassemble(code, mode)
		if !ok {
			return "(bad)", 1
		}
		if own := map[x86asm.Op]string{opSALC: "salc", opCLAC: "clac", opSTAC: "stac"}[x.Op]; own != "" {
			return own, x.Len
		}
		text := tidy.Replace(x86asm.GNUSyntax(x, pc, name))
		return symbols(text, x, pc, ^uint64(0)>>(64-mode), name), x.Len
	}
}

// symbols names the addresses that the decoder prints as numbers: targets inside a function,
// immediates, and displacements that it did not sign-extend. From the next instruction on they have a sign, if nothing has
// a name there. mask is that of the mode's addresses.
func symbols(text string, x x86asm.Inst, pc, mask uint64, name func(uint64) (string, uint64)) string {
	for _, a := range x.Args {
		switch a := a.(type) {
		case x86asm.Rel:
			to := (pc + uint64(x.Len) + uint64(int64(a))) & mask
			if s := label(to, name); s != "" {
				text = strings.ReplaceAll(text, fmt.Sprintf("%#x", to), s)
			}
		case x86asm.Imm:
			if s := label(uint64(a)&mask, name); s != "" {
				printed := int64(a)
				if mask>>32 == 0 {
					printed &= int64(mask)
				}
				text = strings.ReplaceAll(text, fmt.Sprintf("$%#x", printed), "$"+s)
			}
		case x86asm.Mem:
			if a.Base == x86asm.RIP {
				to := label((pc+uint64(x.Len)+uint64(int64(int32(a.Disp))))&mask, name)
				if to == "" {
					to = fmt.Sprintf("%#x", int32(a.Disp))
				}
				text = strings.Replace(text, fmt.Sprintf("%#x(%%rip)", uint32(a.Disp)), to+"(%rip)", 1)
				continue
			}
			if s := label(uint64(int64(int32(a.Disp)))&mask, name); s != "" && a.Disp != 0 {
				text = strings.Replace(text, fmt.Sprintf("%#x(", a.Disp), s+"(", 1)
			}
		}
	}
	return text
}

// label is the symbol and offset of an address, or nothing.
func label(addr uint64, name func(uint64) (string, uint64)) string {
	if name == nil {
		return ""
	}
	sym, base := name(addr)
	switch {
	case sym == "":
		return ""
	case addr == base:
		return sym
	}
	return fmt.Sprintf("%s+%#x", sym, addr-base)
}
