package kinds_test

import (
	"bytes"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
)

// The trace of a jprobe's hit shows its three exceptions, and where each leads, on every instruction set
// and in every era; with a return probe there is a fourth where that traps.
func TestTraceOfAJprobe(t *testing.T) {
	entry := []string{"#BP", "jprobe_divert+0x0 ", "jprobe_empty+0x0 "}
	rest := []string{"jprobe_return+0x0 ", "#BP", "jprobe_resume+0x0 ", "#DB", "put_right+0x0 ", "bench_target+0x"}
	for _, c := range []struct {
		name        string
		sets        []string
		point       string
		breakpoints int
	}{
		{exptest.Sharing, nil, "j", 2},
		{exptest.Sharing, exptest.On32(), "j", 2},
		{"overhead-opteron-246", nil, "j", 2},
		{"overhead-pentium-m", nil, "j", 2},
		{exptest.Sharing, nil, "jr", 2},
		{exptest.Sharing, exptest.On32(), "jr", 2},
		{"overhead-opteron-246", nil, "jr", 3},
		{"overhead-pentium-m", nil, "jr", 3},
	} {
		t.Run(strings.Join(append(c.sets, c.name, c.point), " "), func(t *testing.T) {
			text := traceOf(t, c.name, c.sets, c.point)
			for name, want := range map[string]int{"#BP": c.breakpoints, "#DB": 1} {
				n := strings.Count(text, name)
				require.That(t, n == want, "%d %s, want %d", n, name, want)
			}
			inOrder(t, text, append(entry, rest...))
			if c.point == "jr" {
				inOrder(t, text, append(append(entry, rest...), "kretprobe_trampoline", "ret_empty"))
			}
		})
	}
}

// traceOf traces a warm hit of a point.
func traceOf(t *testing.T, name string, sets []string, point string) string {
	t.Helper()
	pt := exptest.PointOf(t, name, point, sets...)
	var out bytes.Buffer
	require.NoError(t, kinds.Trace(pt, 3, &out))
	return out.String()
}

// inOrder looks for stations in a trace, each behind the one before it.
func inOrder(t *testing.T, text string, stations []string) {
	t.Helper()
	for _, want := range stations {
		_, behind, found := strings.Cut(text, want)
		require.Need(t, found, "the trace has no %s behind the others\n%s", want, text)
		text = behind
	}
}
