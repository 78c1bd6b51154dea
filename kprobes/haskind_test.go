package kprobes

import (
	"testing"

	"kprobesim/internal/require"
)

// TestHasKind knows the only kind of probe that a kernel lost.
func TestHasKind(t *testing.T) {
	for year, jprobes := range map[int]bool{1999: true, 2005: true, 2010: true, 2017: true, 2020: false} {
		require.Equal(t, HasKind(Jprobe, year), jprobes, "jprobes in %d", year)
		require.Equal(t, HasKind(Kretprobe, year), true, "kretprobes in %d", year)
	}
}
