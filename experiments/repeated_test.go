package experiments_test

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestRepeatedLikePlain clears and copies memory that the first level has not, 4 KiB by a repeated instruction, and by a plain loop. The lines
// come one behind the other either way, so the times are of one order: only the plain loop has several lines asked for at once.
func TestRepeatedLikePlain(t *testing.T) {
	loops := fromFile[struct {
		Name            string
		Repeated, Plain loopCode
	}]("repeated.json")
	for _, name := range hosttools.Share(t, "machines with prefetchers", 3, []string{"xeon-gold-6330", "epyc-9654", "xeon-e5-2630-v3"}) {
		m := loopMachine(t, name)
		m.CPU.Model = cpus.Window
		for _, l := range loops {
			repeated, plain := codeCycles(t, m, l.Repeated, 1), codeCycles(t, m, l.Plain, 512)
			require.That(t, plain/2 < repeated && repeated < 3*plain, "%s, %s: 4 KiB take %.0f cycles, and %.0f by a plain loop", name, l.Name, repeated, plain)
		}
	}
}
