package reports_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestOwnFilesFromAnyPath runs an experiment, a machine and an image that are no part of the
// program.
func TestOwnFilesFromAnyPath(t *testing.T) {
	dir := t.TempDir()
	image := require.Must(workloads.Open("x86_64-2010"))(t)
	exptest.Write(t, dir, "my.elf", string(image))
	_, machine, err := experiments.Read("machines", "machine", "xeon-e5410", "")
	require.NoError(t, err)
	exptest.Write(t, dir, "my.toml", strings.Replace(string(machine), `name = "xeon-e5410"`, `name = "mine"`, 1))
	_, text, err := experiments.Read(".", "experiment", exptest.E5410, "")
	require.NoError(t, err)
	r := strings.NewReplacer(`machine = "xeon-e5410"`, `machine = "./my.toml"`, `image = "x86_64-2010"`, `image = "./my.elf"`)
	file := exptest.Write(t, dir, "experiment.toml", r.Replace(string(text)))
	p := require.Must(planning.NewLoader().Plan(file, []string{"workload.hits=10"}))(t)
	require.That(t, p.Points[0].Machine.Name == "mine" && p.Points[0].Image.Name == filepath.Join(dir, "my.elf"), "machine %s, image %s", p.Points[0].Machine.Name, p.Points[0].Image.Name)
	report := reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure}).Run(p))
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}
