package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

const (
	experiment = "overhead-xeon-e5410-x86_64"
	collection = "overhead-published"
)

// fake measures without simulating: every hit costs cost cycles, all of them dispatch.
func fake(cost int64) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		n := p.Workload.Hits
		phases := make([]clock.Ticks, len(kinds.Phases()))
		base := kinds.Sample{Time: clock.FromCycles(10 * n), Instructions: 5 * n, Phases: append([]clock.Ticks(nil), phases...)}
		phases[1] = clock.FromCycles(cost * n)
		probed := kinds.Sample{Time: base.Time + phases[3], Instructions: 50 * n, Phases: phases}
		first := kinds.Sample{Time: clock.FromCycles(5 * cost), Instructions: 60, Counts: kinds.Counts{Calls: 1, Hits: 1}}
		return &kinds.Measurement{Counts: kinds.Counts{Calls: n, Hits: n}, Base: base, Probed: probed, First: first}, nil
	}
}

// failing fails on point k and measures the others.
func failing(err error) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		if p.Label == "k" {
			if err == nil {
				panic("broken invariant")
			}
			return nil, err
		}
		return fake(1000)(p)
	}
}

// command runs the command with a measure of its own.
func command(m running.Measure, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	a := newApp(&out, &errOut)
	if m != nil {
		a.measure, a.program = m, nil // what is made up must not be kept
	}
	return a.run(args), out.String(), errOut.String()
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := require.Must(os.ReadDir(dir))(t)
	all := map[string]string{}
	for _, e := range entries {
		b := require.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		all[e.Name()] = string(b)
	}
	return all
}

func sameFiles(t *testing.T, a, b map[string]string) {
	t.Helper()
	require.That(t, len(a) == len(b), "%d files against %d", len(a), len(b))
	for name := range a {
		require.That(t, a[name] == b[name], "%s differs", name)
	}
}

// TestErasInOneTable runs the kernels of three eras: what boosting, trampolines and optimization save must show, and
// what holds for all parts is said once.
func TestErasInOneTable(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(nil, "run", "eras", "--out", t.TempDir())
	require.Need(t, code == exitOK, "exit code %d\n%s", code, stderr)
	for _, machine := range []string{"pentium-m-1495", "opteron-246"} {
		n := strings.Count(stdout, machine+": 1 parameter fitted")
		require.That(t, n == 1, "what %s was fitted on is said %d times\n%s", machine, n, stdout)
	}
	us := map[string]float64{}
	era := ""
	for line := range strings.Lines(stdout) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasPrefix(f[1], "20") {
			era = f[2] + " " + f[1] + " "
			f = f[3:]
		}
		if len(f) == 3 && f[2] == "simulated" {
			us[era+f[0]], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	for _, order := range [][]string{
		{"i386 2006 b", "i386 2006 k"},
		{"i386 2006 rb", "i386 2006 r", "i386 2006 r-trap"},
		{"i386 2006 rb", "i386 2006 rb-trap", "i386 2006 r-trap"},
		{"i386 2010 o", "i386 2010 b", "i386 2010 k"},
		{"x86_64 2010 o", "x86_64 2010 b", "x86_64 2005 k", "x86_64 2006 k", "x86_64 2010 k"},
	} {
		for i, name := range order {
			require.That(t, !(us[name] <= 0) && (i <= 0 || !(us[name] <= us[order[i-1]])), "%s takes %v us, want it to rise along %v", name, us[name], order)
		}
	}
}
