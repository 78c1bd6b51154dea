package planning_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// moduleOf names a module that was compiled for a kernel.
func moduleOf(t *testing.T, kernel, name string) string {
	t.Helper()
	return require.Must(filepath.Abs(filepath.Join("..", "..", "modules", "testdata", kernel, name+".o")))(t)
}

// TestRefused plans experiments of this program with settings that do not go together, or that are more than an experiment may have. The
// golden file has what is said of each.
func TestRefused(t *testing.T) {
	exptest.Alone(t)
	folder := t.TempDir()
	t.Setenv(planning.KernelFolder, folder)
	list := func(n int, one string) string { return "[" + strings.Repeat(one+", ", n) + "]" }
	own, other, power := moduleOf(t, "x86_64-2010", "my_probe"), moduleOf(t, "i386-2010", "my_probe"), moduleOf(t, "ppc64-2017", "my_probe")
	const calls, linux, loop, workload = "overhead-xeon-e5410-x86_64", "linux-probes", "linux-attach", "linux-workload"
	module := func(file, more string) string { return fmt.Sprintf("{file = %q, %s}", file, more) }
	var got strings.Builder
	for _, c := range [][]string{
		{calls, "workload.line=paths.c:12", "workload.offset=4"},
		{calls, "workload.line=3"},
		{calls, "workload.line=:3"},
		{calls, "workload.line=paths.c:0"},
		{calls, "workload.line=paths.c:x"},
		{calls, "workload.args=" + list(3, "1")},
		{calls, "workload.args=[0x10000000000000000]"},
		{calls, "workload.target=user_function"},
		{calls, "workload.target=user_work"},
		{calls, "workload.offset=1"},
		{calls, "workload.offset=27"},
		{calls, "points.k.offset=1"},
		{calls, "points.k.with=" + list(16, `{kind = "kprobe", handler = "handler_empty"}`)},
		{calls, "points.k.with=" + list(15, `{kind = "kprobe", handler = "handler_empty"}`)},
		{calls, `points.k.with=[{kind = "jprobe", handler = "jprobe_empty"}]`, "workload.offset=4"},
		{calls, `points.k.with=[{kind = "kprobe", handler = "nothing", post_handler = "nothing"}]`},
		{"handlers-xeon-e5410-x86_64", "points.r-data.data_size=7 B"},
		{"handlers-xeon-e5410-x86_64", "points.r-data.data_size=8 B"},
		{calls, "points=3"},
		{calls, "points=[]"},
		{calls, "points.k.published.time=0.99 us", "repeats={spread = \"101 %\", source = \"book: 1\"}"},
		{calls, "repeats={spread = \"x\", source = \"book: 1\"}"},
		{calls, "repeats={spread = \"100 %\", source = \"book: 1\"}"},
		{calls, "sweep={}"},
		{calls, "sweep=3"},
		{calls, "sweep.kernel={}"},
		{calls, "sweep={workload.args=[[1, 2], [\"a b\", 2]]}"},
		{calls, "sweep={seed=[\"a b\"]}"},
		{calls, "sweep={seed=[{}]}"},
		{calls, "sweep={workload.hits=[3, 0x3]}"},
		{calls, "kernel.image=x86_64-2020", `kernel.era="2020"`, "points.k.mode=boosted"},
		{calls, "kernel.isa=ppc64"},
		{calls, `writes=[{file = "/sys/kernel/debug/kprobes/enabled", value = "0", after = 9}, {file = "/sys/kernel/debug/kprobes/enabled", value = "1", after = 8}]`},
		{calls, `writes=[{file = "/sys/kernel/debug/kprobes/enabled", value = "2"}]`},
		{calls, "modules=" + list(17, module("my_probe.o", strings.Repeat(" ", 30)))},
		{calls, "modules=[" + module(own, "") + ", " + module(own, "") + "]"},
		{calls, "modules=[" + module(other, "") + "]"},
		{calls, "modules=[" + module(power, "") + "]"}, // of 64 bits, too
		{calls, "modules=[" + module("nothing.o", "") + "]"},
		{calls, "modules=[" + module(own, "") + "]", "workload.target=my_probe:probe_pre"},
		{calls, "modules=[" + module(own, `load = "boot"`) + "]", "workload.target=my_probe:probe_pre", "workload.line=a.c:1"},
		{calls, "modules=[" + module(own, "") + "]", "points.k.handler=my_probe:probe_per"},
		{calls, "points.k.handler=my_probe:probe_pre"},
		{"overhead-published", "collect=" + list(65, `"overhead-0"`)},
		{"overhead-published", "kernel.era=2010"},
		{"overhead-published", "isa=arm"},
		{"overhead-published", "collect=[\"overhead-xeon-e5410-x86_64\"]", "differences=[{of = \"k\", less = \"nothing\", means = \"x\"}]"},
		{"crowding", "crowd.probes=100000", "crowd.same_bucket=100000"},
		{"crowding", "crowd.probes=0", "crowd.same_bucket=0"},
		{"bystander-cost", "sweep.kernel.cpus=[1]"},
		{"bystander-cost", "crowd={probes = 3}"},
		{"hit-latency", "workload.hits=10000000"},
		{"event-rate", "workload.footprint=65536"},
		{"irq-off", "workload.period=100"},
		{calls, "kernel.memory=67108864", "budget=1000"},
		{linux, "linux.memory=268435456"},
		{workload, "linux.memory=268435456"},
		{"missed", "workload.args=" + list(9, "1")},
		{"missed", "points.r.maxactive=100000"},
		{"scaling", "replicate=1", "replicates=2"},
		{"attach-time", "replicate=1"},
		{"optimize-latency", "replicate=1"},
		{"optimize-latency", "points.o.mode=step"},
		{"missed", "points.r.kind=kprobe"},
		{"watchpoints", "points.w.watch=write", "points.w.kind=kprobe"},
		{linux, "linux.memory=1 MiB"},
		{linux, "points.k.handler=full"},
		{linux, "points.u.mode=boosted"},
		{linux, "points.u.mode=optimized"},
		{linux, "points.ur.offset=4"},
		{linux, "points.rk.offset=0"},
		{linux, "points.w.mode=step"},
		{linux, "points.none.mode=step"},
		{linux, "workload.load=full"},
		{linux, `points=[{name = "m", kind = "module", mode = "emulated", file = "x.ko", handler = "empty", target = "f", offset = 3}]`},
		{linux, `points=[{name = "m", kind = "module"}]`},
		{linux, `points=[{name = "m", kind = "module", file = "x.ko"}]`},
		{linux, "linux.dtb=nothing.dtb"},
		{linux, "linux.kernel=./nothing"},
		{linux, "linux.kernel=nothing*"},
		{linux, "linux.module=./nothing.ko"},
		{loop, `points=[{name = "o", kind = "object", file = "writes", event = "page-faults", frequency = 3}]`},
		{loop, `points=[{name = "o", kind = "object", file = "writes", event = "cpu-clock", period = 3}]`},
		{loop, `points=[{name = "o", kind = "object", file = "writes", frequency = 251}]`},
		{loop, `points=[{name = "o", kind = "object"}]`},
		{loop, "points.fentry.mode=step"},
		{loop, "points.fentry.program=fast"},
		{workload, "workload.root=[]"},
		{workload, "workload.root=3"},
		{workload, "workload.command=[]"},
		{workload, "workload.command=[\"busybox\", \"sh\"]"},
		{workload, "workload.command=[\"busybox\"]"},
		{workload, "workload.region=all"},
		{workload, "workload.warmup=1001"},
		{workload, "points.kprobe.offset=1048577"},
		{workload, `points=[{name = "u", kind = "usdt", target = "/bin/busybox:step"}]`},
		{workload, `points=[{name = "u", kind = "uprobe", target = "main"}]`},
		{workload, `points=[{name = "t", kind = "tool", command = ["/bin/busybox"], settle = 60001}]`},
		{workload, `points=[{name = "t", kind = "tool", command = []}]`},
		{workload, `points=[{name = "f", kind = "fentry", target = "f", offset = 3}]`},
	} {
		p, err := planning.NewLoader().Plan(c[0], c[1:])
		said := "taken"
		switch {
		case err != nil:
			said = err.Error()
		case p.Lacking != nil:
			said = "lacking: " + p.Lacking.Error()
		}
		for i, set := range c {
			if len(set) > 600 {
				said, c[i] = strings.ReplaceAll(said, set, "(all)"), set[:30]+"..."
			}
		}
		fmt.Fprintf(&got, "## %s\n%s\n", strings.Join(c, " "), strings.Join(slices.Compact(strings.Split(said, "\n")), "\n"))
	}
	text := got.String()
	for path, name := range map[string]string{own: "OWN", other: "OTHER", power: "POWER", folder: "(folder)", strings.Join(experiments.Names(), ", "): "(experiments)"} {
		text = strings.ReplaceAll(text, path, name)
	}
	exptest.Golden(t, "refused.txt", text)
}
