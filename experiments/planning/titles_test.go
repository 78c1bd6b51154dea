package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// TestTitles lists what is said of each experiment and each machine, and reads no file that is not there.
func TestTitles(t *testing.T) {
	l := planning.NewLoader()
	var out strings.Builder
	for _, name := range experiments.Names() {
		fmt.Fprintf(&out, "%s: %s\n", name, require.Must(l.ExperimentTitle(name))(t))
	}
	for _, name := range experiments.Machines() {
		root := require.Must(l.MachineDocument(name))(t)
		m := require.Must(l.ReadMachine(root))(t)
		fmt.Fprintf(&out, "%s (%s): %s\n", name, m.Name, require.Must(l.MachineTitle(name))(t))
		root.Fields = nil
		again := require.Must(l.MachineDocument(name))(t)
		require.That(t, len(again.Fields) > 0 && require.Err(l.ReadMachine(root)) != nil, "%s: a document that was changed is read again", name)
	}
	file := exptest.Write(t, t.TempDir(), "untitled.toml", "name = \"x\"\nkernel = {era = \"2010\"}\n")
	for _, err := range []error{require.Err(l.ExperimentTitle("none")), require.Err(l.MachineTitle("none")), require.Err(l.MachineDocument("none")), require.Err(l.ExperimentTitle(file))} {
		fmt.Fprintln(&out, strings.NewReplacer(file, "FILE", strings.Join(experiments.Names(), ", "), "(experiments)", strings.Join(experiments.Machines(), ", "), "(machines)").Replace(err.Error()))
	}
	exptest.Golden(t, "titles.txt", out.String())
}
