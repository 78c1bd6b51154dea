package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestInherited has machines execute one after the other. Each decodes what none before has had the bytes of, and executes
// its own.
func TestInherited(t *testing.T) {
	cfg, d := toyConfig(cpus.Window, 64), new(cpus.Decoded)
	add := func(n byte) []byte { return []byte{toyAdd, 1, 1, n} }
	for i, x := range []struct {
		n       byte // added by the second granule's instruction
		decoded int
	}{{5, 2 * granule / 4}, {5, 0}, {7, granule / 4}, {5, 0}, {7, 0}} {
		m := mmu.NewMemory(1 << 20)
		c := toyBeside(m, cfg, 0, nil, mmu.NewDirectory(2))
		c.versions.inherit(d)
		for at := uint64(0); at < 2*granule; at += 4 {
			m.Write(0x1000+at, add(0))
		}
		m.Write(0x1000+granule, add(x.n))
		c.R[PC] = 0x1000
		n, _ := c.Steps(2*granule/4, 1000*clock.PerCycle)
		require.That(t, n == 2*granule/4 && c.R[1] == uint64(x.n), "machine %d: %d instructions, sum %d", i, n, c.R[1])
		require.That(t, c.decoded == x.decoded, "machine %d has decoded %d instructions, want %d", i, c.decoded, x.decoded)
	}
}
