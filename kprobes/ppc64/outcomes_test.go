package ppc64

import (
	"flag"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes/kprobestest"
)

var update = flag.Bool("update", false, "rewrite testdata/outcomes.txt")

// TestOutcomes compares what all rules decide of drawn functions with what they decided before.
func TestOutcomes(t *testing.T) {
	draw := func(r *rand.Rand) (code []byte) {
		for range 1 + r.IntN(6) {
			w := r.Uint32()
			switch r.IntN(4) {
			case 0:
				w = opX<<26 | w&0x3ffffff
				if xos := []uint32{xoLWARX, xoLDARX, xoSTWCX, xoSTDCX, xoMFMSR, xoMTMSR, xoMTMSRD, xoMFSPR, xoMTSPR}; r.IntN(2) == 0 {
					w = w&^0x7fe | xos[r.IntN(len(xos))]<<1
				}
			case 1:
				w = opXL<<26 | w&0x3ffffff
			case 2:
				w = []uint32{trap, opBranch<<26 | w&0xff, opBranch<<26 | w&0x3ffffff, opBranchIf<<26 | w&0x3ffffff, 17<<26 | 2}[r.IntN(5)]
			}
			if r.IntN(3) == 0 {
				w = w&^(31<<16) | 1<<16 // the stack pointer
			}
			code = append(code, bytesOf(w)...)
		}
		return code
	}
	require.Lines(t, "testdata/outcomes.txt", kprobestest.OfArch("ppc64", 6000, Arch(), draw, testTemplate()), *update)
}
