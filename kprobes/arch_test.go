package kprobes

import (
	"fmt"

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

// starts lists where the instructions of a function begin, as offsets.
func (k *Kprobes) starts(fn Text) (offs []uint64) {
	for addr := fn.Start; addr < fn.End(); addr++ {
		if addr%k.arch.Align == 0 && (k.arch.Boundary == nil || k.arch.Boundary(fn, addr) == nil) {
			offs = append(offs, addr-fn.Start)
		}
	}
	return offs
}

// hex shows bytes as tests write them.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }
