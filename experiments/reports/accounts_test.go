package reports_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestAccountsAddUp holds the accounts of the main experiment against its phases.
func TestAccountsAddUp(t *testing.T) {
	p := require.Must(planning.NewLoader().Plan(exptest.E5410, []string{"workload.hits=50"}))(t)
	outcomes := (&running.Runner{Measure: kinds.Measure}).Run(p)
	r := reports.Collect(p).Report(slices.Clone(outcomes))
	require.NoError(t, r.Err())
	for _, o := range outcomes {
		var total, probes clock.Ticks
		for _, v := range o.Measurement.Accounts[0] {
			total += v
		}
		for i, phase := range kinds.Phases() {
			if phase != image.PhaseWorkload && phase != image.PhaseKernel {
				probes += o.Measurement.Probed.Phases[i]
			}
		}
		if total != o.Measurement.Probed.Time || o.Measurement.Accounts[0][kinds.ForProbes] != probes || probes == 0 {
			t.Errorf("point %s: accounts of %d ticks, %d for probes; phases of %d and %d", o.Point.Name, total,
				o.Measurement.Accounts[0][kinds.ForProbes], o.Measurement.Probed.Time, probes)
		}
	}
	files := require.Must(r.Files())(t)
	lines := strings.Split(string(files[reports.AccountsName]), "\n")
	require.That(t, strings.HasPrefix(lines[0], "point,cpu,workload,user,probes,interrupts,stop_machine,kernel,idle,total") && strings.HasPrefix(lines[1], "k,0,") && len(lines) == 8, "%s is\n%q", reports.AccountsName, lines)
	for _, line := range lines[1:7] {
		cells, sum := strings.Split(line, ",")[2:], int64(0)
		total, err := strconv.ParseInt(cells[7], 10, 64)
		for _, c := range cells[:7] {
			n, wrong := strconv.ParseInt(c, 10, 64)
			sum, err = sum+n, errors.Join(err, wrong)
		}
		if err != nil || total < sum || total > sum+7 { // parts of cycles are cut off
			t.Errorf("%s: the total is not the sum: %v", line, err)
		}
	}
}
