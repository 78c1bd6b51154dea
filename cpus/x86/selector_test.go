package x86

import (
	"testing"

	"kprobesim/cpus"
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

// TestCodeOfTwoSizes returns to code segments of 64-bit mode by their bits L and D, of which long mode refuses both at once
// (SDM vol. 3, 5.2.1).
func TestCodeOfTwoSizes(t *testing.T) {
	for _, flags := range []uint64{1, 3} { // L, and with D
		// push $freeSel; push $next; lretq; next: hlt
		w, c := startIn(t, ISA64())
		next := c.PC() + 5 + 5 + 2
		w.mem.Write(c.PC()-kernelMap, join([]byte{0x68}, le32(freeSel), []byte{0x68}, le32(uint32(next)), []byte{0x48, 0xcb, 0xf4}))
		w.store(w.at(worldGDT)+freeSel, describe(0x9b, 8|flags<<1, 0, 0xfffff))
		e := c.Run(c.Now() + 1e8)
		vector := int(c.PC() - 1 - w.code(handlers))
		switch flags {
		case 1:
			require.That(t, e.Reason == cpus.Halted && c.PC() == next+1, "L is set: %+v at %#x", e, c.PC())
		case 3:
			require.That(t, e.Reason == cpus.Halted && vector == vecGP, "L and D are both set: %+v at %#x", e, c.PC())
		}
	}
}

// TestPointersOfPAE has the table behind CR3 change. CR4 loads it again with a change of PAE, PGE or PSE, and refuses reserved
// bits in it then (SDM vol. 3, 4.4.1).
func TestPointersOfPAE(t *testing.T) {
	for bit := range 10 {
		w, c := startIn(t, isaPAE())
		was, changes := c.cr4, uint64(1)<<bit
		if changes&c.answers.cr4Bits() == 0 || changes == cr4PAE {
			continue
		}
		w.mem.Raw()[c.cr3&^0x1f] |= ptePresent | 1<<1 // which is reserved
		loads := changes&(cr4PGE|cr4PSE) != 0
		ok := c.writeCR4(was ^ changes)
		require.That(t, ok == !loads && (c.cr4 == was) == loads, "bit %d: written %v, CR4 is %#x, was %#x", bit, ok, c.cr4, was)
	}
}

// TestJumpKeepsTheLevel jumps to conforming code by selectors of every RPL, which the level replaces (SDM vol. 3, 5.8.1.2).
func TestJumpKeepsTheLevel(t *testing.T) {
	for rpl := range uint16(4) {
		w, c := startIn(t, ISA32())
		w.mem.Write(c.PC()-w.image, join([]byte{0xea}, le32(uint32(c.PC()+7)), le16(freeSel|rpl), []byte{0xf4})) // ljmp
		w.store(w.at(worldGDT)+freeSel, describe(0x9f, 12, 0, 0xfffff))
		halt(t, c)
		require.That(t, c.seg[segCS].sel == freeSel, "RPL %d: CS is %#x", rpl, c.seg[segCS].sel)
	}
}
