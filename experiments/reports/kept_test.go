package reports_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/outdir"
)

// talking measures as toys do. Its guests print, have notes that are alike, and CPUs with accounts; of the points that ends names one is
// interrupted, and another one fails.
func talking(ends map[string]error) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		m, err := exptest.ToyMeasure(p)
		m.Console = "a guest of " + p.Probe.Name + "\n"
		m.Notes = []string{"a note of all", "a note of " + p.Probe.Name}
		for cpu := range clock.Ticks(2) {
			var a kinds.Accounts
			for i := range a {
				a[i] = clock.Ticks(i+1) * (cpu + 1) * 6000
			}
			m.Accounts = append(m.Accounts, a)
		}
		if ended, ok := ends[p.Name]; ok {
			return nil, ended
		}
		return m, err
	}
}

// TestKept writes the results of toys and reads them again: what a run says, what is read of its directory, its table, its figures, and
// two of them side by side. The golden file has all of it.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	var all []*reports.Kept
	for _, c := range []struct {
		name, file string
		sets       []string
		ends       map[string]error
	}{
		{name: "one", file: "toy.toml"},
		{name: "two", file: "toy.toml", sets: []string{"machine.event.trap.cycles=200"}},
		{name: "many", file: "toy.toml", sets: []string{"sweep={workload.hits=[10, 20]}", "replicates=2"}},
		{name: "both", file: "both.toml"},
		{name: "slow", file: "slow.toml", ends: map[string]error{"b": running.ErrInterrupted}},
		{name: "bad", file: "toy.toml", ends: map[string]error{"k": os.ErrInvalid, "b": fmt.Errorf("at its end: %w", running.ErrInterrupted)}},
	} {
		plan := require.Must(exptest.ToyLoader().Plan(filepath.Join(filepath.Dir(exptest.CollectionFiles(t)), c.file), c.sets))(t)
		r := reports.Collect(plan).Report((&running.Runner{Measure: talking(c.ends), Workers: 1}).Run(plan))
		r.Parquet = c.name == "one"
		fmt.Fprintf(&out, "## %s\nerror %v, console %v\n%s", c.name, r.Err(), r.HasConsole(), r.Accounts().Text())
		for _, table := range r.Tables() {
			out.WriteString(table.Text())
		}
		at := filepath.Join(dir, c.name)
		require.NoError(t, r.Write(at))
		k := require.Must(reports.Load(at + "/"))(t)
		require.Equal(t, k.Dir, at, "the directory")
		fmt.Fprintf(&out, "kept: %v of %v, %v\n%s", k.Experiments(), k.Machines(), slices.Sorted(maps.Keys(k.Files)), k.Table().Text())
		all = append(all, k)
		if len(c.sets) > 0 || c.ends != nil {
			continue
		}
		pictures := require.Must(k.Pictures())(t)
		maps.DeleteFunc(k.Files, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".svg") })
		again := require.Must(k.Pictures())(t)
		fmt.Fprintf(&out, "pictures %v, of records alone %v\n", slices.Sorted(maps.Keys(pictures)), slices.Sorted(maps.Keys(again)))
		for name, svg := range pictures {
			require.Equal(t, string(again[name]), string(svg), "%s: the figure %s of records alone", c.name, name)
		}
	}
	out.WriteString("## beside\n" + reports.Beside([]*reports.Kept{all[0], all[1], all[4]}).Text())
	renamed := *all[1]
	renamed.Means = renamed.Means.Only(func(p results.Point) bool { return false })
	require.That(t, reports.Beside([]*reports.Kept{all[0], &renamed}) == nil, "directories without a point in common stand side by side")
	exptest.Golden(t, "kept.txt", out.String())
}

// TestChangedDirectories changes each file of a results directory, and takes it away. The golden file has who refuses it.
func TestChangedDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	plan := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	require.NoError(t, reports.Collect(plan).Report((&running.Runner{Measure: talking(nil)}).Run(plan)).Write(dir))
	var out strings.Builder
	said := func(err error) string {
		if err == nil {
			return "taken"
		}
		return strings.ReplaceAll(err.Error(), dir, "DIR")
	}
	names := append(slices.Sorted(maps.Keys(require.Must(reports.Load(dir))(t).Files)), outdir.SumsName)
	for _, name := range names {
		file := filepath.Join(dir, name)
		text := read(t, file)
		for _, what := range []string{"changed", "gone"} {
			if what == "changed" {
				require.NoError(t, os.WriteFile(file, []byte(text+" "), 0o644))
			} else {
				require.NoError(t, os.Remove(file))
			}
			_, all := reports.Load(dir)
			_, some := reports.Unchanged(dir)
			fmt.Fprintf(&out, "%s %s: %s; records alone: %s\n", name, what, said(all), said(some))
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	_, err := reports.Load(dir + "/none")
	fmt.Fprintf(&out, "none: %s\n", said(err))
	exptest.Golden(t, "changed.txt", out.String())
}
