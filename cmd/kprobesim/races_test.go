package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/internal/require"
	"kprobesim/races"
)

// TestMutantsAsJSON reads what --mutants prints for other programs.
func TestMutantsAsJSON(t *testing.T) {
	var out, said bytes.Buffer
	code := run([]string{"races", "users", "--mutants", "--schedules", "300", "--format", "json"}, &out, &said)
	var all []map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &all))
	require.Need(t, code == exitOK && len(all) == 2, "exit %d, %d mutants, %s", code, len(all), &said)
	for _, m := range all {
		n, _ := m["schedules"].(float64)
		require.That(t, m["mutant"] != "" && m["class"] != "" && m["effect"] != "" && m["caught_by"] != "" && n > 0 && len(m) == 5, "%v", m)
	}
}

// TestTimelineOfAViolation writes the file, also where the schedule goes wrong.
func TestTimelineOfAViolation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "violation.perfetto-trace")
	var out, said bytes.Buffer
	code := run([]string{
		"races", "optimize", "--variant", "breakpoint", "--mutant", "bp-skip-sync-2", "--replay", "3", "--lines", "1", "--timeline", file,
	}, &out, &said)
	b := require.Must(os.ReadFile(file))(t)
	require.That(t, code == exitFailed && bytes.Contains(b, []byte("unsynced at step")), "exit %d, %d bytes, %s", code, len(b), &said)
}

// TestRacesRefuseWhatDoesNotGoTogether wants the options that are for one way of searching to be refused elsewhere.
func TestRacesRefuseWhatDoesNotGoTogether(t *testing.T) {
	for want, args := range map[string][]string{
		`--format "json": it is text, or with --mutants or --coverage json`: {"--format", "json"},
		`--format "xml": it is text, or with --mutants or --coverage json`:  {"--mutants", "--format", "xml"},
		"--timeline shows one schedule":                                     {"--timeline", filepath.Join(t.TempDir(), "t")},
	} {
		var out, said bytes.Buffer
		code := run(append([]string{"races", "users"}, args...), &out, &said)
		require.That(t, code == exitUsage && bytes.Contains(said.Bytes(), []byte(want)), "%v: exit %d, %s", args, code, &said)
	}
}

// TestRowsOfRaces names all scenarios that there are not, and has the variants of the others, or the one that is named.
func TestRowsOfRaces(t *testing.T) {
	all, err := (&racesFlags{}).rows([]string{"none", "users", "nothing", "optimize"})
	require.Error(t, err, "none", "the first name")
	require.Error(t, err, "nothing", "the third name")
	of := map[string]int{}
	for _, r := range all {
		require.That(t, r.Variant == &r.Scenario.Variants[of[r.Scenario.Name]], "%s is not in the order of its variants", r.Scenario.Name)
		of[r.Scenario.Name]++
	}
	require.That(t, len(of) == 2 && of["users"] > 0 && of["optimize"] == len(all[len(all)-1].Scenario.Variants), "%v", of)
	one, err := (&racesFlags{variant: "breakpoint"}).rows([]string{"optimize"})
	require.That(t, err == nil && len(one) == 1 && one[0].Variant.Name == "breakpoint", "%d rows, %v", len(one), err)
	require.Error(t, require.Err((&racesFlags{variant: "none"}).rows([]string{"none", "optimize"})), "none", "a variant")
}

// TestMinimizingTells says every 5 seconds how far a violation is minimized.
func TestMinimizingTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		tell := newApp(&said, &said).minimizing(&races.Row{Scenario: &races.Scenario{Name: "users"}, Variant: &races.Variant{Name: "all"}})
		for i := range 12 {
			tell(12-i, i)
			time.Sleep(1100 * time.Millisecond)
		}
		require.Equal(t, said.String(), "users/all: minimizing, 7 schedules left, 5 choices\nusers/all: minimizing, 2 schedules left, 10 choices\n", "what is said")
	})
}

// TestScriptsOfAShard lists the file of each scenario once, however many variants are searched.
func TestScriptsOfAShard(t *testing.T) {
	a, b := &races.Scenario{Name: "a", Text: "x"}, &races.Scenario{Name: "b", Text: "y"}
	var names []string
	for _, in := range scripts([]races.Row{{Scenario: a}, {Scenario: a}, {Scenario: b}}) {
		names = append(names, in.Kind+" "+in.Name)
	}
	require.Equal(t, fmt.Sprint(names), "[scenario a scenario b]", "files")
}
