package gdb

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

// TestOutcomes holds the replies to random packets on each instruction set, forward and backward.
func TestOutcomes(t *testing.T) {
	images := []string{"arm-2010", "i386-2010", "ppc64-2010", "x86_64-2010"}
	if !*update {
		images = hosttools.Share(t, "instruction sets", 2, images)
	}
	var out strings.Builder
	for _, image := range images {
		run, fn, _ := bench(t, image)
		s, rng, sums := sessionOf(t, run), rand.New(rand.NewPCG(4, 5)), map[string]string{}
		near := func() uint64 { return fn.Entry + uint64(rng.IntN(int(fn.Size))&^3) }
		stack := func() uint64 { return s.player.inst.m.CPU(0).SP() - 32 + uint64(rng.IntN(64)) }
		packets := []func() string{
			func() string { return "g" },
			func() string { return fmt.Sprintf("p%x", rng.IntN(44)) },
			func() string { return fmt.Sprintf("m%x,%x", near()-4, rng.IntN(40)) },
			func() string { return fmt.Sprintf("m%x,%x", stack(), rng.IntN(40)) },
			func() string { return fmt.Sprintf("Z%d,%x,%d", rng.IntN(2), near(), 4) },
			func() string { return fmt.Sprintf("z%d,%x,%d", rng.IntN(2), near(), 4) },
			func() string { return fmt.Sprintf("Z%d,%x,%d", 2+rng.IntN(3), stack()&^3, 1<<rng.IntN(4)) },
			func() string { return fmt.Sprintf("z%d,%x,%d", 2+rng.IntN(3), stack()&^3, 1<<rng.IntN(4)) },
			func() string { return fmt.Sprintf("Hg%d", rng.IntN(4)) },
			func() string { return fmt.Sprintf("T%d", rng.IntN(4)) },
			func() string { return "qC" },
			func() string { return "?" },
			func() string {
				return fmt.Sprintf("qXfer:features:read:target.xml:%x,%x", rng.IntN(4000), rng.IntN(300))
			},
			func() string {
				return "qRcmd," + hex.EncodeToString([]byte([]string{"cycles", "caches", "phases", "probes", "help", "other"}[rng.IntN(6)]))
			},
			func() string { return "c" },
			func() string { return fmt.Sprintf("vCont;s:%d;c", 1+rng.IntN(2)) },
			func() string { return "bs" },
			func() string { return "bc" },
		}
		s.ask(fmt.Sprintf("Z0,%x,4", fn.Entry))
		for range 500 {
			packet := packets[rng.IntN(len(packets))]()
			what := packet[:1]
			if what == "b" {
				what = packet
			}
			sums[what] = fmt.Sprintf("%.6x", sha256.Sum256([]byte(sums[what]+packet+"="+s.ask(packet))))
		}
		for what, sum := range sums {
			fmt.Fprintf(&out, "%s %s %s\n", image, what, sum)
		}
	}
	const file = "testdata/outcomes.txt"
	lines := strings.Join(slices.Sorted(strings.Lines(out.String())), "")
	if *update {
		require.Lines(t, file, lines, true)
	}
	require.Among(t, file, lines)
}
