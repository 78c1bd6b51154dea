package measuring_test

import (
	"os"
	"path/filepath"
	"testing"

	"kprobesim/boards/vexpress"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestProbesOnARM measures probes of a packaged kernel of ARM: emulated behind an undefined instruction, optimized, of
// returns, and of user mode, where the copy of the instruction is stepped by a second undefined one.
func TestProbesOnARM(t *testing.T) {
	file := hosttools.Kernels(t, "arm/vmlinuz*-armmp", "probes of the kernel of a distribution for ARM")[0]
	cfg := cpustest.Config(arm.ISA())
	cfg.Processor["midr"], cfg.Processor["cluster"] = 0x412fc0f1, 0
	l := require.Must(measuring.Boot(distro.Config{
		Kernel: require.Must(kernel.Read(file, require.Must(os.ReadFile(file))(t)))(t), CPU: cfg, Board: vexpress.Board{}, Command: distro.ARMCommand(1),
		Tree: require.Must(os.ReadFile(filepath.Join(filepath.Dir(file), "vexpress-v2p-ca15_a7.dtb")))(t),
	}))(t)
	const warm, calls = 20, 100
	entry := func(how string) []string { return []string{how + " sys_getppid"} }
	var plain, before int64
	for _, x := range []struct {
		name       string
		order      measuring.Order
		exceptions uint64 // of each call
		optimized  bool
		planted    int
	}{
		{name: "nothing", order: measuring.Order{Workload: "getppid"}},
		{name: "optimized", order: measuring.Order{Workload: "getppid", Events: entry("p"), Optimize: true}, optimized: true},
		{name: "emulated", order: measuring.Order{Workload: "getppid", Events: entry("p")}, exceptions: 1},
		{name: "return", order: measuring.Order{Workload: "getppid", Events: entry("r")}, exceptions: 1},
		{name: "user mode", order: measuring.Order{Workload: "function", UserEvents: []string{"p /init:user_function"}}, exceptions: 2, planted: 1},
	} {
		x.order.Warm, x.order.Calls = warm, calls
		r := require.Must(l.Run(x.order, nil))(t)
		require.Equal(t, r.Breakpoints, x.exceptions*calls, "%s: exceptions", x.name)
		require.Equal(t, r.Debug, uint64(0), "%s: aborts", x.name)
		require.Equal(t, len(r.Planted), x.planted, "%s: instructions of the program that are replaced", x.name)
		if len(x.order.Events) > 0 {
			require.That(t, len(r.List) == 1 && r.List[0].Optimized == x.optimized && r.List[0].Place == "sys_getppid+0x0", "%s: listed %+v", x.name, r.List)
			require.Equal(t, r.Hits, uint64(warm+calls), "%s: hits", x.name)
		}
		took := (r.Ticks - r.Interrupted).Cycles()
		t.Logf("%s: %d cycles and %d instructions a call", x.name, took/calls, r.Instructions/calls)
		if plain == 0 {
			plain = took
		}
		require.That(t, took >= before, "%s: %d cycles, the way before took %d", x.name, took, before)
		before = took
	}
	require.That(t, before > 2*plain, "a probe of user mode takes %d cycles, no probe %d", before, plain)
}
