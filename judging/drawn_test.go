package judging

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestDrawn holds what a host executes: the loops of two machines by the sums of their programs and memory, and the loops by which it is
// seen how fast a host is and whether it is busy.
func TestDrawn(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{"epyc-7713", "opteron-246"} {
		for _, c := range Cases(machine(t, name), 1) {
			of := fmt.Appendf(nil, "%x %x %x %v %v", c.loop.Native(), c.loop.Simulated(), c.pages, c.chains, c.rounds)
			fmt.Fprintf(&out, "%s, %s: %s, %.4x\n", name, c.Kind, c.Text, sha256.Sum256(of))
		}
	}
	block := []byte{0x48, 0x01, 0xd8}
	for _, copies := range []int{2, long, copiesOf(1), copiesOf(20)} {
		n := times(hostLoops, copies)
		fmt.Fprintf(&out, "%d copies %d times: %.4x, simulated %.4x\n", copies, n, sha256.Sum256(program(block, copies, n, true)), sha256.Sum256(program(block, copies, n, false)))
	}
	fmt.Fprintf(&out, "crowded: %.4x\n", sha256.Sum256(crowded()))
	require.Lines(t, filepath.Join("testdata", "drawn.txt"), out.String(), *update)
}
