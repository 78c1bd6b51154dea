package machines

import "testing"

// TestOrigin tells numbers apart by their sources.
func TestOrigin(t *testing.T) {
	m := &Machine{Sources: map[string]string{
		"IL": "InstLatx64, a file", "HOST": "measured here, 2026-01-02, a processor", "AF": "Instruction tables; from memory", "prior": "a stated prior",
	}}
	for source, want := range map[string]Origin{
		"IL: row 3": Sourced, "IL: row 3; its size is a prior": Prior, "HOST: add": Measured, "AF: lea": Prior, "prior: 3": Prior,
		"overridden by command line": Prior,
	} {
		if got := m.Origin(Param{Source: source}); got != want {
			t.Errorf("%q is %v, want %v", source, got, want)
		}
	}
	m.Params = []Param{{Source: "fitted: k", Fitted: []string{"k"}}, {Source: "IL: row 3"}, {Source: "IL: row 4"}}
	if got := m.Origins(); got != [origins]int{2, 0, 0, 1} {
		t.Errorf("origins %v", got)
	}
}
