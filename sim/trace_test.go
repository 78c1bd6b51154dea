package sim

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden compares with a file under testdata.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
	}
	want := require.Must(os.ReadFile(name))(t)
	if string(got) != string(want) {
		if err := os.WriteFile(name+".got", got, 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("%s differs; see %s.got, accept with -update", name, name)
	}
}

// traceISA knows as much of x86-64 as observers need.
func traceISA() *cpus.ISA {
	return &cpus.ISA{
		Name: "x86-64",
		Disasm: func(code []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
			x, err := x86asm.Decode(code, 64)
			if err != nil {
				return "(bad)", 1
			}
			return x86asm.GNUSyntax(x, pc, name), x.Len
		},
	}
}

func loadGood(t *testing.T) *image.Image {
	t.Helper()
	im := require.Must(image.Load("good.elf", imagetest.Kernel().Build()))(t)
	return im
}

// steps is a short run with every kind of delay in it.
func steps() []*cpus.Step {
	const cycle = clock.PerCycle
	s := func(pc uint64, code string, start, end clock.Ticks, st cpus.Stalls) *cpus.Step {
		return &cpus.Step{PC: imagetest.Base + pc, Code: []byte(code), Start: start, End: end, Stalls: st}
	}
	list := []*cpus.Step{
		s(0x20, "\x55", 600, 615, cpus.Stalls{}),                                        // push
		s(0x21, "\x8b\x07", 615, 900, cpus.Stalls{DCache: 3 * cycle, DTLB: cycle}),      // a load
		s(0x23, "\x48\x89\x45\xf8", 900, 920, cpus.Stalls{Clear: 20, Split: 5}),         // a store
		s(0x40, "\xe8\xfb\xfe\xff\xff", 920, 1820, cpus.Stalls{Mispredict: 15 * cycle}), // a call
		s(0x180, "\xcc", 1820, 6020, cpus.Stalls{Exception: 70 * cycle}),                // a breakpoint
		s(0x150, "\x48\xcf", 6200, 7000, cpus.Stalls{ICache: 9 * cycle, ITLB: 8 * cycle}),
		s(0x1010, "\x90", 7000, 7060, cpus.Stalls{}),
		s(0x4000, "\x06", 7060, 7060, cpus.Stalls{}),
	}
	list[4].Phase, list[4].Exception = uint8(image.PhaseWorkload), "#BP"
	list[5].Phase = uint8(image.PhaseEntry)
	list[6].Phase = uint8(image.PhaseStep)
	list[7].Context, list[7].Exception = cpus.SingleStep, "#UD"
	return list
}

func TestTracer(t *testing.T) {
	var out strings.Builder
	tr := NewTracer(&out, loadGood(t), traceISA())
	for _, s := range steps() {
		tr.Step(s)
	}
	require.NoError(t, tr.Close())
	checkGolden(t, "trace.golden", []byte(out.String()))
}

// TestTracerLevels has the tracer say when a CPU changes between user mode and the kernel's.
func TestTracerLevels(t *testing.T) {
	var out strings.Builder
	tr := NewTracer(&out, loadGood(t), traceISA())
	for _, s := range []struct {
		cpu  int
		user bool
	}{{0, false}, {1, true}, {1, true}, {0, false}, {1, false}, {1, true}} {
		tr.Step(&cpus.Step{CPU: s.cpu, PC: imagetest.Base + 0x20, Code: []byte("\x55"), User: s.user})
	}
	require.NoError(t, tr.Close())
	var got []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, " mode") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{"# cpu 1 is in user mode", "# cpu 1 is in kernel mode", "# cpu 1 is in user mode"}
	require.That(t, slices.Equal(got, want), "says %q, want %q", got, want)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTracerWriteError(t *testing.T) {
	tr := NewTracer(fullDisk{}, loadGood(t), traceISA())
	for range 100 {
		for _, s := range steps() {
			tr.Step(s)
		}
	}
	require.Error(t, tr.Close(), "disk full", "")
}

func TestTracerEmpty(t *testing.T) {
	var out strings.Builder
	err := NewTracer(&out, loadGood(t), traceISA()).Close()
	require.That(t, err == nil && out.Len() == 0, "%q, %v", out.String(), err)
}

func TestFormatCycles(t *testing.T) {
	for ticks, want := range map[clock.Ticks]string{
		0: "0", 60: "1", 15: "0.25", 75: "1.25", 30: "0.5", 20: "1/3", 140: "2+1/3", 1: "1/60",
		3: "0.05", 57: "0.95", 36: "0.6", 10: "1/6", 12: "0.2", 100: "1+2/3", -75: "-1.25",
		6000000000: "100000000",
	} {
		require.Equal(t, formatCycles(ticks), want, "%d ticks are written", ticks)
	}
}

// TestDelivery checks that the time of an exception's delivery moves to its handler, on every CPU
// by itself.
func TestDelivery(t *testing.T) {
	var d delivery
	for i, c := range []struct {
		step cpus.Step
		want clock.Ticks
	}{
		{cpus.Step{CPU: 1, End: 500, Exception: "#BP", Stalls: cpus.Stalls{Exception: 400}}, 100},
		{cpus.Step{CPU: 0, Start: 10, End: 20}, 10},
		{cpus.Step{CPU: 1, Start: 500, End: 501}, 401},
		{cpus.Step{CPU: 1, Start: 501, End: 502}, 1},
		{cpus.Step{CPU: 0, Start: 20, End: 30, Exception: "#DB", Stalls: cpus.Stalls{Exception: 50}}, 0},
	} {
		got := d.share(&c.step)
		require.That(t, got == c.want, "step %d answers for %d ticks, want %d", i, got, c.want)
	}
	require.Equal(t, d.waiting(), 10, "ticks wait")
}
