package machines

import (
	"testing"

	"kprobesim/internal/require"
)

// TestOrigin tells numbers apart by their sources.
func TestOrigin(t *testing.T) {
	m := &Machine{Sources: map[string]string{
		"IL": "InstLatx64, a file", "HOST": "measured here, 2026-01-02, a processor", "AF": "Instruction tables; from memory", "prior": "a stated prior",
	}}
	for source, want := range map[string]Origin{
		"IL: row 3": Sourced, "IL: row 3; its size is a prior": Prior, "HOST: add": Measured, "AF: lea": Prior, "prior: 3": Prior,
		"overridden by command line": Prior,
	} {
		require.Equal(t, m.Origin(Param{Source: source}), want, "%q", source)
	}
	m.Params = []Param{{Source: "fitted: k", Fitted: []string{"k"}}, {Source: "IL: row 3"}, {Source: "IL: row 4"}}
	require.Equal(t, m.Origins(), [origins]int{2, 0, 0, 1}, "origins")
}
