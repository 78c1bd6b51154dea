package arm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestRegisters holds who may read and write each register of the coprocessors, what that costs, and what it has at first and when all
// ones were written.
func TestRegisters(t *testing.T) {
	var lines []string
	for name, table := range map[string]map[coprocKey]coproc{"15": coprocs, "14": debugs} {
		w := newWorld(t, cpus.Throughput, nil)
		for k, r := range table {
			w.n = 0
			c := w.cpu()
			line := fmt.Sprintf("p%s %v:", name, k)
			if r.get != nil {
				line += fmt.Sprintf(" read %s %#x", ISA().Classes[r.class[0]], r.get(c))
			}
			if r.set != nil {
				line += " written " + ISA().Classes[r.class[1]]
				r.set(c, ^uint32(0))
			}
			if r.set != nil && r.get != nil {
				line += fmt.Sprintf(" %#x", r.get(c))
			}
			if r.user != nil {
				line += fmt.Sprintf(" user %v %v", r.user(c, false), r.user(c, true))
			}
			lines = append(lines, line+"\n")
		}
	}
	slices.Sort(lines)
	require.Lines(t, filepath.Join("testdata", "registers.txt"), strings.Join(lines, ""), *update)
}

// TestReturnsArePredicted calls a function from two places by turns: each way of calling tells the predictor where the function returns to.
func TestReturnsArePredicted(t *testing.T) {
	for name, calls := range map[string][2]uint32{
		"bl":    {0xeb000004, 0xeb000003},
		"blne":  {0x1b000004, 0x1b000003},
		"blx":   {0xe12fff35, 0xe12fff35},
		"blxne": {0x112fff35, 0x112fff35},
	} {
		w := newWorld(t, cpus.Throughput, []uint32{
			0xe3e04000, // mvn r4, #0
			0xe2544001, // subs r4, r4, #1
			calls[0],
			calls[1],
			0x1afffffb, // bne to subs
			0xeafffffe, // b here
			0xeafffffe,
			0xeafffffe,
			0xe12fff1e, // bx lr
		})
		c := w.cpu()
		c.R[5] = testCode + 4*8
		c.Steps(400, 1<<60)
		before := c.Counters().Mispredicts
		c.Steps(400, 1<<60)
		require.That(t, c.Counters().Mispredicts == before && c.PC() < testCode+4*9, "%s: %d wrong predictions in 400 instructions, at %#x", name, c.Counters().Mispredicts-before, c.PC())
	}
}
