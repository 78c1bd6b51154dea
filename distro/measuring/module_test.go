package measuring_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/distro/measuring"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// buildModule builds the module with empty handlers for a kernel, whose headers are unpacked below KPROBESIM_LINUX.
func buildModule(t *testing.T, kernel string) measuring.Module {
	t.Helper()
	dir, file := filepath.Split(kernel)
	headers := filepath.Join(dir, "usr/src", "linux-headers-"+strings.TrimPrefix(file, "vmlinuz-"))
	if _, err := os.Stat(headers); err != nil {
		hosttools.Missing(t, "probes by a module", "there are no headers of the kernel: "+err.Error())
	}
	hosttools.Depend(headers)
	for _, tool := range []string{"make", "gcc-12", "objcopy"} {
		hosttools.Need(t, tool, "make, gcc-12, binutils", "probes by a module")
	}
	out := filepath.Join(t.TempDir(), "kprobesim_empty.ko")
	if said, err := exec.Command("sh", "../module/build.sh", headers, out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	b := require.Must(os.ReadFile(out))(t)
	return measuring.Module{Name: "kprobesim_empty", File: b, Hits: "hits"}
}

// TestModule has the module set up each of its probes. A handler that writes no event is quicker than one that does,
// and a jump is quicker than a breakpoint.
func TestModule(t *testing.T) {
	for _, l := range labs(t) {
		t.Run(filepath.Base(l.Kernel().Image.Name), func(t *testing.T) {
			m := buildModule(t, l.Kernel().Image.Name)
			at, _ := l.Kernel().Image.Symbol("do_sys_openat2")
			workload, most := "open", uint64(30)
			measure := func(params string, optimize bool, breakpoints, debug uint64) *measuring.Region {
				m.Params = params
				r, err := l.Run(measuring.Order{Workload: workload, Modules: []measuring.Module{m}, Optimize: optimize, Warm: 10, Calls: 20}, nil)
				require.Need(t, err == nil, "%s: %v", params, err)
				require.That(t, r.Hits >= 30 && r.Hits <= most && r.Breakpoints == 20*breakpoints && r.Debug == 20*debug && len(r.Loaded) == 1 && r.Loaded[0].Name == m.Name, "%s: %d hits, %d breakpoints, %d debug exceptions, modules %v", params, r.Hits, r.Breakpoints, r.Debug, r.Loaded)
				return r
			}
			stepped := measure("symbol=do_sys_openat2 offset=5", false, 2, 0)
			optimized := measure("symbol=do_sys_openat2 offset=5", true, 0, 0)
			measure("symbol=do_sys_openat2 offset=5 kind=post", true, 2, 0)
			measure("symbol=do_sys_openat2", false, 0, 0)
			measure("symbol=do_sys_openat2 kind=kretprobe", false, 0, 0)
			measure("symbol=do_sys_openat2 kind=entry", false, 0, 0)
			measure(fmt.Sprintf("symbol=%#x kind=watchpoint", at.Addr), false, 0, 1)
			event, err := l.Run(measuring.Order{Workload: "open", Events: []string{"p do_sys_openat2+5"}, Warm: 10, Calls: 20}, nil)
			require.That(t, err == nil && event.Ticks-event.Interrupted > stepped.Ticks-stepped.Interrupted && optimized.Ticks < stepped.Ticks, "%v: with an event %d ticks, stepped %d, optimized %d", err, event.Ticks, stepped.Ticks, optimized.Ticks)
			// Functions that ftrace does not know, whose first instruction is a call or jump. The kernel also calls the
			// second one elsewhere.
			workload, most = "read", 50
			function := map[int]string{64: "xas_load", 32: "__SCT__might_resched"}[l.Kernel().Image.Bits]
			emulated := measure("symbol="+function+" kind=kretprobe", false, 1, 0)
			require.That(t, len(emulated.List) == 1 && emulated.List[0].Kind == "r" && !emulated.List[0].Ftrace && !emulated.List[0].Optimized, "a return probe at %s: %+v", function, emulated.List)
			place := require.Must(l.Place("user_function"))(t)
			workload, most = "function", 30
			measure(fmt.Sprintf("symbol=/init offset=%d kind=uprobe", place.File), false, 1, 0)
			measure(fmt.Sprintf("symbol=/init offset=%d kind=uretprobe", place.File), false, 2, 0)
			user := measure(fmt.Sprintf("symbol=/init offset=%d kind=uprobe", place.File+1), false, 1, 1)
			if want := []uint64{place.Addr + 1}; !slices.Equal(user.Planted, want) || len(stepped.Planted) > 0 {
				t.Errorf("breakpoints in the program at %#x, want %#x; with a probe of the kernel at %#x", user.Planted, want, stepped.Planted)
			}
			m.Params = "symbol=do_sys_openat2 kind=nothing"
			if _, err := l.Run(measuring.Order{Workload: "open", Modules: []measuring.Module{m}, Calls: 1}, nil); err == nil ||
				!strings.Contains(err.Error(), "error 22 (EINVAL)") || !strings.Contains(err.Error(), "no kind nothing") {
				t.Errorf("a kind that the module has not: %v", err)
			}
		})
	}
}
