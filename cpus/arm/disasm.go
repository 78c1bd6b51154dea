package arm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/arch/arm/armasm"

	"kprobesim/internal/armtext"
)

// disasm prints an instruction in GNU syntax. name turns targets of branches into symbols.
func disasm(code []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	if len(code) < insnBytes {
		return "(bad)", insnBytes
	}
	word := binary.LittleEndian.Uint32(code)
	r := find(word)
	if r == nil {
		return "(bad)", insnBytes
	}
	x, err := armtext.Decode(code[:insnBytes])
	switch target, direct := branchTarget(r, word, pc); {
	case direct:
		return branchText(r, word, target, name), insnBytes
	case err != nil || x.Op == 0 || systemText[r.name] != nil:
		return ownText(r, word), insnBytes
	}
	return armasm.GNUSyntax(x), insnBytes
}

var conditionNames = [16]string{
	"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
}

func branchTarget(r *row, word uint32, pc uint64) (to uint64, direct bool) {
	switch r.name {
	case "b", "bl", "blx constant":
		d := newDecoder(word, pc)
		return uint64(uint32(pc) + 4 + d.distance()), true
	}
	return 0, false
}

func branchText(r *row, word uint32, to uint64, name func(uint64) (string, uint64)) string {
	op, _, _ := strings.Cut(r.name, " ")
	text := fmt.Sprintf("%s%s %#x", op, conditionNames[word>>28], to)
	if name != nil {
		if sym, base := name(to); sym != "" {
			text = fmt.Sprintf("%s <%s+%#x>", text, sym, to-base)
		}
	}
	return text
}

// systemText prints the operands of instructions that armasm does not know, or does not print as GNU does.
var systemText = map[string]func(*decoder) string{
	"mcr":      coprocText,
	"mrc":      coprocText,
	"mcrr":     coproc64Text,
	"mrrc":     coproc64Text,
	"mrs":      func(d *decoder) string { return fmt.Sprintf("r%d, cpsr", d.r12()) },
	"mrs spsr": func(d *decoder) string { return fmt.Sprintf("r%d, spsr", d.r12()) },
	"msr":      func(d *decoder) string { return fmt.Sprintf("cpsr_%s, r%d", fieldText(d), d.r0()) },
	"msr spsr": func(d *decoder) string { return fmt.Sprintf("spsr_%s, r%d", fieldText(d), d.r0()) },
	"rfe":      func(d *decoder) string { return fmt.Sprintf("r%d", d.r16()) },
	"srs":      func(d *decoder) string { return fmt.Sprintf("sp, #%d", d.field(0, 5)) },
	"cps":      cpsText,
	"udf":      func(d *decoder) string { return fmt.Sprintf("#%d", d.word>>4&0xfff0|d.word&15) },
	"wfi":      func(*decoder) string { return "" },
	"wfe":      func(*decoder) string { return "" },
}

func coprocText(d *decoder) string {
	return fmt.Sprintf("p15, %d, r%d, c%d, c%d, %d", d.field(21, 3), d.r12(), d.r16(), d.r0(), d.field(5, 3))
}

func coproc64Text(d *decoder) string {
	return fmt.Sprintf("p15, %d, r%d, r%d, c%d", d.field(4, 4), d.r12(), d.r16(), d.r0())
}

func fieldText(d *decoder) string {
	s := ""
	for i, f := range "cxsf" {
		if d.r16()>>i&1 != 0 {
			s = string(f) + s
		}
	}
	return s
}

// cpsText begins with what belongs to the name of the instruction: whether exceptions are enabled or disabled.
func cpsText(d *decoder) string {
	flags, mode := "", ""
	for i, f := range "fia" {
		if d.bit(uint(6 + i)) {
			flags = string(f) + flags
		}
	}
	if d.bit(17) {
		mode = fmt.Sprintf("#%d", d.field(0, 5))
	}
	switch effect := [4]string{"", "", "ie ", "id "}[d.field(18, 2)]; {
	case effect == "":
		return " " + mode
	case mode == "":
		return effect + flags
	default:
		return effect + flags + ", " + mode
	}
}

// ownText prints the name of a row and its operands, if they are known.
func ownText(r *row, word uint32) string {
	op, _, _ := strings.Cut(r.name, " ")
	if word>>28 < condAL {
		op += conditionNames[word>>28]
	}
	d := newDecoder(word, 0)
	if r.name == "cps" {
		return op + cpsText(&d)
	}
	if operands := systemText[r.name]; operands != nil {
		return strings.TrimSpace(op + " " + operands(&d))
	}
	if _, other, _ := strings.Cut(r.name, " "); other == "user" || other == "return" {
		return op + " " + banksText(&d)
	}
	return op
}

// banksText prints the operands of a load or store of several registers that are not the mode's, or that
// ends an exception.
func banksText(d *decoder) string {
	var list []string
	for i := range 16 {
		if d.bit(uint(i)) {
			list = append(list, registerNames[i])
		}
	}
	base := registerNames[d.r16()]
	if d.bit(21) {
		base += "!"
	}
	return fmt.Sprintf("%s, {%s}^", base, strings.Join(list, ", "))
}

var registerNames = [16]string{
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc",
}
