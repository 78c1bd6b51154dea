package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestReplicateAlone runs, traces and draws the second of two replicates alone: it is the same as among others.
func TestReplicateAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := command(nil, append(args, "--set", "workload.hits=20")...)
		require.Need(t, code == exitOK, "%v: exit code %d\n%s", args, code, stderr)
		return stdout
	}
	file := func(path ...string) []byte {
		t.Helper()
		b := require.Must(os.ReadFile(filepath.Join(append([]string{dir}, path...)...)))(t)
		return b
	}
	const name = "overhead-pentium-m"
	must("run", name, "--out", filepath.Join(dir, "both"), "--set", "replicates=2")
	must("run", name, "--out", filepath.Join(dir, "alone"), "--replicate", "1")
	all := string(file("both", name+"+replicates=2+workload.hits=20", "results.csv"))
	rows := 0
	for _, row := range strings.Split(string(file("alone", name+"+workload.hits=20+replicate=1", "results.csv")), "\n") {
		fields := strings.Split(row, ",")
		if len(fields) < 8 || strings.HasPrefix(row, "experiment,") || strings.HasPrefix(row, "#") {
			continue
		}
		row = strings.Join(fields[:len(fields)-1], ",") // overrides differ, and stand last
		if rows++; !strings.Contains(all, row) {
			t.Errorf("the second replicate alone gives %s, which it does not among two", row)
		}
	}
	require.That(t, rows >= 10, "%d rows of the replicate alone", rows)
	if among, alone := must("trace", name, "--set", "replicates=2", "--point", "j/replicate=1"), must("trace", name, "--replicate", "1", "--point", "j"); among != alone {
		t.Error("the trace of a replicate alone differs from that among others")
	}
	drawn := func(out string, args ...string) []byte {
		must(append([]string{"timeline", name, "--out", filepath.Join(dir, out)}, args...)...)
		return file(out)
	}
	among, alone := drawn("among", "--set", "replicates=2", "--point", "j/replicate=1"), drawn("alone.trace", "--replicate", "1", "--point", "j")
	require.That(t, bytes.Equal(among, alone), "the timeline of a replicate alone differs from that among others")
}
