//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kprobesim/internal/require"
)

// TestRun compares two builds, which are scripts here that say what they were called with. One of them takes longer.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KPROBESIM_LINUX", dir)
	script := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755))
		return file
	}
	script("vmlinuz-1-amd64", "")
	kernel := script("vmlinuz-2-amd64", "")
	quick := script("quick", fmt.Sprintf("echo \"$@\" >> %s/said\n", dir))
	slow := script("slow", "sleep 0.3; exec "+quick+" \"$@\"")
	var out, log bytes.Buffer
	for _, x := range [][2]string{{slow, quick}, {quick, slow}} {
		out.Reset()
		require.NoError(t, run([]string{"-old", x[0], "-new", x[1], "-rounds", "1", "-only", "^all"}, &out, &log))
		var wall [2]float64
		_, figures, _ := strings.Cut(out.String(), "| all baselines |")
		require.NoError(t, require.Err(fmt.Sscanf(figures, "%f | %f |", &wall[0], &wall[1])))
		require.That(t, (wall[0] < wall[1]) == (x[1] == slow), "%q took %.1f", x, wall)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "said")))
	out.Reset()
	log.Reset()
	require.NoError(t, run([]string{"-old", slow, "-new", quick, "-rounds", "2", "-only", "^(probes of|all baselines)"}, &out, &log))
	said := string(require.Must(os.ReadFile(filepath.Join(dir, "said")))(t))
	said = regexp.MustCompile(`--out \S+`).ReplaceAllString(said, "--out DIR")
	probes := "run linux-probes --set linux.kernel=" + kernel + " --fresh --out DIR\n"
	want := strings.Repeat(probes, 4) + strings.Repeat("check\n", 4)
	require.That(t, said == want, "called are\n%swant\n%s", said, want)
	rows := regexp.MustCompile(`(?m)^\| (.*) \| (?:0\.[3-9]|[1-9]\d*\.\d) \| \d+\.\d \| \d+\.\d \| \d+\.\d \| (?:\d+\.\d\d|NaN|\+Inf) \| [1-9]\d* \| [1-9]\d* \|$`).FindAllStringSubmatch(out.String(), -1)
	require.That(t, len(rows) == 2 && strings.HasPrefix(rows[0][1], "probes") && strings.HasPrefix(rows[1][1], "all"), "the table is\n%swith the log\n%s", out.String(), log.String())
	said = ""
	for _, name := range []string{"probes of a packaged kernel", "all baselines"} {
		for i := range 4 {
			said += fmt.Sprintf("%s, %d of 4\n", name, i+1)
		}
	}
	require.Equal(t, log.String(), said, "the log")
	fails := script("fails", "echo one; seq 1000; exit 3")
	err := run([]string{"-old", fails, "-new", quick, "-only", "all"}, &out, &log)
	require.Error(t, err, "all baselines: "+fails+" check: exit status 3", "a build that fails")
	text := err.Error()
	_, tail, _ := strings.Cut(text, "exit status 3\n")
	require.That(t, len(tail) == 500 && strings.HasSuffix(text, "\n1000\n"), "of a long text it says %q", text)
	for _, args := range [][]string{{"-old", quick}, {"-new", quick}, {"-old", quick, "-new", quick, "-only", "("}, {"-x"}} {
		require.Error(t, run(args, &out, &log), "", "%q", args)
	}
}

// TestNewestKernel finds the last kernel of x86-64 in a folder, and says what there is not.
func TestNewestKernel(t *testing.T) {
	dir := t.TempDir()
	require.Error(t, require.Err(newestKernel("")), "KPROBESIM_LINUX names no folder", "no folder")
	require.Error(t, require.Err(newestKernel(dir)), dir+" has no vmlinuz*amd64", "an empty folder")
	for _, name := range []string{"vmlinuz-6-amd64", "vmlinuz-5-amd64", "vmlinuz-7-686", "none-amd64"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		if name == "vmlinuz-6-amd64" {
			require.Equal(t, require.Must(newestKernel(dir))(t), filepath.Join(dir, name), "one kernel")
		}
	}
	require.Equal(t, require.Must(newestKernel(dir))(t), filepath.Join(dir, "vmlinuz-6-amd64"), "one of two kernels")
}

func TestLeast(t *testing.T) {
	a, b := cost{3 * time.Second, time.Second, 0}, cost{2 * time.Second, 4 * time.Second, 7}
	got, want := a.least(b), (cost{2 * time.Second, time.Second, 7})
	require.That(t, got == want && (cost{}).least(a) == a, "%v, want %v", got, want)
}

func TestRow(t *testing.T) {
	got := row("a", cost{1500 * time.Millisecond, 2 * time.Second, 3 << 10}, cost{1260 * time.Millisecond, time.Second, 2<<10 - 1})
	require.Equal(t, got, "| a | 1.5 | 1.3 | 2.0 | 1.0 | 0.50 | 3 | 1 |\n", "the row")
}

// TestCommand prints a table of no rows as the command does.
func TestCommand(t *testing.T) {
	was, args := os.Stdout, os.Args
	defer func() { os.Stdout, os.Args = was, args }()
	os.Stdout = require.Must(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	os.Args = []string{"waits", "-old", "a", "-new", "b", "-only", "^$"}
	main()
	t.Setenv("KPROBESIM_LINUX", "")
	var out, log bytes.Buffer
	require.NoError(t, run(os.Args[1:], &out, &log))
	require.Equal(t, log.String(), "without packaged kernels: KPROBESIM_LINUX names no folder\n", "the log without kernels")
	require.NoError(t, os.Stdout.Close())
	b := require.Must(os.ReadFile(os.Stdout.Name()))(t)
	require.That(t, bytes.HasPrefix(b, []byte("| | wall, old |")) && bytes.Count(b, []byte("\n")) == 2, "the table is %q", b)
}
