package kinds_test

import (
	"reflect"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestLinuxWorkload runs a program of busybox under each probe. Hits are exact: 20 blocks and
// the line that dd prints. A probe costs time, its phases add up to it, and a
// second measurement is the same.
func TestLinuxWorkload(t *testing.T) {
	hosttools.Kernels(t, "vmlinuz*-amd64", "a program under the probes of a packaged kernel")
	p, err := linuxLoader.Plan("linux-workload", []string{"workload.command=[\"/bin/busybox\", \"sh\", \"-c\", " +
		"\"kprobesim mark begin; dd if=/dev/zero of=/tmp/file bs=512 count=20 2>/dev/null; kprobesim mark end\"]"})
	require.NoError(t, err)
	if p.Lacking != nil {
		hosttools.Missing(t, "a program under the probes of a packaged kernel", p.Lacking.Error())
	}
	for _, o := range (&running.Runner{Measure: kinds.Measure, Workers: 2}).Run(p) {
		require.NoError(t, o.Err)
		values := map[string]float64{}
		var sum float64
		for _, r := range require.Must(reports.Records(o.Point, o.Measurement))(t) {
			values[r.Metric] = r.Value.Float()
		}
		if o.Point.Name == "none" {
			if values[kinds.MetricRegion] < 100_000 || len(o.Measurement.Profile) == 0 {
				t.Errorf("the program alone: %v", values)
			}
			continue
		}
		for _, phase := range kinds.LinuxPhases() {
			sum += values[results.PhaseMetric(phase.String())]
		}
		cycles := values[results.MetricCycles]
		if values["events"] != 21 || values["events_lost"] != 0 || values["overhead_percent"] <= 0 || cycles < 100 || sum < cycles-5 || sum > cycles+5 {
			t.Errorf("%s: phases of %v; %v", o.Point.Name, sum, values)
		}
	}
	pt, err := p.Point("kprobe")
	require.NoError(t, err)
	one, err := kinds.Measure(pt)
	require.NoError(t, err)
	if two, err := kinds.Measure(pt); err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("a second measurement is another one: %v", err)
	}
}

// TestLinuxWorkloadRefuses names what a program or the kernel refuses.
func TestLinuxWorkloadRefuses(t *testing.T) {
	hosttools.Kernels(t, "vmlinuz*-amd64", "errors of a program under a packaged kernel")
	script := func(s string) string { return "workload.command=[\"/bin/busybox\", \"sh\", \"-c\", \"" + s + "\"]" }
	const whole = "workload.region=command"
	for _, c := range []struct {
		want string
		sets []string
	}{
		{"exit status 3; it has printed:\nno", []string{whole, script("echo no; exit 3")}},
		{"the command ended before it set mark 2", []string{script("kprobesim mark begin")}},
		{"kprobe at do_sys_openat2 was not hit", []string{"points.kprobe.target=do_sys_openat2", script("kprobesim mark begin; kprobesim mark end")}},
		{"refused to attach kprobe to nowhere", []string{"points.kprobe.target=nowhere", whole, script("echo x")}},
		{"budget", []string{"budget=20 ms", whole, script("while :; do :; done")}},
	} {
		p, err := planning.NewLoader().Plan("linux-workload", c.sets)
		require.NoError(t, err)
		if p.Lacking != nil {
			hosttools.Missing(t, "errors of a program under a packaged kernel", p.Lacking.Error())
		}
		pt, err := p.Point("kprobe")
		require.NoError(t, err)
		require.Error(t, require.Err(kinds.Measure(pt)), c.want, "%q", c.sets)
	}
}
