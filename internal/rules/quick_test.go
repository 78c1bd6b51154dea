package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// script runs a script of .ci in a folder, and returns what it printed.
func script(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command("sh", append([]string{filepath.Join(root(t), ".ci", name)}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestQuickFindsImporters makes a repository of four packages and changes a file of one: that one is checked first, then
// the package that imports it and the one whose test does.
func TestQuickFindsImporters(t *testing.T) {
	hosttools.Need(t, "git", "git", "a repository for the quick check")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.24\n", "near/near.go": "package near\n", "near/testdata/deep/x": "1",
		"by/by.go": "package by\n\nimport _ \"m/near\"\n", "test/test.go": "package test\n",
		"test/x_test.go": "package test\n\nimport _ \"m/near\"\n", "far/far.go": "package far\n\nimport _ \"m/by\"\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.Need(t, err == nil, "git %q: %v\n%s", args, err, out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "near/testdata/deep/x"), []byte("2"), 0o644))
	out, err := script(t, dir, "quick", "-n")
	got, want := strings.Fields(out), []string{"m/near", "m/by", "m/test"}
	require.That(t, err == nil && slices.Equal(got, want), "%q, %v; want %q", got, err, want)
}

// TestHookHoldsSubjects commits with subjects of 72 characters and of one more.
func TestHookHoldsSubjects(t *testing.T) {
	for length, sound := range map[int]bool{10: true, 72: true, 73: false} {
		file := filepath.Join(t.TempDir(), "message")
		text := "# a comment\n" + strings.Repeat("x", length) + "\n\n" + strings.Repeat("body ", 40) + "\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		out, err := script(t, ".", "hooks/commit-msg", file)
		require.That(t, (err == nil) == sound, "a subject of %d characters: %v %s", length, err, out)
	}
}

// TestGateIsOneList wants CI to run what make check does and nothing else, and every script of .ci to be part of it.
func TestGateIsOneList(t *testing.T) {
	got := found(`(?m)^make --no-print-directory (.*?) *</dev/null`, read(t, ".ci/run"))
	require.That(t, slices.Equal(got, []string{"check", "clean-tree"}), ".ci/run makes %q", got)
	makefile := read(t, "Makefile")
	_, list, _ := strings.Cut(makefile, "\nGATE      := fmt")
	list, _, _ = strings.Cut(list, "\n")
	require.That(t, strings.Contains(list, " hosts "), "make check does not run hosts")
	_, hosts, _ := strings.Cut(makefile, "\nhosts:")
	hosts, _, _ = strings.Cut(hosts, "\n\n")
	list += strings.ReplaceAll(hosts, "$(MAKE) --no-print-directory ", " ")
	for _, name := range []string{"newcomer", "foreign", "fuzz", "cluster", "notebook"} {
		require.That(t, strings.Contains(list, " "+name+" ") && strings.Contains(makefile, "sh .ci/"+name), "make check does not run .ci/%s", name)
	}
	files, err := os.ReadDir(filepath.Join(root(t), ".ci"))
	require.That(t, err == nil && len(files) == len([]string{"newcomer", "release", "foreign", "fuzz", "run", "quick", "hooks", "cluster", "notebook", "slurm"}), ".ci has %v, %v: make check runs each new script, release by newcomer, slurm by cluster", files, err)
}
