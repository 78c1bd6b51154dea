package kprobes_test

import (
	"os"
	"testing"

	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/kprobes/x86"
)

// TestMain gives the tests in the package the rules that they cannot import.
func TestMain(m *testing.M) {
	kprobes.ArchOf = func(im *image.Image) *kprobes.Arch {
		if im.Bits == 32 {
			return x86.Arch32()
		}
		return x86.Arch64()
	}
	os.Exit(m.Run())
}
