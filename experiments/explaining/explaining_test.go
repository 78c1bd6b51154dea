package explaining

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// TestKernelsAgree registers probes at random places of every image, and compares with the verdicts.
func TestKernelsAgree(t *testing.T) {
	places := hosttools.Part(t, "places of each kernel", 300, 100)
	if testing.Short() {
		places = 40
	}
	modes := map[string]bool{}
	rules := map[string]bool{}
	for _, im := range workloads.List() {
		k := require.Must(Open(im.Name, ""))(t)
		r := rand.New(rand.NewPCG(3, 3))
		var sites []uint64
		for range places {
			sites = append(sites, k.Random(r.Uint64))
		}
		slices.Sort(sites)
		sites = slices.Compact(sites)
		compare(t, k, im.Name, sites, func(v Verdict, _ Answer) {
			modes[v.Mode().String()], rules[string(v.Rule)], rules[string(v.Kept)] = true, true, true
		})
	}
	// Each of these is the reason at some place of some kernel, so that none of them is left out unnoticed.
	for _, m := range []string{"stepped", "boosted", "emulated", "optimized", "ftrace"} {
		require.That(t, modes[m], "no probe is %s", m)
	}
	for _, r := range []kprobes.Rule{
		kprobes.RuleAbsent, kprobes.RuleText, kprobes.RuleKprobesText, kprobes.RuleBlacklist, kprobes.RuleUnaligned,
		kprobes.RuleInCall, kprobes.RuleBoundary, kprobes.RuleNotCopied, kprobes.RulePreempt, kprobes.RuleJumpIntoRegion,
	} {
		require.That(t, rules[string(r)] || testing.Short(), "no place shows the rule %s", r)
	}
}

// TestRandom follows from its numbers: a function, one place in sixteen any byte, and else an instruction.
func TestRandom(t *testing.T) {
	k := require.Must(Open("i386-2010", ""))(t)
	fn := k.functions[2]
	starts, n := k.starts(fn), uint64(len(k.functions))
	for _, x := range []struct {
		numbers [3]uint64
		want    uint64
	}{
		{[3]uint64{2, 0, 3}, fn.Start + 3},
		{[3]uint64{2 + 3*n, 48, uint64(len(fn.Code)) + 1}, fn.Start + 1},
		{[3]uint64{2, 15, 2}, starts[2]},
		{[3]uint64{2 + n, 17, 1 + uint64(len(starts))}, starts[1]},
	} {
		i := -1
		require.Equal(t, k.Random(func() uint64 { i++; return x.numbers[i] }), x.want, "%d", x.numbers)
	}
}

// TestCosts measures each mode of some kernels. A hit takes as many exceptions as the mode says, and one that takes
// fewer is quicker.
func TestCosts(t *testing.T) {
	for _, x := range []struct {
		image  string
		places []string
		modes  string
	}{
		{"i386-2005", []string{"bench_target"}, "stepped"},
		{"x86_64-2010", []string{"work_jcc_first", "work_switch", "bench_target"}, "stepped boosted optimized"},
		{"x86_64-2020", []string{"bench_target", "work_jcc_first"}, "ftrace emulated"},
		{"ppc64-2010", []string{"work_jcc_first", "bench_target", "work_atomic"}, "emulated stepped stepped"},
		{"ppc64-2011", []string{"bench_target", "work_trap_first"}, "emulated stepped"},
		{"arm-2014", []string{"bench_target"}, "optimized"},
	} {
		k := require.Must(Open(x.image, ""))(t)
		var verdicts []Verdict
		for _, p := range x.places {
			at := require.Must(k.Resolve(p))(t)
			v := require.Must(k.At(at))(t)
			verdicts = append(verdicts, v)
		}
		if err := k.Costs(verdicts); err != nil {
			t.Errorf("%s: %v", x.image, err)
			continue
		}
		var modes []string
		for _, v := range verdicts {
			modes = append(modes, v.Mode().String())
			said := strings.Join(v.Sentences(), "; ")
			require.That(t, strings.Contains(said, "the first hit is "+v.First) == (v.First != v.Kind), "%s, first %s, then %s: %s", x.image, v.First, v.Kind, said)
			c := v.Cost
			if c == nil {
				t.Errorf("%s: nothing was measured at %s", x.image, v.Place)
				continue
			}
			if got := int(math.Round(c.Exceptions)); got != v.Mode().Exceptions() || c.Cycles <= 0 || len(c.Phases) == 0 {
				t.Errorf("%s: %s takes %+v, want %d exceptions", x.image, v.Mode(), c, v.Mode().Exceptions())
			}
			sum := 0.0
			for _, p := range c.Phases {
				sum += p.Cycles
			}
			us := c.Cycles / float64(k.point.Machine.CPU.Hz) * 1e6
			require.That(t, !(math.Abs(sum-c.Cycles) > 1e-6) && !(math.Abs(us-c.Micros) > 1e-9) && !(c.Instructions < c.Cycles/100) && !(c.Instructions > 3*c.Cycles), "%s: %+v: phases, time or instructions do not fit the cycles", x.image, c)
		}
		require.Equal(t, strings.Join(modes, " "), x.modes, "%s: modes", x.image)
	}
}
