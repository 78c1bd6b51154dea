package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestTraceShowsEveryStep holds the way of a warm hit of every kind and kernel: exceptions, the functions in the order in
// which they are entered, where slots, detours and probed functions are executed, and the phase that each part of the time
// is booked on.
func TestTraceShowsEveryStep(t *testing.T) {
	narrow, later := "overhead-xeon-e5410-i386", "isas-%s-2020"
	points := []pathStage{
		{image: "x86_64-2010", experiment: experiment, point: "rb"},
		{image: "x86_64-2010", experiment: experiment, point: "ro"},
		{image: "i386-2010", experiment: narrow, point: "rb"},
		{image: "i386-2010", experiment: narrow, point: "ro"},
		{image: "x86_64-2005", experiment: "overhead-opteron-246", point: "kr"},
		{image: "i386-2005", experiment: "overhead-pentium-m", point: "kr"},
		{image: "ppc64-2005", experiment: "overhead-power5", point: "kr"},
	}
	for _, isa := range []string{"i386", "x86_64"} {
		for _, point := range []string{"rb", "ro"} {
			points = append(points, pathStage{image: isa + "-2020-untraced", experiment: fmt.Sprintf(later, isa), point: point})
		}
	}
	var out strings.Builder
	seen := map[string]bool{}
	for _, s := range append(pathStages(t), points...) {
		if name := s.image + ", " + s.point; !seen[name] {
			seen[name] = true
			fmt.Fprintf(&out, "%s of %s\n%s", name, s.experiment, way(tracedHit(t, s.experiment, s.point, s.image)))
		}
	}
	holdFile(t, "cmd/kprobesim/testdata/ways.log", out.String())
}

// way writes a line for each phase that a hit passes.
func way(lines []traceLine) string {
	places := []string{"__slots_start", "__detours_start", "bench_target", "work_jcc_first", "kretprobe_trampoline"}
	var out strings.Builder
	for i := range lines {
		l, before := &lines[i], &traceLine{}
		if i > 0 {
			before = &lines[i-1]
		}
		if l.phase != before.phase {
			fmt.Fprintf(&out, "\n\t%s:", l.phase)
		}
		place := slices.Contains(places, l.fn)
		if l.first || l.phase != before.phase || place && l.fn != before.fn {
			fmt.Fprintf(&out, " %s", l.fn)
			if place {
				fmt.Fprintf(&out, "+0x%s", l.off)
			}
		}
		if l.trap != "" {
			fmt.Fprintf(&out, " exception %s", l.trap)
		}
	}
	return strings.TrimPrefix(out.String(), "\n") + "\n"
}

func TestTraceHit(t *testing.T) {
	_, warm, _ := command(nil, "trace", experiment, "--point", "k")
	_, cold, _ := command(nil, "trace", experiment, "--point", "k", "--cold")
	_, third, _ := command(nil, "trace", experiment, "--point", "k", "--hit", "3")
	require.That(t, warm != cold && warm != "" && cold != third && strings.Contains(cold, "icache"), "the cold hit does not differ from the warm one")
	for _, x := range []struct{ warmup, asked, want int64 }{
		{0, 3, 3}, {0, 4, 0}, {0, 0, 2}, {2, 6, 6}, {2, 7, 0}, {2, 0, 3}, {2, -1, 0},
	} {
		pt := &schema.Point{}
		pt.Workload.Warmup, pt.Workload.Hits = x.warmup, 3
		hit, err := traceHit(pt, x.asked, false)
		require.That(t, hit == x.want && (err != nil) == (x.want == 0), "hit %d of 3 behind a warm-up of %d is hit %d: %v", x.asked, x.warmup, hit, err)
	}
}
