package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestTimersAreLateByWhatIsMasked: a timer's interrupt is late by what keeps interrupts disabled and by nothing else, however
// many interrupts were measured, also where the kernel sets its timer anew each time.
func TestTimersAreLateByWhatIsMasked(t *testing.T) {
	exptest.Alone(t)
	const cycles = 0.06 // us: until the running instruction is over
	numbers := []string{"workload.interrupts=50"}
	if hosttools.Whole(t, "interrupts that are masked, 400 times", "50 times") {
		numbers = append(numbers, "workload.interrupts=400")
	}
	for name, point := range map[string]string{"irq-off": "k", "irq-off-power5": "k", "irq-off-tc2-a15": "e"} {
		for _, sets := range numbers {
			plan := require.Must(planning.NewLoader().Plan(name, []string{sets, "workload.hits=100"}))(t)
			for _, p := range plan.Points {
				if p.Name != point {
					continue
				}
				m := require.Must(kinds.Measure(&p))(t)
				us := map[string]float64{}
				for _, q := range m.Quantities {
					us[q.Metric] = float64(q.Num) / float64(q.Den)
				}
				if off, late := us[kinds.MetricOff], us[kinds.MetricLate]; late < off/2 || late > off+cycles {
					t.Errorf("%s, %s: interrupts are off for %.3f us, and late by %.3f us", name, sets, off, late)
				}
				late := us[kinds.MetricLate+kinds.Plain]
				require.That(t, !(late > cycles), "%s, %s: late by %.3f us without the probe", name, sets, late)
			}
		}
	}
}

// TestLongHandlers: a breakpoint of x86 keeps interrupts off while its handler runs, and one of ppc64 does not.
func TestLongHandlers(t *testing.T) {
	exptest.Alone(t)
	off := func(name, handler string) float64 {
		plan := require.Must(planning.NewLoader().Plan(name, []string{"workload.interrupts=10", "workload.hits=100", "points.k.handler=" + handler}))(t)
		m := require.Must(kinds.Measure(&plan.Points[0]))(t)
		for _, q := range m.Quantities {
			if q.Metric == kinds.MetricOff {
				return float64(q.Num) / float64(q.Den)
			}
		}
		return 0
	}
	if short, long := off("irq-off", "empty"), off("irq-off", "work"); long < 1.1*short {
		t.Errorf("x86: %.3f us with an empty handler, %.3f with a long one", short, long)
	}
	if short, long := off("irq-off-power5", "empty"), off("irq-off-power5", "work"); long != short || short == 0 {
		t.Errorf("ppc64: %.3f us with an empty handler, %.3f with a long one", short, long)
	}
}
