package x86

import (
	"testing"

	"kprobesim/internal/require"
)

// TestQueriesByType asks lar and lsl about system descriptors of every type (SDM vol. 2, the tables of LAR and LSL).
func TestQueriesByType(t *testing.T) {
	answers := map[string]map[int]string{ // by the bits of code; a character a type, from 0 on
		"lar": {32: ".yyyyy...y.yy...", 64: "..y......y.yy..."},
		"lsl": {32: ".yyy.....y.y....", 64: "..y......y.y...."},
	}
	for name, op := range map[string]byte{"lar": 2, "lsl": 3} {
		for _, isa := range modes() {
			for kind := range uint64(16) {
				w, c := startIn(t, isa, 0x0f, op, 0xc8, 0xf4) // %ax, %ecx; hlt
				w.store(w.at(worldGDT)+freeSel, describe(0x80|kind, 4, 0x1000, 0x123))
				c.R[rax] = freeSel
				halt(t, c)
				want := answers[name][isa.Bits][kind] == 'y'
				require.That(t, c.flags()&flagZF != 0 == want, "%s, %s: a descriptor of type %d is told of: %v", isa.Name, name, kind, !want)
			}
		}
	}
}
