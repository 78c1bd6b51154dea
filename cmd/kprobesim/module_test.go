package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// The commands of README that try a module do so, as they are written.
func TestModuleOfReadme(t *testing.T) {
	hosttools.Need(t, "gcc", "gcc", "the module of README.md")
	if runtime.GOARCH != "amd64" {
		hosttools.Unable(t, "the module of README.md", "it is compiled by the gcc of an x86-64 host")
	}
	text := require.Must(os.ReadFile("../../README.md"))(t)
	_, rest, _ := strings.Cut(string(text), "(docs/modules.md)).\n\n```\n")
	lines, _, found := strings.Cut(rest, "\n```")
	require.Need(t, found, "README.md has no block of commands behind its link to docs/modules.md")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "workloads", "modules"), os.DirFS("../../workloads/modules")))
	t.Chdir(dir)
	var said string
	for line := range strings.Lines(lines) {
		for part := range strings.SplitSeq(line, "&&") {
			said = typed(t, strings.Fields(part))
		}
	}
	require.That(t, strings.Contains(said, "kernel_clone  "), "%s\nshows no cost of the probe at kernel_clone", said)
}

// typed runs a command as a shell does: this program, or another one.
func typed(t *testing.T, words []string) string {
	t.Helper()
	own := []string{"go", "run", "./cmd/kprobesim"}
	if len(words) > len(own) && slices.Equal(words[:len(own)], own) {
		code, stdout, stderr := command(nil, words[len(own):]...)
		require.Need(t, code == exitOK, "%s: exit code %d\n%s%s", words, code, stdout, stderr)
		return stdout
	}
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	require.Need(t, err == nil, "%s: %v\n%s", words, err, out)
	return string(out)
}

// Modules as others write them run on kernels of every instruction set: one that finds callers in a table, one whose probes
// are in memory that it has allocated, one with a probe at what a timer calls back, and one whose timer looks how many
// calls there were. All count every call.
func TestModulesOfOthers(t *testing.T) {
	alone(t)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	for _, k := range []struct{ image, cc, debian string }{
		{"x86_64-2010", "gcc", "gcc"},
		{"x86_64-2020", "gcc", "gcc"},
		{"i386-2010", "gcc", "gcc-multilib"},
		{"i386-2020", "gcc", "gcc-multilib"},
		{"ppc64-2017", "powerpc64-linux-gnu-gcc", "gcc-powerpc64-linux-gnu"},
		{"arm-2014", "arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi"},
	} {
		t.Run(k.image, func(t *testing.T) {
			hosttools.Need(t, k.cc, k.debian, "compiling modules")
			for name, says := range map[string][]string{
				"counts.c":  {"first hit at work_checksum, stack 1", "85 calls, 85 of them by argument, the last by init", "work_checksum  "},
				"latency.c": {"a call fails", "170 calls", "work_checksum  ", "work_divide  "},
				"ticker.c":  {"4 beats, the last after 1000", ", 0 early", "1 cancelled, then 0", "4 hits, 4 of them in interrupts"},
				"poll.c":    {"pending 0, then 1; ended 1, then 0", "started 0, moved 1", "1 ended, 0 early, 0 late, at most "},
			} {
				args := []string{"module", "run", "../../workloads/modules/" + name, "--image", k.image, "--hits", "20"}
				if name == "latency.c" {
					args = append(args, "--param", "every=10")
				}
				code, stdout, stderr := command(nil, args...)
				for _, want := range says {
					require.That(t, code == exitOK && strings.Contains(stdout, want), "%s: exit code %d, want %q\n%s%s", name, code, want, stdout, stderr)
				}
			}
		})
	}
	require.That(t, len(require.Must(os.ReadDir(scratch))(t)) == 0, "the commands leave temporary files behind")
}

// TestMissedIsMarked has hits and returns missed, or none: figures have a mark then, and a line says what was missed.
func TestMissedIsMarked(t *testing.T) {
	p := bare("", "", 1)
	p.Machine.CPU.Hz = 2_000_000_000
	for n := range 9 {
		row := kinds.TriedRow{Counts: kinds.Counts{Calls: 3, Hits: 3, Missed: int64(n % 3), Returns: int64(n / 3)}}
		var out bytes.Buffer
		newApp(&out, &out).printMissed([]kinds.TriedRow{row})
		cells, mark := figuresOfRow(p, 300*clock.PerCycle, 3, row.Counts), ""
		if n > 0 {
			mark = results.MissedMark
		}
		require.That(t, slices.Equal(cells, []string{"100.0" + mark, "50.0" + mark}) && (out.Len() > 0) == (n > 0) && (row.Counts.AllHandled() != nil) == (n > 0), "%+v: %q, %s", row.Counts, cells, &out)
	}
}
