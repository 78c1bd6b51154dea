package kinds_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// own writes an experiment that differs from one of the program by some text.
func own(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "own.toml")
	text = "base = \"overhead-xeon-e5410-x86_64\"\nname = \"own\"\n" + text
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	return name
}

// TestWritesSwitchProbes: with all probes switched off after half of the calls, half of the hits remain, and a jump that
// is taken away makes the rest dearer. Every write is told in the notes.
func TestWritesSwitchProbes(t *testing.T) {
	exptest.Alone(t)
	const enabled, jumps = "/sys/kernel/debug/kprobes/enabled", "/proc/sys/debug/kprobes-optimization"
	cost := func(point, text string) (int64, string) {
		pt := exptest.PointOf(t, own(t, text), point, "workload.hits=20")
		m, err := kinds.Measure(pt)
		require.Need(t, err == nil, "%s: %v", point, err)
		return int64(m.Probed.Sub(m.Base).Instructions), strings.Join(m.Notes, "\n")
	}
	write := func(file, value, after string) string {
		return "[[writes]]\nfile = \"" + file + "\"\nvalue = \"" + value + "\"\nafter = " + after + "\n"
	}
	all, _ := cost("k", "")
	none, _ := cost("k", write(enabled, "0", "0"))
	half, notes := cost("k", write(enabled, "0", "10"))
	if d := 2*half - all; none > all/20 || d < -all/20 || d > all/10 {
		t.Errorf("instructions of the probe: %d, switched off %d, in half of the calls %d", all, none, half)
	}
	require.That(t, strings.Contains(notes, "after 10 of the measured calls"), "notes %q", notes)
	jumped, _ := cost("o", "")
	trapped, _ := cost("o", write(jumps, "0", "10"))
	back, _ := cost("o", write(jumps, "0", "10")+write(jumps, "1", "10"))
	require.That(t, trapped >= jumped+jumped/4 && back <= jumped+jumped/10, "instructions of the probe: %d with a jump, %d when it goes, %d when it comes back", jumped, trapped, back)
}

// TestInspectShowsFiles: the files tell of the moment. The wish for a jump shows as the jump does, as in the kernels.
func TestInspectShowsFiles(t *testing.T) {
	pt := exptest.PointOf(t, "overhead-xeon-e5410-x86_64", "o", "workload.hits=20")
	for moment, want := range map[string]string{
		kinds.Before: "kprobes/list\n\n", kinds.Registered: "k  bench_target+0x0    [OPTIMIZED]\n", kinds.Settled: "k  bench_target+0x0    [OPTIMIZED]\n",
		kinds.Measured: "[OPTIMIZED]\n", "a time": "[OPTIMIZED]\n",
	} {
		var b bytes.Buffer
		err := kinds.Inspect(pt, moment, 20_000, &b)
		require.Need(t, err == nil, "%s: %v", moment, err)
		require.That(t, strings.Contains(b.String(), want) && strings.Contains(b.String(), "kprobes-optimization\n  1\n"), "%s: want %q in\n%s", moment, want, b.String())
	}
	behind := func(micros int64) (cycles int64) {
		var b bytes.Buffer
		require.NoError(t, kinds.Inspect(pt, "a time", micros, &b))
		require.NoError(t, require.Err(fmt.Sscanf(b.String(), "kernel x86_64-2010, %d cycles", &cycles)))
		return cycles
	}
	jiffy := 1_000_000 / pt.Kernel.HZ
	first, second := behind(1), behind(jiffy+1)
	late := (second-first)*1_000_000/pt.Machine.CPU.Hz - jiffy
	require.That(t, behind(jiffy) == first && late >= -1 && late <= 1, "the jiffies behind a registration are at %d and %d cycles", first, second)
}

// TestProbeAtALine: debugging information leads from a line of the sources to the instruction.
func TestProbeAtALine(t *testing.T) {
	const text = `name = "lines"
title = "a probe at a line"
machine = "xeon-e5410"
kernel = { image = "x86_64-2010", isa = "x86_64", era = "2010" }
workload = { loop = "bench_loop", target = "work_locked_update", hits = 20, warmup = 5 }
points = [{ name = "k", kind = "kprobe", mode = "step", handler = "empty" }]
`
	name := filepath.Join(t.TempDir(), "lines.toml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	pt := exptest.PointOf(t, name, "k")
	f, _ := pt.Image.Func("work_locked_update")
	file, line, ok := pt.Image.Line(f.Entry + f.Size/2)
	require.Need(t, ok && strings.HasSuffix(file, "work/paths.c"), "%s:%d, %v", file, line, ok)
	want, _ := pt.Image.LineIn("paths.c", line, f.Entry, f.Entry+f.Size)
	pt = exptest.PointOf(t, name, "k", "workload.line=paths.c:"+strconv.Itoa(line))
	require.That(t, pt.Workload.Offset != 0 && f.Entry+pt.Workload.Offset == want, "line %d is at offset %#x, want %#x", line, pt.Workload.Offset, want-f.Entry)
	if _, err := kinds.Measure(pt); err != nil {
		t.Error(err)
	}
	require.Error(t, require.Err(planning.NewLoader().Plan(name, []string{"workload.line=paths.c:1"})), "no code of paths.c:1", "a line without code")
}
