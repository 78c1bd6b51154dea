package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results/outdir"
)

// baselines writes the baselines of an experiment whose hits cost 1000 cycles.
func baselines(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, stderr := command(fake(1000), "check", experiment, "--baselines", dir, "--update"); code != exitOK {
		t.Fatalf("check --update: exit code %d\n%s", code, stderr)
	}
	return dir
}

// read returns the text of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	b := require.Must(os.ReadFile(file))(t)
	return string(b)
}

// TestBaselines holds the committed results, where mutants are asked (internal/mutation). Else make baselines does.
func TestBaselines(t *testing.T) {
	if os.Getenv("KPROBESIM_BASELINES") == "" {
		t.Skip("on demand: make baselines holds the committed results; KPROBESIM_BASELINES has this test do so")
	}
	code, _, stderr := command(nil, "check", "--baselines", filepath.Join("..", "..", "results", "baselines"))
	require.That(t, code == exitOK, "exit code %d\n%s", code, stderr)
}

// Directories of two builds are told apart when their records differ.
func TestDiffNamesPrograms(t *testing.T) {
	out := t.TempDir()
	var dirs []string
	for i, revision := range []string{"abc", "def"} {
		dir := filepath.Join(out, revision)
		m := &outdir.Manifest{Program: outdir.Program{Revision: revision}}
		manifest := require.Must(m.JSON())(t)
		if code, _, stderr := command(fake(int64(1000+i)), "run", experiment, "--out", dir); code != exitOK {
			t.Fatal(stderr)
		}
		files := map[string][]byte{outdir.ManifestName: manifest}
		for _, name := range []string{"results.csv", "inputs.txt"} {
			files[name] = []byte(read(t, filepath.Join(dir, experiment, name)))
		}
		dirs = append(dirs, filepath.Join(out, "of-"+revision))
		require.NoError(t, outdir.WriteDir(dirs[i], files))
	}
	code, stdout, stderr := command(nil, "diff", dirs[0], dirs[1])
	require.That(t, code == exitRegression && strings.Contains(stdout, "differs: program: revision abc -> revision def\n"), "exit code %d\n%s%s", code, stdout, stderr)
}

// TestWorkflow holds that the workflow's commands are ones of this program with options that exist, and runs them on one
// experiment. What the actions of others do cannot be tried here.
func TestWorkflow(t *testing.T) {
	b := require.Must(os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "figures.yml")))(t)
	runs := regexp.MustCompile(`(?m)^ +run: go run \./cmd/kprobesim (.*)$`).FindAllStringSubmatch(string(b), -1)
	require.Need(t, len(runs) == 2, "%d commands, want 2", len(runs))
	dir := baselines(t)
	for _, r := range runs {
		args, _, _ := strings.Cut(r[1], " >>")
		fields := strings.Fields(strings.Replace(args, " overhead-published", "", 1))
		fields = append(fields, experiment, "--baselines", dir)
		code, stdout, stderr := command(fake(1001), fields...)
		require.That(t, code == exitRegression && (strings.Contains(stdout, "1000 -> 1001") || strings.Contains(stdout, "| 1000 | 1001 |")), "%v: exit code %d\n%.300s%s", fields, code, stdout, stderr)
	}
}

// TestCheckLeavesPackagedKernelsOut has check without names take every experiment but the ones of kernels that are not part
// of the program, and say so in a line each.
func TestCheckLeavesPackagedKernelsOut(t *testing.T) {
	var out, said bytes.Buffer
	names := (&checker{app: newApp(&out, &said)}).withBaselines()
	require.That(t, !slices.Contains(names, "linux-probes") && slices.Contains(names, "overhead-published") && len(names) >= 60, "checked are %q", names)
	for _, name := range []string{"linux-probes", "linux-probes-i386", "linux-probes-arm", "linux-attach-arm", "linux-attach-arm-jit"} {
		require.That(t, strings.Contains(said.String(), "left out: "+name+","), "nothing is said of %s: %q", name, said.String())
	}
}
