package kinds_test

import (
	"bytes"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// fromUser measures or traces a point whose loop is in user mode.
func fromUser(t *testing.T, name, point string, sets ...string) *schema.Point {
	t.Helper()
	return exptest.PointOf(t, name, point, append(sets, "workload.loop=user_loop", "workload.hits=50", "workload.warmup=50")...)
}

// TestHitsFromUserMode: a hit in a system call takes what it takes in a loop of the kernel, but for one branch
// that may be mispredicted where the other loop's history differs. The returns behind
// a return probe, which the return stack has lost, are mispredicted one by one up to the call that came first.
func TestHitsFromUserMode(t *testing.T) {
	for _, name := range []string{exptest.E5410, "overhead-xeon-e5410-i386"} {
		plan := require.Must(planning.NewLoader().Plan(name, []string{"workload.hits=50", "workload.warmup=50"}))(t)
		for _, point := range []string{"k", "b", "o", "r"} {
			pt := require.Must(plan.Point(point))(t)
			kernel := require.Must(kinds.Measure(pt))(t)
			user := require.Must(kinds.Measure(fromUser(t, name, point)))(t)
			per := func(m *kinds.Measurement) int64 { return m.Probed.Sub(m.Base).Time.Cycles() / m.Hits }
			from, to := per(kernel)*97/100-2, per(kernel)*103/100+2+15 // what is around a hit overlaps with it
			if point == "r" {
				to += 60
			}
			if got := per(user); got < from || got > to || len(user.Notes) > 0 || user.Accounts[0][kinds.ForUser] <= 0 {
				t.Errorf("%s, %s: %d cycles a hit from user mode, %d in the kernel; %v", name, point, got, per(kernel), user.Notes)
			}
		}
	}
}

// TestTraceOfASystemCall shows a hit from the instruction that calls the kernel to the one behind it.
func TestTraceOfASystemCall(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{exptest.E5410, []string{
			"# cpu 0 is in user mode", " user ", "syscall", "# cpu 0 is in kernel mode", "swapgs", "bench_target+0x0", "handler_empty",
			"sysret", "# cpu 0 is in user mode", "user_loop+0x",
		}},
		{"overhead-xeon-e5410-i386", []string{
			"# cpu 0 is in user mode", " user ", "int $0x80", "# cpu 0 is in kernel mode", "syscall_entry+0x0", "bench_target+0x0", "handler_empty",
			"iret", "# cpu 0 is in user mode", "user_loop+0x",
		}},
	} {
		var b bytes.Buffer
		require.NoError(t, kinds.Trace(fromUser(t, c.name, "o"), 3, &b))
		rest := b.String()
		for _, text := range c.want {
			_, after, ok := strings.Cut(rest, text)
			require.Need(t, ok, "%s: no %q in its place in\n%s", c.name, text, b.String())
			rest = after
		}
		n := strings.Count(b.String(), "handler_empty+0x0")
		require.That(t, n == 1 && !strings.Contains(rest, "sys_exit"), "%s: %d hits are shown", c.name, n)
	}
}

// TestLoopsInUserMode: kinds whose loops are threads of the kernel say so.
func TestLoopsInUserMode(t *testing.T) {
	_, err := kinds.Measure(exptest.SmallPoint(t, schema.KindScaling, "o", "workload.loop=user_loop"))
	require.Error(t, err, "workload.loop user_loop runs in user mode", "the call")
}
