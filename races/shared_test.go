package races

import (
	"testing"

	"kprobesim/internal/require"
)

// TestSharedAddressOfOlderKernels keeps the first schedules of the scenario shared in which a hit panics, under kernels that do not wait for
// it when its breakpoint goes. Kernels of the scenario itself wait. docs/races.md has the numbers.
func TestSharedAddressOfOlderKernels(t *testing.T) {
	shared, users := require.Must(Load("shared"))(t), require.Must(Load("users"))(t)
	for name, n := range map[string]uint64{
		"2005": 136, "2006": 2347, "stepped": 2696, "boosted": 1275, "breakpoint": 323, "preempt-stop_machine": 760, "ppc64-2010": 72,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := require.Must(users.Variant(name))(t)
			opt := Default().of(shared, v)
			first := n - n%opt.perMachine()
			r := runBatch(&opt, require.Must(newLab(shared, v, ""))(t).run, first, n+1-first)
			require.NoError(t, r.err)
			last := r.outcomes[len(r.outcomes)-1]
			require.That(t, last.N == n && last.Violation != nil && last.Violation.Kind == Died, "schedule %d: %v, want %d to die", last.N, last.Violation, n)
		})
	}
}
