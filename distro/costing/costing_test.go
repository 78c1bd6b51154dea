package costing_test

import (
	"testing"

	"kprobesim/distro/costing"
	"kprobesim/internal/require"
)

// TestSentence says what a hit costs in a sentence, which leaves out shares that are small.
func TestSentence(t *testing.T) {
	c := costing.Cost{
		Mode: "optimized", Cycles: 200, Micros: 0.1, Instructions: 50, Exceptions: 1, Place: "vfs_read+0x5",
		Phases: []costing.Share{{"detour", 150}, {"none", 0.9}, {"other", -1}},
	}
	const begins = "optimized: a hit takes 200 cycles (0.100 us), 50 instructions and 1 exceptions"
	require.Equal(t, c.String(), begins+", measured at vfs_read+0x5; cycles by phase: detour 150, other -1", "without functions")
	c.Machine, c.Handler, c.Functions = "epyc-7713", "an empty handler", []costing.Share{{"callback", 4}, {"small", 3.9}}
	require.Equal(t, c.String(), begins+" on epyc-7713, measured at vfs_read+0x5 with an empty handler; cycles by phase: detour 150, other -1; cycles by function: callback 4", "with all")
}
