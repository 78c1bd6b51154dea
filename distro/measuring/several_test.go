package measuring_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// severalCPUs names the test that is left out without a kernel.
const severalCPUs = "probes of a packaged kernel with two CPUs"

// severalLab is the newest kernel of KPROBESIM_LINUX for x86-64 with two CPUs, or skips the test.
func severalLab(t *testing.T) *measuring.Lab {
	t.Helper()
	for _, file := range hosttools.Kernels(t, "vmlinuz*", severalCPUs) {
		b := require.Must(os.ReadFile(file))(t)
		k := require.Must(linux.Read(file, b, kept.Kernels()))(t)
		if k.Image.Bits == 32 {
			continue
		}
		c := config(k)
		c.CPUs, c.Command = 2, distro.Command(2)
		l := require.Must(measuring.Boot(c))(t)
		return l
	}
	hosttools.Missing(t, severalCPUs, hosttools.Linux+" names no folder with a kernel of x86-64")
	return nil
}

// TestSeveral puts probes into functions that another CPU runs at that time: the kernel changes its text under it, by a
// breakpoint and interrupts to all CPUs. Each is hit by both, the same each time, and the kernel complains of nothing.
func TestSeveral(t *testing.T) {
	l := severalLab(t)
	const calls = 30
	for name, c := range map[string]struct {
		order       measuring.Order
		breakpoints uint64 // of a hit
		optimized   bool
	}{
		"stepped":   {order: measuring.Order{Workload: "open", Busy: "open", Events: []string{"p do_sys_openat2+5"}}, breakpoints: 2},
		"optimized": {order: measuring.Order{Workload: "open", Busy: "open", Events: []string{"p do_sys_openat2+5"}, Optimize: true}, optimized: true},
		"alone":     {order: measuring.Order{Workload: "open", Events: []string{"p do_sys_openat2+5"}}, breakpoints: 2},
		"ftrace":    {order: measuring.Order{Workload: "getppid", Busy: "getppid", Events: []string{"p __x64_sys_getppid"}}},
	} {
		c.order.Warm, c.order.Calls = calls/3, calls-calls/3
		r, err := l.Run(c.order, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "stepped" {
			again, err := l.Run(c.order, func(*sim.Machine) cpus.Observer { return &counter{} })
			require.That(t, err == nil && reflect.DeepEqual(r, again), "%s: another time, and observed, it is another one (%v): %d and %d ticks", name, err, r.Ticks, again.Ticks)
		}
		require.That(t, r.Hits >= calls && (c.order.Busy != "") == (r.Hits > calls+calls/3), "%s: %d hits in %d calls", name, r.Hits, calls)
		require.That(t, r.Breakpoints == uint64(c.order.Calls)*c.breakpoints && r.List[0].Optimized == c.optimized, "%s: %d breakpoints, %+v", name, r.Breakpoints, r.List)
		for _, bad := range []string{"Oops", "BUG", "WARNING", "stall", "unstable"} {
			require.That(t, !strings.Contains(r.Console, bad), "%s: the kernel complains (%s):\n%s", name, bad, r.Console)
		}
	}
	order := measuring.Order{Events: []string{"p do_sys_openat2+5"}}
	one, err := l.Arm(order)
	if again, err2 := l.Arm(order); err != nil || err2 != nil || *one != *again || one.Interrupts == 0 || one.Ticks <= 0 || one.Interrupted <= 0 {
		t.Errorf("arming takes %+v, and then %+v: %v, %v", one, again, err, err2)
	}
	if _, err := l.Arm(measuring.Order{}); err == nil {
		t.Error("nothing is armed")
	}
	require.Error(t, require.Err(l.Run(measuring.Order{Workload: "open", Busy: "nothing", Calls: 1}, nil)), `workload "nothing"`, "a loop that there is none of")
}
