package machines_test

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/doc"
	"kprobesim/internal/require"
	"kprobesim/machines"
)

// TestUnknownKeys writes a key that nobody knows into every table, and wants each of them to be named.
func TestUnknownKeys(t *testing.T) {
	for _, name := range []string{"testdata/rare", "power5-1656", "tc2-cortex-a15"} {
		root := document(t, name)
		paths := tables(root, nil)
		for _, path := range paths {
			change(t, root, append(path, "nonsense"), "1")
		}
		var errs doc.Errors
		machines.Read(root, instructionSets(), &errs)
		said := fmt.Sprint(errs.Err())
		for _, path := range paths {
			key := strings.Join(append(path, "nonsense"), ".")
			require.That(t, strings.Contains(said, key), "%s: nothing is said of %s", name, key)
		}
	}
}

// tables returns the paths of all tables, the whole document among them, but for the list of sources.
func tables(n *doc.Node, above []string) [][]string {
	all := [][]string{above}
	for _, f := range n.Fields {
		if f.Value.Kind == doc.Table && f.Key != "sources" {
			all = append(all, tables(f.Value, append(above[:len(above):len(above)], f.Key))...)
		}
	}
	return all
}

// TestTimerOfAnISA refuses another rate than that of the instruction set's timer, and says which.
func TestTimerOfAnISA(t *testing.T) {
	for name, want := range map[string]string{
		"testdata/rare":  "",
		"power5-1656":    `counts once in 8 cycles of the core: write "207000000 Hz"`,
		"tc2-cortex-a15": "counts 24000000 Hz on every machine",
	} {
		root := document(t, name)
		change(t, root, []string{"clock", "timer"}, `"2 MHz"`)
		var errs doc.Errors
		machines.Read(root, instructionSets(), &errs)
		said := fmt.Sprint(errs.Err())
		require.That(t, strings.Contains(said, "clock.timer: the timer of") == (want != "") && strings.Contains(said, want), "%s: %s", name, said)
	}
}
