package kinds

import (
	"slices"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestPlain takes the time of functions without their module off, passes those by that cannot be called, and names one
// that fails.
func TestPlain(t *testing.T) {
	pt := require.Must(planning.NewLoader().Trial("x86_64-2010", ""))(t)
	probes := []string{"kprobe"}
	out := &Tried{Rows: []TriedRow{
		{Function: "nothing", Probes: probes, Why: "it does not exist"}, {Function: "work_checksum", Probes: probes, Calls: 20},
	}}
	require.NoError(t, boot(pt, nil, func(s *session) error {
		require.NoError(t, s.count())
		_, err := s.counted(func() error {
			s.counter.probes = []uint64{1} // of which the guest has counted nothing
			return nil
		})
		require.That(t, err != nil, "missed returns of no probe are counted")
		s.counter = nil
		return s.plain(out)
	}))
	require.That(t, out.Rows[0].Over == 0 && out.Rows[1].Over < 0, "%+v", out.Rows)
	out.Rows[0].Why = ""
	require.Error(t, boot(pt, nil, func(s *session) error { return s.plain(out) }), "nothing without the module", "a function that does nothing")
}

// TestOwnProbesAreOptimized has nothing left for the optimizer where measuring begins: kernels of ppc64 have a probe for themselves, and
// one CPU without ticks starts with it as it comes up.
func TestOwnProbesAreOptimized(t *testing.T) {
	for sets, busy := range map[string]bool{"kernel.cpus=1": true, "kernel.cpus=2": false} {
		p := require.Must(planning.NewLoader().Plan("overhead-power5-2017", []string{sets}))(t)
		pt := p.Points[slices.IndexFunc(p.Points, func(pt schema.Point) bool { return pt.Probe.Mode == kprobes.Optimized })]
		require.NoError(t, boot(&pt, nil, func(s *session) error {
			require.Equal(t, s.probes.Busy(), busy, "%s and %s: the optimizer has work", sets, pt.Kernel.Tick)
			return nil
		}))
	}
}
