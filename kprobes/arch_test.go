package kprobes

import (
	"fmt"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/sim"
)

// Kit is what the target of an image has.
type Kit struct {
	ISA   *cpus.ISA
	Board sim.Board
	Arch  *Arch
}

// KitOf finds it. Targets import this package, so it is filled in by the tests that stand outside of the
// package.
var KitOf func(im *image.Image) Kit

// ArchOf returns the probe rules for an image.
func ArchOf(im *image.Image) *Arch { return KitOf(im).Arch }

// isaOf is the instruction set of an image.
func isaOf(im *image.Image) *cpus.ISA { return KitOf(im).ISA }

// starts lists where the instructions of a function begin that may be probed, as offsets. A table of addresses may
// stand between them, and its words are no instructions. From a load that reserves to the store on its condition
// nothing is probed: no exception leaves a reservation, so the loop around them would never end.
func (k *Kprobes) starts(fn Text) (offs []uint64) {
	isa, reserved := isaOf(k.im), false
	for addr := fn.Start; addr < fn.End(); addr++ {
		if addr%k.arch.Align != 0 || k.arch.Boundary != nil && k.arch.Boundary(fn, addr) != nil {
			continue
		}
		code := fn.Code[addr-fn.Start:]
		text, _ := isa.Disasm(code, addr, nil)
		mnemonic, _, _ := strings.Cut(text, " ")
		reserved = reserved || strings.HasSuffix(mnemonic, "arx")
		_, err := k.arch.Prepare(Insn{Code: code, Addr: addr, Slot: k.sym.slots.Start})
		if !reserved && err == nil && text != "(bad)" {
			offs = append(offs, addr-fn.Start)
		}
		reserved = reserved && !strings.HasSuffix(mnemonic, "cx.")
	}
	return offs
}

// hex shows bytes as tests write them.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }
