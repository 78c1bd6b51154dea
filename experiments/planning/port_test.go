package planning_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestExperimentsOnAnotherISA plans every experiment of this program on other instruction sets, and holds the
// reasons of those that cannot.
func TestExperimentsOnAnotherISA(t *testing.T) {
	exptest.Alone(t)
	for isa, machine := range map[string]string{"ppc64": "power5-1656", "arm": "tc2-cortex-a15"} {
		t.Run(isa, func(t *testing.T) { experimentsOn(t, isa, machine) })
	}
}

func experimentsOn(t *testing.T, isa, machine string) {
	refused := map[string]string{
		"overhead-published": "--set isa=" + isa + ": isa: overhead-published compares published figures, which belong to their machines: " +
			"move an experiment that it collects, such as overhead-pentium-m",
	}
	for _, name := range []string{"linux-probes", "linux-probes-i386", "linux-probes-arm", "linux-attach", "linux-attach-arm", "linux-attach-arm-jit"} {
		refused[name] = "kind linux boots a packaged kernel"
	}
	for _, name := range []string{"linux-workload", "linux-workload-server", "linux-workload-sqlite", "linux-workload-object", "linux-workload-tool"} {
		refused[name] = "kind linux-workload boots a packaged kernel"
	}
	if isa != "arm" { // the published loop around instructions of ARM
		for name, what := range map[string]string{
			"overhead-tc2-a7": "bench_nop", "overhead-tc2-a15": "bench_nop",
			"sites-tc2-a7": "bench_nop, bench_row, bench_wide, bench_near_pair, bench_far_pair", "sites-tc2-a15": "bench_nop, bench_row",
		} {
			refused[name] = "--set isa=ppc64: isa: no kernel of ppc64 has what is probed (" + what
		}
	}
	for _, name := range experiments.Names() {
		plan, err := planning.NewLoader().Plan(name, []string{"isa=" + isa, "machine=" + machine})
		if want, ok := refused[name]; ok {
			require.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n"), "%s: error %v, want one line with %q", name, err, want)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, pt := range plan.Points {
			image := isa + "-" + pt.Kernel.Era
			if pt.Kernel.Preempt == schema.PreemptFull {
				image += "-preempt"
			}
			if pt.Kind == schema.KindUserProbes {
				image += "-userprobes"
			}
			never := kprobes.Boosted
			if isa == "arm" && pt.Kind != schema.KindWatchpoints && pt.Probe.Mode == kprobes.Stepped {
				never = kprobes.Stepped // no hit takes a step there
			}
			if pt.Target.Name != isa || pt.Image.Name != image || pt.Probe.Mode == never || isa == "arm" && pt.Kernel.CPUs > 8 {
				t.Errorf("%s, %s: ISA %s, image %s, era %s, mode %s", name, pt.Label, pt.Target.Name, pt.Image.Name,
					pt.Kernel.Era, pt.Probe.Mode)
			}
		}
	}
}

// TestPlacesOfAnotherISA: offsets in bytes of x86 instructions and a protocol of breakpoints mean nothing on ppc64. They are left
// out, and the report says so; on the experiment's own instruction set they stay.
func TestPlacesOfAnotherISA(t *testing.T) {
	batches := filepath.Join(t.TempDir(), "batches.toml")
	require.NoError(t, os.WriteFile(batches, []byte("base = \"attach-time\"\nname = \"batches\"\n[kernel]\npatching = \"breakpoint-batch\"\n"), 0o600))
	for _, c := range []struct {
		experiment string
		sets, left []string
		offset     uint64
	}{
		{"event-rate", []string{"isa=ppc64", "machine=power5-1656"}, []string{"offset 5 of o in code of x86_64", "offset 5 of b in code of x86_64", "offset 5 of k in code of x86_64"}, 0},
		{batches, []string{"isa=ppc64", "machine=power5-1656"}, []string{"kernel.patching breakpoint-batch"}, 0},
		{"event-rate", []string{"isa=x86_64"}, nil, 5},
	} {
		plan := require.Must(planning.NewLoader().Plan(c.experiment, c.sets))(t)
		i := slices.IndexFunc(plan.Points, func(pt schema.Point) bool { return pt.Probe.Name == "o" })
		if pt := plan.Points[i]; !slices.Equal(plan.Moved.Left, c.left) || pt.Workload.Offset != c.offset || pt.Kernel.Patching != "" {
			t.Errorf("%s %v: left out are %q; offset %d, patching %q", c.experiment, c.sets, plan.Moved.Left, pt.Workload.Offset, pt.Kernel.Patching)
		}
	}
}

// TestModesOfAnotherISA: where no hit can step, every point without a jump is emulated, and the report says so once.
func TestModesOfAnotherISA(t *testing.T) {
	exptest.Alone(t)
	plan := require.Must(planning.NewLoader().Plan("irq-off", []string{"isa=arm", "machine=tc2-cortex-a15"}))(t)
	for _, pt := range plan.Points {
		want := strings.HasSuffix(pt.Label, "o")
		require.That(t, (pt.Probe.Mode == kprobes.Optimized) == want && (want || pt.Probe.Mode == kprobes.Emulated), "%s: mode %s", pt.Label, pt.Probe.Mode)
	}
	m := plan.Moved
	require.That(t, m.Was == "step or boosted" && m.Is == "emulated" && len(m.Points) == 5, "moved %+v", m)
}

// TestImageOfAnotherISA holds the choice of the kernel: what the points need comes before the year.
func TestImageOfAnotherISA(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ name, sets, image string }{
		{"overhead-pentium-m", "isa=ppc64 machine=power5-1656", "ppc64-2005"},
		{"eras-i386-2006-stepping", "isa=ppc64 machine=power5-1656", "ppc64-2005"},
		{"eras-i386-2006", "isa=ppc64 machine=power5-1656", "ppc64-2011"},
		{"hit-latency", "isa=ppc64 machine=power5-1656", "ppc64-2017"},
		{"overhead-power5-2017", "isa=i386 machine=xeon-e5410-i386", "i386-2010"},
		{"hit-latency", "isa=i386 machine=xeon-e5410-i386", "i386-2010"},
		{"hit-latency", "isa=arm machine=tc2-cortex-a15", "arm-2014"},
		{"eras-i386-2006", "isa=arm machine=tc2-cortex-a15", "arm-2010"},
		{"overhead-power5", "isa=arm machine=tc2-cortex-a15", "arm-2010"},
		{"overhead-power5", "isa=ppc64 kernel.image=ppc64-2011 kernel.era='\"2011\"'", "ppc64-2011"},
		{"hit-latency", "isa=ppc64 machine=power5-1656 kernel.image=ppc64-2011", "ppc64-2011"},
		{"hit-latency", "isa=ppc64 machine=power5-1656 kernel.era=2011", "ppc64-2011"},
		{"hit-latency", "kernel.era=2005 isa=ppc64 machine=power5-1656", "ppc64-2017"},
		{"missed", "isa=ppc64 machine=power5-1656 kernel.era=2017 kernel.preempt=full", "ppc64-2017-preempt"},
		{"overhead-power5", "kernel.era=2017", "ppc64-2017"},
		{"overhead-power5", "kernel.image=ppc64-2010", "ppc64-2010"},
		{"user-probes", "isa=ppc64 machine=power5-1656 kernel.era=2005", "ppc64-2005-userprobes"},
	} {
		sets := strings.Fields(strings.ReplaceAll(c.sets, "'", ""))
		plan, err := planning.NewLoader().Plan(c.name, sets)
		if err != nil {
			t.Errorf("%s, %s: %v", c.name, c.sets, err)
			continue
		}
		require.Equal(t, plan.Points[0].Image.Name, c.image, "%s, %s: image", c.name, c.sets)
	}
	err := require.Err(planning.NewLoader().Plan("hit-latency", []string{"isa=ppc"}))
	require.Error(t, err, `--set isa=ppc: isa: unknown ISA "ppc": known are`, "an unknown ISA")
}

// TestYearOfAKernel refuses years of which there is no kernel, and images and protocols that do not fit.
func TestYearOfAKernel(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ name, set, want string }{
		{"overhead-power5", "kernel.era=2007", `--set kernel.era=2007: kernel.era: no kernel of ppc64 is of 2007: known are 2005, 2010, 2011, 2017`},
		{"overhead-power5-2017", "kernel.patching=breakpoint", `--set kernel.patching=breakpoint: kernel.patching: no kernel of ppc64 has the protocol "breakpoint": known are store, stop_machine`},
		{"user-probes-power5", "kernel.era=2010", `no kernel of ppc64 with -userprobes is of 2010: known are 2005`},
		{"overhead-power5", "kernel.image=arm-2010", `image "arm-2010" is isa arm, era 2010; the experiment says ppc64: move all of it by the setting isa=arm`},
		{"overhead-power5", "workload.target=work_far", `no function "work_far", which is one of i386 and x86_64: choose another (` + "`kprobesim list targets --image ppc64-2005`)"},
	} {
		_, err := planning.NewLoader().Plan(c.name, []string{c.set})
		require.That(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "\n"), "%s, %s: error %v, want one line with %q", c.name, c.set, err, c.want)
	}
}

// TestImageAndYear wants an image and a year that are both named to fit, in either order.
func TestImageAndYear(t *testing.T) {
	sets := []string{"kernel.image=x86_64-2010", `kernel.era="2006"`}
	for range 2 {
		require.Error(t, require.Err(planning.NewLoader().Plan("crowding", sets)), `image "x86_64-2010" is isa x86_64, era 2010; the experiment says`, "%q", sets)
		slices.Reverse(sets)
	}
}

// TestClocksOfTimers refuses rates that the timer of a processor does not have, and takes those that it has.
func TestClocksOfTimers(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ name, sets, want string }{
		{"irq-off-power5", "machine.clock.frequency=2000MHz", `power5-1656.toml:30:9: clock.timer: the timer of ppc64 counts once in 8 cycles of the core: write "250000000 Hz"`},
		{"irq-off-power5", "machine.clock.frequency=2000MHz machine.clock.timer=250MHz", ""},
		{"irq-off-tc2-a15", "machine.clock.timer=100MHz", "--set machine.clock.timer=100MHz: clock.timer: the timer of arm counts 24000000 Hz on every machine"},
		{"irq-off", "machine.clock.timer=100MHz", ""},
	} {
		_, err := planning.NewLoader().Plan(c.name, strings.Fields(c.sets))
		require.That(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && strings.Contains(err.Error(), c.want)), "%s, %s: error %v, want %q", c.name, c.sets, err, c.want)
	}
}

// TestSweptYears sweeps the year of a kernel, whose images follow.
func TestSweptYears(t *testing.T) {
	exptest.Alone(t)
	file := exptest.Write(t, t.TempDir(), "years.toml", `base = "overhead-power5"
name = "years"
title = "years"
[sweep]
"kernel.era" = ["2005", "2017"]
"workload.target" = ["work_trap_first", "work_frame"]
`)
	for _, c := range []struct{ sets, images, left string }{
		{"", "ppc64-2005 ppc64-2017", ""},
		{"isa=x86_64 machine=opteron-246", "x86_64-2005", "workload.target work_trap_first"}, // the setting says a year
	} {
		plan := require.Must(planning.NewLoader().Plan(file, strings.Fields(c.sets)))(t)
		var images []string
		for _, pt := range plan.Points {
			images = append(images, pt.Image.Name)
		}
		got, left := strings.Join(slices.Compact(images), " "), strings.Join(plan.Moved.Left, " ")
		require.That(t, got == c.images && left == c.left, "%s: images %s, left out %q; want %s, %q", c.sets, got, left, c.images, c.left)
	}
}

// TestSweepOfAnotherISA holds what is left of a sweep on a machine of fewer CPUs, whose kernel has one way of changing
// text, and what the plan says of it.
func TestSweepOfAnotherISA(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct {
		name, sets string
		points     int
		left       []string
		was        string
	}{
		{"bystander-cost", "", 3, []string{"kernel.cpus 16", "kernel.patching breakpoint, breakpoint-batch"}, ""},
		{"scaling", "", 32, []string{"kernel.cpus 16, 32, 64"}, "step or boosted"},
	} {
		plan, err := planning.NewLoader().Plan(c.name, append([]string{"isa=arm", "machine=tc2-cortex-a15", "replicates=1"}, strings.Fields(c.sets)...))
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.sets, err)
			continue
		}
		if len(plan.Points) != c.points || !slices.Equal(plan.Moved.Left, c.left) || plan.Moved.Was != c.was {
			t.Errorf("%s %s: %d points, left out %q, moved %q: want %d, %q, %q", c.name, c.sets, len(plan.Points), plan.Moved.Left,
				plan.Moved.Was, c.points, c.left, c.was)
		}
	}
}
