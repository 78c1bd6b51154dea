package x86

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestHandlerFlags enters a handler with NT set: it finds NT clear, as TF, RF and VM, and its frame has it (SDM vol. 3,
// 6.12.1.3 and 6.14).
func TestHandlerFlags(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		w, c := startIn(t, isa, 0x0f, 0x0b) // ud2
		c.setFlags(flagNT|flagCF, flagNT|flagCF)
		tr := w.trapped(c)
		require.Need(t, tr.vector == vecUD && tr.flags&flagNT != 0, "%+v", tr)
		require.Equal(t, c.flags()&(flagTF|flagNT|flagRF|flagVM|flagCF), flagCF, "flags in the handler")
	})
}
