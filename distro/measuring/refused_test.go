package measuring_test

import (
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// TestNoProgram boots kernels that never come to the program: one resets the machine, and one panics.
func TestNoProgram(t *testing.T) {
	for want, code := range map[string][]byte{
		"ended (reset": {0xb0, 0xfe, 0xe6, 0x64, 0xf4}, // mov al, 0xfe; out 0x64, al; hlt
		"triple fault": {0x0f, 0x0b},                   // ud2
	} {
		k := require.Must(linux.Read("made-up", linuxtest.Boxed(linuxtest.Kernel{Bits: 64, Code: code}.ELF()), nil))(t)
		l, err := measuring.Boot(distro.Config{Kernel: k, CPU: cpustest.Config(x86.ISA64()), Board: pc.Legacy{}})
		require.That(t, err != nil && strings.Contains(err.Error(), want) && l == nil, "got %v, want %q", err, want)
	}
}
