package kprobes

import (
	"fmt"

	"kprobesim/image"
)

// ArchOf returns the probe rules for an image. The packages with the rules import this one, so it is
// filled in by the tests that stand outside of the package.
var ArchOf func(im *image.Image) *Arch

// starts lists where the instructions of a function begin, as offsets.
func (k *Kprobes) starts(fn Text) (offs []uint64) {
	for addr := fn.Start; addr < fn.End(); addr++ {
		if k.arch.Boundary(fn, addr) == nil {
			offs = append(offs, addr-fn.Start)
		}
	}
	return offs
}

// hex shows bytes as tests write them.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }
