package kinds

import (
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
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
