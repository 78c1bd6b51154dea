package kprobes_test

import (
	"os"
	"testing"

	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/targets"
)

// TestMain gives the tests in the package the targets, which they cannot import.
func TestMain(m *testing.M) {
	list := targets.List()
	kprobes.KitOf = func(im *image.Image) kprobes.Kit {
		for _, t := range list {
			if im.Match(t.ISA.Machine, t.ISA.Bits, t.ISA.Order) == nil {
				return kprobes.Kit{ISA: t.ISA, Board: t.Board, Arch: t.Probes}
			}
		}
		panic("no target has images like " + im.Name)
	}
	os.Exit(m.Run())
}
