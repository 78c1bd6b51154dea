package experiments_test

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestMemoChangesNothing measures points of each kind and machine under the window model with and without
// its memory, and compares every record.
func TestMemoChangesNothing(t *testing.T) {
	exptest.Alone(t)
	built := host.Memo
	defer func() { host.Memo = built }()
	some := []string{"overhead-xeon-e5410-x86_64", "sharing-power5", "sharing-tc2-a15"}
	whole := hosttools.Whole(t, "memory of the model at every pinned point", "one of each instruction set, and random programs below cpus")
	for _, c := range pinned {
		if c.experiment == "bystander-cost" || !whole && !slices.Contains(some, c.experiment) {
			continue // 16 probes on four CPUs take long without memory
		}
		var all [3][]results.Record
		for i, blocks := range []int{0, built.Blocks, 600} {
			host.Memo.Blocks = blocks
			pt := exptest.PointOf(t, c.experiment, c.point, "machine.core.model=window")
			m, err := kinds.Measure(pt)
			require.NoError(t, err)
			if all[i], err = reports.Records(pt, m); err != nil {
				t.Fatal(err)
			}
			if len(all[i]) == 0 || !slices.Equal(all[i], all[0]) {
				t.Errorf("%s %s, remembering %d: %s\nwant %s", c.experiment, c.point, blocks, list(all[i]), list(all[0]))
			}
		}
	}
}

func list(records []results.Record) string {
	var s []string
	for _, r := range records {
		s = append(s, r.String())
	}
	return strings.Join(s, "; ")
}
