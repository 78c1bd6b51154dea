package gdb

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"kprobesim/cpus"
)

// describe is the target description that gdb reads (Debugging with GDB, appendix G).
func describe(t *cpus.GDB) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target><architecture>%s</architecture>`, t.Arch)
	for _, f := range t.Features {
		fmt.Fprintf(&b, `<feature name="%s">%s`, f.Name, f.Types)
		for _, r := range f.Registers {
			fmt.Fprintf(&b, `<reg name="%s" bitsize="%d" type="%s"`, r.Name, r.Bits, r.Type)
			if r.Number > 0 {
				fmt.Fprintf(&b, ` regnum="%d"`, r.Number)
			}
			b.WriteString("/>")
		}
		b.WriteString("</feature>")
	}
	b.WriteString("</target>")
	return b.String()
}

// values returns the registers of a CPU by gdb's numbers, as digits in the target's byte order; x for those that are not told.
func values(isa *cpus.ISA, c cpus.CPU) (numbers []int, digits []string) {
	have := map[string]uint64{}
	for _, r := range c.Registers() {
		have[r.Name] = r.Value
	}
	next := 0
	for _, f := range isa.GDB.Features {
		for _, r := range f.Registers {
			if r.Number > 0 {
				next = r.Number
			}
			numbers = append(numbers, next)
			next++
			v, ok := have[r.From]
			if !ok {
				v, ok = have[r.Short]
			}
			if !ok {
				digits = append(digits, strings.Repeat("x", r.Bits/4))
				continue
			}
			digits = append(digits, inOrder(isa.Order, v, r.Bits/8))
		}
	}
	return numbers, digits
}

// inOrder is a number of n bytes as digits in a byte order.
func inOrder(order binary.ByteOrder, v uint64, n int) string {
	b := make([]byte, 8)
	order.PutUint64(b, v)
	if order.Uint16([]byte{0, 1}) == 1 { // the most significant byte comes first
		return hex.EncodeToString(b[8-n:])
	}
	return hex.EncodeToString(b[:n])
}
