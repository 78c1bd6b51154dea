package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"kprobesim/internal/require"
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
