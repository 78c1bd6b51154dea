package arm

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestPackaged asks the rules of packaged kernels for words: whether they are emulated, and whether they lead elsewhere for good.
func TestPackaged(t *testing.T) {
	for _, x := range []struct {
		name           string
		w              word
		probed, leaves bool
	}{
		{"a push", 0xe92d4010, true, false},
		{"a pop of the program counter", 0xe8bd8010, true, true},
		{"a block that is stored with it", 0xe92d8010, true, false},
		{"a branch under a condition", 0x0a000000, true, true},
		{"a call", 0xeb000000, true, false},
		{"bx", 0xe12fff1e, true, true},
		{"blx of a register", 0xe12fff33, true, false},
		{"a move to the program counter", 0xe1a0f00e, true, true},
		{"a load of it", 0xe59ff000, true, true},
		{"a load exclusive", 0xe1923f9f, false, false},
		{"a barrier", 0xf57ff05f, false, false},
		{"a trap of BUG", 0xe7f001f2, false, false},
		{"a comparison with a result", 0xc15ac76c, true, false},
		{"a move with a first operand", 0xe1a50001, true, false},
		{"a pair of an odd register and the next, indexed by a register, with bits that should be zero", 0xc08092d0, true, false},
		{"a pair of the link register and the next", 0xe1c0e0d0, false, false},
		{"a halfword that is loaded as in user mode", 0xe0f120b2, false, false},
		{"one that is stored so, with an index", 0xe02120b4, false, false},
		{"one behind which the base is written back", 0xe0d120b2, true, false},
		{"a multiplication that accumulates", 0xe0214392, true, false},
		{"a half word so", 0xe19212b3, true, false},
		{"a multiplication with a register that should be none", 0xe0014392, false, false},
		{"a store far below the stack pointer", 0xe50d0044, false, false},
		{"a store near below it", 0xe50d0040, true, false},
	} {
		run, err := Packaged{}.Run(bytesOf(x.w), 0)
		require.That(t, (err == nil) == x.probed && run == kprobes.Emulated, "%s: %s, %v", x.name, run, err)
		require.Equal(t, Packaged{}.Leaves(bytesOf(x.w)), x.leaves, "%s: leaves", x.name)
	}
	require.That(t, require.Err(Packaged{}.Run([]byte{1, 2, 3}, 0)) != nil, "three bytes are a word")
}

// TestPackagedRegion keeps a breakpoint where a branch does not reach the detours.
func TestPackagedRegion(t *testing.T) {
	const detours = 0xbf000000
	for far, want := range map[uint64]bool{0: true, reach - here: true, reach - here + 4: false, reach: false} {
		at := uint64(detours) + far
		fn := kprobes.Text{Name: "f", Start: at, Code: bytesOf(0xe1a00000)}
		r, refused := Packaged{Detours: detours}.Region(kprobes.Site{Fn: fn, Addr: at})
		require.That(t, (refused == nil) == want && (refused != nil || r.End() == at+4), "%#x behind: %+v, %v", far, r, refused)
	}
}
